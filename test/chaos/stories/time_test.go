package stories

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// waitPaused lets that much time pass, in which nothing of the session's time is used.
func (p posClient) waitPaused(session string, length time.Duration) {
	p.t.Helper()
	kept := p.left(session)
	for until := time.Now().Add(length); time.Now().Before(until); {
		require.Equal(p.t, kept, p.left(session))
	}
}

// Pauses were taken off, and then the time up to the resume was taken off once more: the longer the pauses, the less
// of what was paid for was left.
func TestPauseResumeCountsTimeTwice(t *testing.T) {
	f := newFixture(t, 1)
	gateway, pos := f.serveLinked()
	session := pos.Sell(0, 30)
	for i := range 6 {
		pos.command(session, "/pause")
		pos.refused(session, "/pause", 409, "not_running")
		pos.waitPaused(session, 50*time.Millisecond)
		if i == 3 {
			gateway.Kill()
			gateway, pos = f.serve()
			pos.waitPaused(session, 50*time.Millisecond)
		}
		pos.command(session, "/resume")
		pos.refused(session, "/resume", 409, "not_paused")
		gateway.HoldRange(true)
		pos.waitPaused(session, 20*time.Millisecond)
		pos.refused(session, "/pause", 409, "not_running")
		gateway.HoldRange(false)
	}
	pos.command(session, "/modify?time=5")
	pos.command(session, "/stop")
	ended := pos.Ended(session)
	require.Equal(t, 35*time.Minute, ended.Used.Duration+ended.Left.Duration)
	require.GreaterOrEqual(t, ended.Paused.Duration, 6*70*time.Millisecond)
	// Each of the four is rounding to the millisecond.
	require.InDelta(t, ended.Ended.Sub(*ended.Began), ended.Used.Duration+ended.Paused.Duration, float64(2*rounding))
	require.Zero(t, gateway.Terminate())
}

// A session was shortened by more than was left of it. Its time was negative from then on: it never ended, or was paid
// back.
func TestShorteningBelowTheUsedTimeGoesNegative(t *testing.T) {
	f := newFixture(t, 3)
	_, pos := f.serveLinked()
	running, paused := pos.Sell(0, 60), pos.Sell(1, 60)
	for _, session := range []string{running, paused} {
		pos.advance(session, 20*time.Minute)
	}
	pos.command(paused, "/pause")
	waiting := pos.book(2, 20)
	patch := func(session, body string) (status int) {
		answer, err := pos.Do("PATCH", "/api/v1/pos/sessions", `{"id":"`+session+`","duration":`+body+`}`)
		require.NoError(t, err)
		return answer.Status
	}
	for _, session := range []string{running, paused} {
		for _, less := range []string{"-20", "-21", "-59"} {
			pos.refused(session, "/modify?time="+less, 409, "no_time_left")
		}
		pos.refused(session, "/modify?time=-60", 409, "duration_out_of_range")
		require.Equal(t, 409, patch(session, "40"))
		require.Equal(t, 400, patch(session, "-5"))
		require.Equal(t, 60, pos.Session(session).Minutes, "nothing has changed")
	}
	pos.refused(waiting, "/modify?time=-20", 409, "duration_out_of_range")
	pos.command(waiting, "/modify?time=-19")
	require.Equal(t, 1, pos.Session(waiting).Minutes)

	var taken atomic.Int64
	simultaneously(5, func(int) { // each alone is possible, two are not
		answer, err := pos.Do("POST", "/sessions/"+paused+"/modify?time=-15", "")
		if err == nil && answer.Status == http.StatusNoContent {
			taken.Add(1)
		}
	})
	require.EqualValues(t, 1, taken.Load())
	require.Equal(t, 45, pos.Session(paused).Minutes)
	require.LessOrEqual(t, pos.left(paused), 5*time.Minute)
	require.Positive(t, pos.left(paused))

	pos.command(running, "/modify?time=-19")
	pos.advance(running, 200*time.Millisecond)
	ended := pos.waitEnded(running)
	require.Equal(t, 41, ended.Minutes)
	require.Equal(t, 41*time.Minute, ended.Used.Duration)
	require.Zero(t, ended.Left.Duration)
	f.WaitLocked(0)
}

// A session was paused and resumed, and ended when it would have without the pause.
func TestResumeDoesNotShiftTheEnd(t *testing.T) {
	f := newFixture(t, 1)
	gateway, pos := f.serveLinked()
	var session string
	support.Eventually(t, "the pause comes before the end", func() bool {
		session = pos.Sell(0, 1)
		f.WaitOpen(0, session)
		pos.advance(session, 1500*time.Millisecond)
		answer, err := pos.DoInsisting("POST", "/sessions/"+session+"/pause", "")
		require.NoError(t, err)
		if answer.Status != http.StatusNoContent {
			pos.waitEnded(session)
		}
		return answer.Status == http.StatusNoContent
	})
	kept := pos.left(session)
	require.Positive(t, kept)
	pos.waitPaused(session, kept) // beyond its end as it was before
	gateway.Kill()
	_, pos = f.serveLinked()
	require.Equal(t, kept, pos.left(session))
	resumed := pos.command(session, "/resume")
	f.WaitOpen(0, session)
	ended := pos.waitEnded(session)
	f.WaitLocked(0)
	require.Equal(t, "expired", ended.Reason)
	require.Equal(t, time.Minute, ended.Used.Duration)
	require.WithinRange(t, ended.Ended, resumed.after.Add(kept-rounding), resumed.before.Add(kept+rounding))
	require.GreaterOrEqual(t, ended.Paused.Duration, kept)
}
