package stories

import (
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// The end of a session was noticed late. It was dated when it was noticed, and what was to be charged for was lost.
func TestAnEndReportedLateLosesItsTotals(t *testing.T) {
	f := newFixture(t, 1)
	_, pos := f.serveLinked()
	session := pos.Sell(0, 1)
	f.WaitOpen(0, session)
	paused := pos.command(session, "/pause")
	pos.waitPaused(session, 100*time.Millisecond)
	resumed := pos.command(session, "/resume")
	f.WaitOpen(0, session)
	f.receiver.WaitEvents(session, "sessionCreated", "sessionStarted", "sessionPaused", "sessionResumed")
	pos.AttemptedEvents()                // every attempt is over
	pos.advance(session, 10*time.Second) // in which the gateway is killed and the carrier shot, on any machine
	var left time.Duration
	read := measure(func() { left = pos.left(session) })
	f.Silence(0)
	pos.gateway.Kill()
	require.NoError(t, f.Controller(0).HitCarrier(), "a carrier is shot while nobody listens")
	support.Eventually(t, "the lane locks", func() bool { return !f.Controller(0).Shown().Open })
	late := read.before.Add(left + 300*time.Millisecond)
	support.Eventually(t, "the end is late", func() bool { return time.Now().After(late) })

	_, pos = f.serve()
	ended := pos.Ended(session)
	require.Equal(t, "expired", ended.Reason)
	require.Equal(t, time.Minute, ended.Used.Duration)
	requireBetween(t, ended.Paused.Duration, paused, resumed, "its pause")
	require.WithinRange(t, ended.Ended, read.after.Add(left-rounding), read.before.Add(left+rounding),
		"it ended when its time was over")
	f.Restore(0)
	f.WaitAcked(0)
	f.receiver.WaitEvents(session, "sessionCreated", "sessionStarted", "sessionPaused", "sessionResumed",
		"sessionStopped", "carrierHit")
}

// Of a session only the stop arrived: at the receiver, which had been away before, or at the gateway, which
// heard of the customer's entry when the session was over. The session had no beginning then, and its totals
// were nonsense.
func TestOnlyTheStopArrives(t *testing.T) {
	t.Run("at the receiver", func(t *testing.T) {
		f := newFixture(t, 1)
		f.receiver.Respond(func(a support.Arrival, w http.ResponseWriter, r *http.Request) {
			if a.Event == "sessionStopped" {
				support.Accept(a, w, r)
			} else {
				panic(http.ErrAbortHandler) // it hangs up
			}
		})
		_, pos := f.serveLinked()
		var session string
		sold := measure(func() { session = pos.Sell(0, 30) })
		stopped := pos.command(session, "/stop")
		log := pos.AttemptedEvents()
		require.Equal(t, []string{"sessionCreated", "sessionStarted", "sessionStopped"}, pos.EventsOf(session),
			"what it missed is in the log")
		require.Equal(t, []string{"interrupted", "interrupted", "200"},
			[]string{log[0].Outcome(), log[1].Outcome(), log[2].Outcome()})
		ended := pos.Ended(session)
		requireBetween(t, ended.Used.Duration, sold, stopped, "its time")
		require.Zero(t, ended.Paused.Duration)
		require.Equal(t, 30*time.Minute, ended.Used.Duration+ended.Left.Duration)
		require.Equal(t, ended.Created, *ended.Began)
	})
	t.Run("at the gateway", func(t *testing.T) {
		f := newFixture(t, 1)
		_, pos := f.serveLinked()
		session := pos.book(0, 30)
		support.Eventually(t, "the session waits on the lane", func() bool {
			return f.Controller(0).Shown().Phase == "waiting"
		})
		f.Silence(0)
		require.NoError(t, f.Controller(0).Enter())
		pos.command(session, "/stop")
		f.Restore(0)
		f.WaitAcked(0)
		f.WaitLocked(0)
		f.receiver.WaitEvents(session, "sessionCreated", "sessionStopped")
		ended := pos.Ended(session)
		require.Nil(t, ended.Began)
		require.Zero(t, ended.Used.Duration)
		require.Equal(t, "free", pos.LaneStatuses()[0].Phase)
	})
}

// A device sent again what it had reported long ago, and the gateway believed it: a session that was over ran
// again, the next one began before its customer was there, a fault came back that was mended.
func TestOldDeviceReportsRegressTheState(t *testing.T) {
	lane := newDevice(t, 0)
	f := newFixtureOf(t, []string{lane.link()})
	_, pos := f.serveLinked()
	first := pos.book(0, 30)
	lane.report(1, "entered", first, `"age_ms":0`)
	lane.report(2, "fault", "", `"age_ms":0,"detail":"stuck"`)
	lane.report(3, "fault_cleared", "", `"age_ms":0`)
	lane.report(4, "help", first, `"age_ms":0`)
	lane.waitFor("all is heard", func() bool { return lane.acked == 4 })
	pos.command(first, "/stop")
	next := pos.book(0, 20)

	again := func() {
		lane.report(1, "entered", first, `"age_ms":60000`)
		lane.report(2, "fault", "", `"age_ms":60000,"detail":"stuck"`)
		lane.waitFor("it is acked", func() bool { return lane.acked == 2 })
		lane.report(4, "help", first, `"age_ms":60000`)
		lane.waitFor("it is acked", func() bool { return lane.acked == 4 })
	}
	for _, force := range []string{running(first, "1700000"), running(next, "1200000"), idle} {
		lane.reconnect(force)
		again()
		status := pos.LaneStatuses()[0]
		require.Equal(t, "waiting", status.Phase)
		require.Equal(t, next, *status.Session)
		require.Nil(t, status.NotUsableBecause, "the fault is over")
		wanted := lane.wanted().Session
		require.Equal(t, next, wanted.ID)
		require.Equal(t, "waiting", wanted.Phase)
		require.Nil(t, pos.Session(next).Began)
	}
	require.Equal(t, []string{"sessionCreated", "sessionStarted", "help", "sessionStopped"}, pos.EventsOf(first))
	require.Equal(t, []string{"sessionCreated"}, pos.EventsOf(next))
	lane.report(5, "entered", first, `"age_ms":60000`) // one that it had kept to itself
	lane.waitFor("it is heard", func() bool { return lane.acked == 5 })
	require.Nil(t, pos.Session(next).Began)
	lane.report(6, "entered", next, `"age_ms":0`)
	lane.waitFor("it begins", func() bool { return lane.acked == 6 })
	require.Equal(t, "running", pos.LaneStatuses()[0].Phase)
}

// A device said nonsense about when something had happened, or how long it would last. The session was millions of
// minutes long, or had begun before the range was built.
func TestGarbageStartTimeGivesMillionsOfMinutes(t *testing.T) {
	const most, longest = "9223372036854", `"age_ms":9223372036854` // 292 years
	var devices []*device
	var lanes []string
	for n := range 6 {
		devices = append(devices, newDevice(t, n))
		lanes = append(lanes, devices[n].link())
	}
	f := newFixtureOf(t, lanes)
	_, pos := f.serveLinked()
	var sessions []string
	var sold []moment
	for n := range 6 {
		sold = append(sold, measure(func() { sessions = append(sessions, pos.book(n, 30)) }))
	}
	requireSane := func(n int) {
		t.Helper()
		now := pos.Session(sessions[n])
		require.Equal(t, 30, now.Minutes)
		var left time.Duration
		read := measure(func() { left = pos.left(sessions[n]) })
		require.LessOrEqual(t, left, 30*time.Minute)
		require.GreaterOrEqual(t, left, 30*time.Minute-read.before.Sub(sold[n].after)-rounding)
		require.False(t, now.Began.Before(now.Created))
	}

	devices[0].report(1, "entered", sessions[0], longest)
	devices[0].waitFor("it is heard", func() bool { return devices[0].acked == 1 })
	requireSane(0)
	devices[0].report(2, "help", sessions[0], longest)
	devices[0].report(3, "carrier_hit", sessions[0], longest)
	devices[0].waitFor("it is heard", func() bool { return devices[0].acked == 3 })
	for _, event := range pos.AttemptedEvents() {
		require.False(t, event.At.Before(sold[0].after.Truncate(time.Millisecond)), "%+v", event)
	}

	for n, age := range map[int]string{1: `"age_ms":-60000`, 2: `"age_ms":1e30`, 3: `"age_ms":"NaN"`} {
		devices[n].report(1, "entered", sessions[n], age)
		devices[n].waitFor("it is not heard", func() bool {
			return devices[n].closed == websocket.StatusPolicyViolation
		})
		require.Zero(t, devices[n].acked)
		require.Nil(t, pos.Session(sessions[n]).Began)
		pos.command(sessions[n], "/stop")
		require.Zero(t, pos.Ended(sessions[n]).Used.Duration)
	}

	devices[4].report(1, "entered", sessions[4], `"age_ms":0`)
	devices[4].waitFor("it is heard", func() bool { return devices[4].acked == 1 })
	devices[4].reconnect(running(sessions[4], most))
	requireSane(4)
	require.LessOrEqual(t, devices[4].wanted().Session.Remaining, int64(30*60_000))
	require.Positive(t, devices[4].wanted().Session.Remaining)

	pos.gateway.HoldLane(5, true)
	pos.gateway.HoldLane(5, false)
	devices[5].report(1, "entered", sessions[5], longest)
	devices[5].waitFor("it is heard", func() bool { return devices[5].acked == 1 })
	requireSane(5)
	for _, n := range []int{0, 4, 5} {
		stopped := pos.command(sessions[n], "/stop")
		ended := pos.Ended(sessions[n])
		require.LessOrEqual(t, ended.Used.Duration, stopped.before.Sub(sold[n].after)+rounding)
		require.Equal(t, 30*time.Minute, ended.Used.Duration+ended.Left.Duration)
	}
}
