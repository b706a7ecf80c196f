package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func TestALaneThatKeepsPanickingIsParkedForAMinute(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, other := g.create(0, 30), g.create(1, 30)
		g.pass(10 * time.Minute)
		undisturbed := g.Lanes()[1]
		for range 5 {
			require.ErrorIs(t, g.tryNothing(session), lanes.ErrInternal)
			require.True(t, g.open(0), "not parked yet")
		}
		require.ErrorIs(t, g.tryNothing(session), lanes.ErrInternal)
		g.pass(firstBackoff)

		status := g.Lanes()[0]
		require.True(t, g.controller(0).Shown().Hold, "the hardware is held")
		require.False(t, status.Lane.Usable)
		require.Contains(t, status.NotUsable, "defects")
		require.ErrorIs(t, g.tryModify(session, 1), lanes.ErrLaneNotUsable)
		require.ErrorIs(t, g.tryMove(other, 0), lanes.ErrLaneNotUsable)
		require.True(t, g.gateway.Ready(1))
		require.Equal(t, undisturbed, g.Lanes()[1])

		g.pass(parkedFor - firstBackoff - time.Millisecond)
		require.True(t, g.controller(0).Shown().Hold)
		g.pass(time.Millisecond)
		status = g.Lanes()[0]
		require.False(t, g.controller(0).Shown().Hold)
		require.True(t, g.open(0))
		require.True(t, status.Lane.Usable)
		require.Empty(t, status.NotUsable)
		require.Equal(t, 19*time.Minute, g.left(session), "the hold was the gateway's fault, and no pause")

		require.ErrorIs(t, g.tryNothing(session), lanes.ErrInternal)
		require.True(t, g.open(0), "the panics of the minute before are forgotten")
		g.pass(19 * time.Minute)
		require.Equal(t, 30*time.Minute, g.ended(session).Used)
		require.Equal(t, 30*time.Minute, g.ended(other).Used)
	})
}

func TestFivePanicsAMinuteParkNoLane(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 60)
		for range 20 {
			g.crash(0)
			g.pass(12 * time.Second)
			require.True(t, g.open(0))
		}
		require.Equal(t, 56*time.Minute, g.left(session))
	})
}

func TestASessionThatEndsOnAParkedLaneEndsAtItsDeadline(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		begun := g.clock.Now()
		session := g.create(0, 1)
		g.pass(30 * time.Second)
		for range 6 {
			g.crash(0)
		}
		g.pass(parkedFor)
		require.Equal(t, lanes.Expired, g.ended(session).Reason)
		require.Equal(t, begun.Wall.Add(time.Minute), g.ended(session).At)
	})
}

// What waits for a lane while it is parked is answered, and what it had sent to the store is heard of.
func TestParkingALaneLosesNothing(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		modify := func() error {
			_, err := g.On(g.request(), session, lanes.Modify{Session: session, Minutes: 5}, keyed("more", "5"))
			return err
		}
		modified := g.begin(modify)
		for range 6 {
			g.sendTo(g.lane(0), &saveResult{})
		}
		late := g.begin(func() error { return g.tryModify(session, 1) })
		require.ErrorIs(t, <-modified, lanes.ErrTimeout)
		require.ErrorIs(t, <-late, lanes.ErrLaneNotUsable)
		repeated := g.begin(modify)
		release()
		synctest.Wait()
		require.ErrorAs(t, <-repeated, new(*lanes.Repeat), "the repeat hears of the first")
		g.pass(parkedFor)
		require.Equal(t, 34*time.Minute, g.left(session))
	})
}
