package stories

import (
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// The end of a session was noticed late. It was dated when it was noticed, and what was to be charged for was lost.
func TestAnEndReportedLateLosesItsTotals(t *testing.T) {
	s := build(t, 1)
	_, pos := s.serveLinked()
	session := pos.sell(0, 1)
	s.opens(0, session)
	paused := pos.does(session, "/pause")
	pos.rests(session, 100*time.Millisecond)
	resumed := pos.does(session, "/resume")
	s.opens(0, session)
	s.receiver.gets(session, "sessionCreated", "sessionStarted", "sessionPaused", "sessionResumed")
	pos.events() // every attempt is over
	pos.advance(session, 2*time.Second)
	var left time.Duration
	read := at(func() { left = pos.left(session) })
	s.outOfReach(0)
	pos.gateway.Kill()
	require.NoError(t, s.controller(0).HitCarrier(), "a carrier is shot while nobody listens")
	require.Eventually(t, func() bool { return !s.controller(0).Shown().Open }, patience, often)
	late := read.before.Add(left + 300*time.Millisecond)
	require.Eventually(t, func() bool { return time.Now().After(late) }, patience, often)

	_, pos = s.serve()
	ended := pos.ended(session)
	require.Equal(t, "expired", ended.Reason)
	require.Equal(t, time.Minute, ended.Used.Duration)
	between(t, ended.Paused.Duration, paused, resumed, "its pause")
	require.WithinRange(t, ended.Ended, read.after.Add(left-rounded), read.before.Add(left+rounded),
		"it ended when its time was over")
	s.withinReach(0)
	s.heard(0)
	s.receiver.gets(session, "sessionCreated", "sessionStarted", "sessionPaused", "sessionResumed", "sessionStopped", "carrierHit")
}

// Of a session only the stop arrived: at the receiver, which had been away before, or at the gateway, which heard of the
// customer's entry when the session was over. The session had no beginning then, and its totals were nonsense.
func TestOnlyTheStopArrives(t *testing.T) {
	t.Run("at the receiver", func(t *testing.T) {
		s := build(t, 1)
		s.receiver.answers(func(a arrival, w http.ResponseWriter, r *http.Request) {
			if a.Event == "sessionStopped" {
				accept(a, w, r)
			} else {
				panic(http.ErrAbortHandler) // it hangs up
			}
		})
		_, pos := s.serveLinked()
		var session string
		sold := at(func() { session = pos.sell(0, 30) })
		stopped := pos.does(session, "/stop")
		log := pos.events()
		require.Equal(t, []string{"sessionCreated", "sessionStarted", "sessionStopped"}, pos.happened(session), "what it missed is in the log")
		require.Equal(t, []string{"interrupted", "interrupted", "200"}, []string{log[0].says(), log[1].says(), log[2].says()})
		ended := pos.ended(session)
		between(t, ended.Used.Duration, sold, stopped, "its time")
		require.Zero(t, ended.Paused.Duration)
		require.Equal(t, 30*time.Minute, ended.Used.Duration+ended.Left.Duration)
		require.Equal(t, ended.Created, *ended.Began)
	})
	t.Run("at the gateway", func(t *testing.T) {
		s := build(t, 1)
		_, pos := s.serveLinked()
		session := pos.book(0, 30)
		require.Eventually(t, func() bool { return s.controller(0).Shown().Phase == "waiting" }, patience, often)
		s.outOfReach(0)
		require.NoError(t, s.controller(0).Enter())
		pos.does(session, "/stop")
		s.withinReach(0)
		s.heard(0)
		s.locks(0)
		s.receiver.gets(session, "sessionCreated", "sessionStopped")
		ended := pos.ended(session)
		require.Nil(t, ended.Began)
		require.Zero(t, ended.Used.Duration)
		require.Equal(t, "free", pos.stand()[0].Phase)
	})
}

// A device sent again what it had reported long ago, and the gateway believed it: a session that was over ran again, the
// next one began before its customer was there, a fault came back that was mended.
func TestOldDeviceReportsRegressTheState(t *testing.T) {
	lane := newDevice(t, 0)
	s := buildOf(t, lane.address)
	_, pos := s.serveLinked()
	first := pos.book(0, 30)
	lane.report(1, "entered", first, `"age_ms":0`)
	lane.report(2, "fault", "", `"age_ms":0,"detail":"stuck"`)
	lane.report(3, "fault_cleared", "", `"age_ms":0`)
	lane.report(4, "help", first, `"age_ms":0`)
	lane.until("all is heard", func() bool { return lane.acked == 4 })
	pos.does(first, "/stop")
	next := pos.book(0, 20)

	again := func() {
		lane.report(1, "entered", first, `"age_ms":60000`)
		lane.report(2, "fault", "", `"age_ms":60000,"detail":"stuck"`)
		lane.until("it is acked", func() bool { return lane.acked == 2 })
		lane.report(4, "help", first, `"age_ms":60000`)
		lane.until("it is acked", func() bool { return lane.acked == 4 })
	}
	for _, force := range []string{inForce(first, "1700000"), inForce(next, "1200000"), nothing} {
		lane.comesBack(force)
		again()
		stands := pos.stand()[0]
		require.Equal(t, "waiting", stands.Phase)
		require.Equal(t, next, *stands.Session)
		require.Nil(t, stands.Why, "the fault is over")
		wanted := lane.wanted().Session
		require.Equal(t, next, wanted.ID)
		require.Equal(t, "waiting", wanted.Phase)
		require.Nil(t, pos.shows(next).Began)
	}
	require.Equal(t, []string{"sessionCreated", "sessionStarted", "help", "sessionStopped"}, pos.happened(first))
	require.Equal(t, []string{"sessionCreated"}, pos.happened(next))
	lane.report(5, "entered", first, `"age_ms":60000`) // one that it had kept to itself
	lane.until("it is heard", func() bool { return lane.acked == 5 })
	require.Nil(t, pos.shows(next).Began)
	lane.report(6, "entered", next, `"age_ms":0`)
	lane.until("it begins", func() bool { return lane.acked == 6 })
	require.Equal(t, "running", pos.stand()[0].Phase)
}

// A device said nonsense about when something had happened, or how long it would last. The session was millions of
// minutes long, or had begun before the range was built.
func TestGarbageStartTimeGivesMillionsOfMinutes(t *testing.T) {
	const most, longest = "9223372036854", `"age_ms":9223372036854` // 292 years
	var devices []*device
	var addresses []string
	for n := range 6 {
		devices = append(devices, newDevice(t, n))
		addresses = append(addresses, devices[n].address)
	}
	s := buildOf(t, addresses...)
	_, pos := s.serveLinked()
	var sessions []string
	var sold []moment
	for n := range 6 {
		sold = append(sold, at(func() { sessions = append(sessions, pos.book(n, 30)) }))
	}
	sane := func(n int) {
		t.Helper()
		now := pos.shows(sessions[n])
		require.Equal(t, 30, now.Minutes)
		var left time.Duration
		read := at(func() { left = pos.left(sessions[n]) })
		require.LessOrEqual(t, left, 30*time.Minute)
		require.GreaterOrEqual(t, left, 30*time.Minute-read.before.Sub(sold[n].after)-rounded)
		require.False(t, now.Began.Before(now.Created))
	}

	devices[0].report(1, "entered", sessions[0], longest)
	devices[0].until("it is heard", func() bool { return devices[0].acked == 1 })
	sane(0)
	devices[0].report(2, "help", sessions[0], longest)
	devices[0].report(3, "carrier_hit", sessions[0], longest)
	devices[0].until("it is heard", func() bool { return devices[0].acked == 3 })
	for _, event := range pos.events() {
		require.False(t, event.At.Before(sold[0].after.Truncate(time.Millisecond)), "%+v", event)
	}

	for n, age := range map[int]string{1: `"age_ms":-60000`, 2: `"age_ms":1e30`, 3: `"age_ms":"NaN"`} {
		devices[n].report(1, "entered", sessions[n], age)
		devices[n].until("it is not heard", func() bool { return devices[n].closed == websocket.StatusPolicyViolation })
		require.Zero(t, devices[n].acked)
		require.Nil(t, pos.shows(sessions[n]).Began)
		pos.does(sessions[n], "/stop")
		require.Zero(t, pos.ended(sessions[n]).Used.Duration)
	}

	devices[4].report(1, "entered", sessions[4], `"age_ms":0`)
	devices[4].until("it is heard", func() bool { return devices[4].acked == 1 })
	devices[4].comesBack(inForce(sessions[4], most))
	sane(4)
	require.LessOrEqual(t, devices[4].wanted().Session.Remaining, int64(30*60_000))
	require.Positive(t, devices[4].wanted().Session.Remaining)

	pos.operate("PUT", "/ranges/"+rangeID+"/holds", `{"scope":"lane","id":"`+laneID(5)+`","on":true}`, 200)
	pos.operate("PUT", "/ranges/"+rangeID+"/holds", `{"scope":"lane","id":"`+laneID(5)+`","on":false}`, 200)
	devices[5].report(1, "entered", sessions[5], longest)
	devices[5].until("it is heard", func() bool { return devices[5].acked == 1 })
	sane(5)
	for _, n := range []int{0, 4, 5} {
		stopped := pos.does(sessions[n], "/stop")
		ended := pos.ended(sessions[n])
		require.LessOrEqual(t, ended.Used.Duration, stopped.before.Sub(sold[n].after)+rounded)
		require.Equal(t, 30*time.Minute, ended.Used.Duration+ended.Left.Duration)
	}
}
