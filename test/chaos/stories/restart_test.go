package stories

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

func TestMain(m *testing.M) { process.Run(m) }

// The gateway and the lane's controller lost power in the middle of a session. Once they were back the lane was shown
// as free: it was sold a second time, and the customer's time was gone.
func TestRebootInMidSessionShowsTheLaneFree(t *testing.T) {
	s := build(t, 2)
	gateway, pos := s.serveLinked()
	var running, waiting string
	begun := at(func() { running = pos.sell(0, 30) })
	waiting = pos.book(1, 20)
	pos.advance(running, 10*time.Minute)
	s.opens(0, running)

	gateway.Kill()
	for n := range 2 {
		s.controller(n).PowerCut(true)
		require.False(t, s.controller(n).Shown().Open, "without a gateway it stays locked")
	}
	gateway, pos = s.serve()
	stand := pos.stand()
	require.Equal(t, []string{"running", "waiting"}, []string{stand[0].Phase, stand[1].Phase})
	require.Equal(t, []string{running, waiting}, []string{*stand[0].Session, *stand[1].Session})
	for n := range 2 {
		require.Equal(t, 409, pos.try("POST", "/sessions", sale(n, 5, "")).Status)
	}
	s.opens(0, running)
	var left time.Duration
	read := at(func() { left = pos.left(running) })
	// The jump by which POS advanced it took its own time.
	require.LessOrEqual(t, left, 10*time.Minute)
	require.GreaterOrEqual(t, left, 10*time.Minute-read.before.Sub(begun.after)-rounded)
	require.Equal(t, 30, pos.shows(running).Minutes)
	require.NoError(t, s.controller(1).Enter())
	s.opens(1, waiting)
	require.Zero(t, gateway.Terminate())
}

// The gateway crashed between a stop and its confirmation. Afterwards the record said one thing and the lane did
// another; the stop could not be repeated, or was counted again.
func TestACrashBetweenStopAndItsConfirmation(t *testing.T) {
	t.Run("the controller confirms nothing", func(t *testing.T) {
		s := build(t, 1)
		gateway, pos := s.serveLinked()
		session := pos.sell(0, 30)
		s.opens(0, session)
		s.outOfReach(0)
		pos.does(session, "/stop")
		s.receiver.gets(session, "sessionCreated", "sessionStarted", "sessionStopped")
		require.True(t, s.controller(0).Shown().Open, "the controller has not heard of it")
		gateway.Kill()
		s.withinReach(0)

		_, pos = s.serve()
		require.Equal(t, "free", pos.stand()[0].Phase)
		s.locks(0)
		pos.refused(session, "/stop", 404, "session_ended")
		require.Equal(t, "pos", pos.ended(session).Reason)
		require.Equal(t, []string{"sessionCreated", "sessionStarted", "sessionStopped"}, pos.happened(session))
	})
	t.Run("POS gets no answer", func(t *testing.T) {
		s := build(t, 1)
		for range 8 {
			gateway, pos := s.serveLinked()
			session := pos.sell(0, 30)
			s.opens(0, session)
			told := make(chan int, 1)
			go func() {
				answer, _ := pos.Do("POST", v2+"/sessions/"+session+"/stop", "")
				told <- answer.Status
			}()
			time.Sleep(time.Duration(rand.Int64N(int64(3 * time.Millisecond)))) // anywhere in the stop
			gateway.Kill()

			gateway, pos = s.serve()
			if <-told == 204 {
				pos.refused(session, "/stop", 404, "session_ended")
			}
			if pos.stand()[0].Phase == "running" {
				s.opens(0, session)
				require.NotContains(t, pos.happened(session), "sessionStopped")
				pos.does(session, "/stop")
			}
			pos.refused(session, "/stop", 404, "session_ended")
			s.locks(0)
			require.Equal(t, "pos", pos.ended(session).Reason)
			require.Equal(t, []string{"sessionCreated", "sessionStarted", "sessionStopped"}, pos.happened(session))
			require.Zero(t, gateway.Terminate())
		}
	})
}

// Whenever a lane's connection came back the start of its session was told again, and its time began anew.
func TestTheStartIsResentOnReconnectAndResetsTheTime(t *testing.T) {
	s := build(t, 1)
	gateway, pos := s.serveLinked()
	session := pos.book(0, 30)
	require.Eventually(t, func() bool { return s.controller(0).Shown().Phase == "waiting" }, patience, often)
	s.controller(0).LoseAcks(true) // it tells every report again
	s.outOfReach(0)
	entered := at(func() { require.NoError(t, s.controller(0).Enter()) })
	require.Eventually(t, func() bool { return time.Since(entered.after) > 100*time.Millisecond }, patience, often)
	require.NoError(t, s.controller(0).Enter(), "nothing opened, so the customer tries again")
	s.withinReach(0)
	s.opens(0, session)
	began := pos.shows(session).Began
	require.NotNil(t, began)
	var left time.Duration
	first := at(func() { left = pos.left(session) })
	require.GreaterOrEqual(t, 30*time.Minute-left, 100*time.Millisecond, "it began when the customer entered first")
	require.LessOrEqual(t, 30*time.Minute-left, first.after.Sub(entered.before)+rounded)

	again := []func(){
		s.controller(0).Drop,
		func() { s.controller(0).PowerCut(false) },
		func() {
			gateway.Kill()
			gateway, pos = s.serve()
		},
	}
	for _, reconnect := range append(again, again...) {
		kept, since := pos.left(session), time.Now()
		reconnect()
		s.opens(0, session)
		var now time.Duration
		read := at(func() { now = pos.left(session) })
		require.LessOrEqual(t, now, kept)
		between(t, left-now, first, read, "its time goes on")
		// The lane counts from when it heard: later than the gateway by the way there. Begun anew it would have all the time since then.
		require.Less(t, s.controller(0).Shown().Remaining, 30*time.Minute-time.Since(since), "on the lane too")
		require.Equal(t, began, pos.shows(session).Began)
	}
	s.controller(0).LoseAcks(false)
	s.controller(0).Drop()
	s.heard(0)
	require.Equal(t, []string{"sessionCreated", "sessionStarted"}, pos.happened(session))
}

// A session ended while the gateway was down. After the boot its stop was sent, and sent again with the next boot or
// when POS stopped it too: it was charged twice, or the second stop hit the customer who came next.
func TestStopSentTwiceAfterBoot(t *testing.T) {
	s := build(t, 1)
	gateway, pos := s.serveLinked()
	session := pos.sell(0, 1)
	s.opens(0, session)
	s.endsDuringAKill(0, session, pos)
	for boot := range 2 {
		if boot > 0 {
			gateway.Kill()
		}
		gateway, pos = s.serve()
		for range 2 {
			pos.refused(session, "/stop", 404, "session_ended")
		}
		s.receiver.gets(session, "sessionCreated", "sessionStarted", "sessionStopped")
		pos.ended(session)
	}
	s.locks(0)
	next := pos.sell(0, 30)
	s.opens(0, next)
	s.receiver.gets(next, "sessionCreated", "sessionStarted")

	for range 2 {
		gateway.Kill()
		gateway, pos = s.serve()
		pos.refused(session, "/stop", 404, "session_ended")
		s.opens(0, next)
		require.Equal(t, next, *pos.stand()[0].Session)
	}
	help := s.controller(0).Help() // whatever was to be sent before is sent by the time that this is
	require.NoError(t, help)
	s.receiver.gets(next, "sessionCreated", "sessionStarted", "help")
	s.receiver.gets(session, "sessionCreated", "sessionStarted", "sessionStopped")
	require.Equal(t, "expired", pos.ended(session).Reason)
}

// endsDuringAKill kills the gateway and lets the session on the lane, which runs, come to its end meanwhile.
func (s *station) endsDuringAKill(n int, session string, pos till) {
	s.t.Helper()
	s.receiver.gets(session, "sessionCreated", "sessionStarted")
	pos.events() // every attempt is over
	pos.advance(session, 2*time.Second)
	require.Eventually(s.t, func() bool { return s.controller(n).Shown().Remaining <= 2*time.Second }, patience, often)
	pos.gateway.Kill()
	require.Eventually(s.t, func() bool { return !s.controller(n).Shown().Open }, patience, often, "the controller counts by itself")
}
