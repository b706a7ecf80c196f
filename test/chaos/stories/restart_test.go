package stories

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// The gateway and the lane's controller lost power in the middle of a session. Once they were back the lane was shown
// as free: it was sold a second time, and the customer's time was gone.
func TestRebootInMidSessionShowsTheLaneFree(t *testing.T) {
	f := newFixture(t, 2)
	gateway, pos := f.serveLinked()
	var running, waiting string
	begun := measure(func() { running = pos.Sell(0, 30) })
	waiting = pos.book(1, 20)
	pos.advance(running, 10*time.Minute)
	f.WaitOpen(0, running)

	gateway.Kill()
	for n := range 2 {
		f.Controller(n).PowerCut(true)
		require.False(t, f.Controller(n).Shown().Open, "without a gateway it stays locked")
	}
	gateway, pos = f.serve()
	lanes := pos.LaneStatuses()
	require.Equal(t, []string{"running", "waiting"}, []string{lanes[0].Phase, lanes[1].Phase})
	require.Equal(t, []string{running, waiting}, []string{*lanes[0].Session, *lanes[1].Session})
	for n := range 2 {
		require.Equal(t, 409, pos.Send("POST", "/sessions", support.Order(n, 5)).Status)
	}
	f.WaitOpen(0, running)
	var left time.Duration
	read := measure(func() { left = pos.left(running) })
	// The jump by which POS advanced it took its own time.
	require.LessOrEqual(t, left, 10*time.Minute)
	require.GreaterOrEqual(t, left, 10*time.Minute-read.before.Sub(begun.after)-rounding)
	require.Equal(t, 30, pos.Session(running).Minutes)
	support.Eventually(t, "the controller of lane 2 knows the session", func() bool {
		return f.Controller(1).Shown().Session.String() == waiting
	})
	require.NoError(t, f.Controller(1).Enter())
	f.WaitOpen(1, waiting)
	require.Zero(t, gateway.Terminate())
}

// The gateway crashed between a stop and its confirmation. Afterwards the record said one thing and the lane did
// another; the stop could not be repeated, or was counted again.
func TestACrashBetweenStopAndItsConfirmation(t *testing.T) {
	t.Run("the controller confirms nothing", func(t *testing.T) {
		f := newFixture(t, 1)
		gateway, pos := f.serveLinked()
		session := pos.Sell(0, 30)
		f.WaitOpen(0, session)
		f.Silence(0)
		pos.command(session, "/stop")
		f.receiver.WaitEvents(session, "sessionCreated", "sessionStarted", "sessionStopped")
		require.True(t, f.Controller(0).Shown().Open, "the controller has not heard of it")
		gateway.Kill()
		f.Restore(0)

		_, pos = f.serve()
		require.Equal(t, "free", pos.LaneStatuses()[0].Phase)
		f.WaitLocked(0)
		pos.refused(session, "/stop", 404, "session_ended")
		require.Equal(t, "pos", pos.Ended(session).Reason)
		require.Equal(t, []string{"sessionCreated", "sessionStarted", "sessionStopped"}, pos.EventsOf(session))
	})
	t.Run("POS gets no answer", func(t *testing.T) {
		f := newFixture(t, 1)
		for range 8 {
			gateway, pos := f.serveLinked()
			session := pos.Sell(0, 30)
			f.WaitOpen(0, session)
			status := make(chan int, 1)
			go func() {
				answer, _ := pos.Do("POST", "/sessions/"+session+"/stop", "")
				status <- answer.Status
			}()
			time.Sleep(time.Duration(rand.Int64N(int64(3 * time.Millisecond)))) // anywhere in the stop
			gateway.Kill()

			gateway, pos = f.serve()
			if <-status == 204 {
				pos.refused(session, "/stop", 404, "session_ended")
			}
			if pos.LaneStatuses()[0].Phase == "running" {
				f.WaitOpen(0, session)
				require.NotContains(t, pos.EventsOf(session), "sessionStopped")
				pos.command(session, "/stop")
			}
			pos.refused(session, "/stop", 404, "session_ended")
			f.WaitLocked(0)
			require.Equal(t, "pos", pos.Ended(session).Reason)
			require.Equal(t, []string{"sessionCreated", "sessionStarted", "sessionStopped"}, pos.EventsOf(session))
			require.Zero(t, gateway.Terminate())
		}
	})
}

// Whenever a lane's connection came back the start of its session was told again, and its time began anew.
func TestTheStartIsResentOnReconnectAndResetsTheTime(t *testing.T) {
	f := newFixture(t, 1)
	gateway, pos := f.serveLinked()
	session := pos.book(0, 30)
	support.Eventually(t, "the session waits on the lane", func() bool {
		return f.Controller(0).Shown().Phase == "waiting"
	})
	f.Controller(0).LoseAcks(true) // it tells every report again
	f.Silence(0)
	entered := measure(func() { require.NoError(t, f.Controller(0).Enter()) })
	support.Eventually(t, "100 ms pass", func() bool { return time.Since(entered.after) > 100*time.Millisecond })
	require.NoError(t, f.Controller(0).Enter(), "nothing opened, so the customer tries again")
	f.Restore(0)
	f.WaitOpen(0, session)
	began := pos.Session(session).Began
	require.NotNil(t, began)
	var left time.Duration
	first := measure(func() { left = pos.left(session) })
	require.GreaterOrEqual(t, 30*time.Minute-left, 100*time.Millisecond, "it began when the customer entered first")
	require.LessOrEqual(t, 30*time.Minute-left, first.before.Sub(entered.after)+rounding)

	again := []func(){
		f.Controller(0).Drop,
		func() { f.Controller(0).PowerCut(false) },
		func() {
			gateway.Kill()
			gateway, pos = f.serve()
		},
	}
	for _, reconnect := range append(again, again...) {
		kept, since := pos.left(session), time.Now()
		reconnect()
		f.WaitOpen(0, session)
		var now time.Duration
		read := measure(func() { now = pos.left(session) })
		require.LessOrEqual(t, now, kept)
		requireBetween(t, left-now, first, read, "its time goes on")
		// The lane counts from when it heard: later than the gateway by the way there. Begun anew it would
		// have all the time since then.
		require.Less(t, f.Controller(0).Shown().Remaining, 30*time.Minute-time.Since(since), "on the lane too")
		require.Equal(t, began, pos.Session(session).Began)
	}
	f.Controller(0).LoseAcks(false)
	f.Controller(0).Drop()
	f.WaitAcked(0)
	require.Equal(t, []string{"sessionCreated", "sessionStarted"}, pos.EventsOf(session))
}

// A session ended while the gateway was down. After the boot its stop was sent, and sent again with the next boot or
// when POS stopped it too: it was charged twice, or the second stop hit the customer who came next.
func TestStopSentTwiceAfterBoot(t *testing.T) {
	f := newFixture(t, 1)
	gateway, pos := f.serveLinked()
	session := pos.Sell(0, 1)
	f.WaitOpen(0, session)
	f.endsDuringAKill(0, session, pos)
	for boot := range 2 {
		if boot > 0 {
			gateway.Kill()
		}
		gateway, pos = f.serve()
		for range 2 {
			pos.refused(session, "/stop", 404, "session_ended")
		}
		f.receiver.WaitEvents(session, "sessionCreated", "sessionStarted", "sessionStopped")
		pos.Ended(session)
	}
	f.WaitLocked(0)
	next := pos.Sell(0, 30)
	f.WaitOpen(0, next)
	f.receiver.WaitEvents(next, "sessionCreated", "sessionStarted")

	for range 2 {
		gateway.Kill()
		gateway, pos = f.serve()
		pos.refused(session, "/stop", 404, "session_ended")
		f.WaitOpen(0, next)
		require.Equal(t, next, *pos.LaneStatuses()[0].Session)
	}
	help := f.Controller(0).Help() // whatever was to be sent before is sent by the time that this is
	require.NoError(t, help)
	f.receiver.WaitEvents(next, "sessionCreated", "sessionStarted", "help")
	f.receiver.WaitEvents(session, "sessionCreated", "sessionStarted", "sessionStopped")
	require.Equal(t, "expired", pos.Ended(session).Reason)
}

// endsDuringAKill kills the gateway and lets the session on the lane, which runs, come to its end meanwhile.
func (f *fixture) endsDuringAKill(n int, session string, pos posClient) {
	f.t.Helper()
	f.receiver.WaitEvents(session, "sessionCreated", "sessionStarted")
	pos.AttemptedEvents() // every attempt is over
	pos.advance(session, 2*time.Second)
	support.Eventually(f.t, "the lane counts down", func() bool {
		return f.Controller(n).Shown().Remaining <= 2*time.Second
	})
	pos.gateway.Kill()
	support.Eventually(f.t, "the controller counts by itself", func() bool { return !f.Controller(n).Shown().Open })
}
