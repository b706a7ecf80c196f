package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func TestASessionEndsAtItsExactDeadline(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.book(0, 30)
		g.pass(2 * time.Minute)
		require.False(t, g.open(0), "nobody has entered")
		g.enter(0)
		entered := g.clock.Now()
		require.True(t, g.open(0))

		g.pass(10 * time.Minute)
		g.pause(session)
		require.False(t, g.open(0), "paused")
		g.pass(90 * time.Second)
		g.modify(session, 5)
		g.pass(90 * time.Second)
		g.resume(session)
		require.True(t, g.open(0), "resumed")
		g.pass(7*time.Minute + 1500*time.Microsecond)
		g.modify(session, -2)
		g.pause(session)
		g.pass(time.Second)
		g.resume(session)

		const sold, paused = 33 * time.Minute, 3*time.Minute + time.Second
		require.Equal(t, 16*time.Minute-1500*time.Microsecond, g.left(session))
		g.pass(g.left(session) - time.Millisecond)
		require.True(t, g.open(0), "a millisecond before its end")
		require.Equal(t, time.Millisecond, g.left(session))
		g.pass(time.Millisecond)
		require.False(t, g.open(0), "at its end")
		require.Equal(t, uuid.Nil, g.controller(0).Shown().Session, "the gateway has told the hardware")
		_, err := g.Session(g.request(), session)
		require.ErrorIs(t, err, lanes.ErrSessionEnded)

		ended := g.ended(session)
		assert.Equal(t, lanes.Expired, ended.Reason)
		assert.Equal(t, entered.Add(sold+paused).Wall, ended.At)
		assert.Equal(t, sold, ended.Used)
		assert.Equal(t, paused, ended.Paused)
		assert.Zero(t, ended.Session.Left)
		assert.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionModified,
			lanes.SessionResumed, lanes.SessionModified, lanes.SessionPaused, lanes.SessionResumed, lanes.SessionStopped,
		}, g.happened(session))
	})
}

func TestTheTimerFollowsTheDeadline(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 10)
		stands := func(d time.Duration, why string) {
			t.Helper()
			g.pass(d)
			require.Contains(t, g.onBoard(), session, why)
		}
		g.modify(session, -5)
		g.modify(session, 7)
		stands(5*time.Minute, "at the end that it had for a moment")
		stands(5*time.Minute, "at the end that it was sold with")
		g.pause(session)
		stands(10*time.Minute, "paused")
		g.resume(session)
		stands(2*time.Minute-time.Millisecond, "a millisecond before its end")
		g.pass(time.Millisecond)
		require.Empty(t, g.onBoard())
		require.Equal(t, 12*time.Minute, g.ended(session).Used)
	})
}

func TestATimerThatIsStaleDoesNothing(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 10)
		for generation := range uint64(10) {
			g.toLane(0, &timeUp{generation})
		}
		require.Equal(t, 10*time.Minute, g.left(session))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, g.happened(session))
		require.True(t, g.open(0))
	})
}

// The scheduler's clock and the boot clock are two clocks.
func TestATimerThatIsEarlyIsArmedAgain(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 10)
		g.clock.Suspend(-50 * time.Millisecond)
		g.pass(10 * time.Minute)
		require.Equal(t, 50*time.Millisecond, g.left(session))
		g.pass(50 * time.Millisecond)
		require.Empty(t, g.onBoard())
	})
}

// The hold ended while the session had a moment left; by the time that this is taken in, it has none.
func TestAReleaseThatMeetsADueSession(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 1)
		g.pass(time.Minute - 100*time.Millisecond)
		release := g.holdFlushes()
		require.NoError(t, g.controller(0).Help())
		synctest.Wait()
		released := g.begin(func() error {
			_, err := g.On(g.request(), session, lanes.Release{}, nil)
			return err
		})
		g.pass(500 * time.Millisecond)
		release()
		require.NoError(t, <-released)
		synctest.Wait()
		require.Equal(t, time.Minute, g.ended(session).Used)
	})
}

// A stop counts from when it arrived, however long the change before it takes to be saved.
func TestAStopCountsFromWhenItArrived(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 10)
		g.pass(4 * time.Minute)
		release := g.holdFlushes()
		modified := g.begin(func() error { return g.tryModify(session, 1) })
		stopped := g.begin(func() error {
			_, err := g.On(g.request(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
			return err
		})
		require.False(t, g.open(0), "closed before the change under way is saved")
		g.pass(500 * time.Millisecond)
		release()
		require.NoError(t, <-modified)
		require.NoError(t, <-stopped)
		require.Equal(t, 4*time.Minute, g.ended(session).Used)
		require.False(t, g.open(0))
	})
}
