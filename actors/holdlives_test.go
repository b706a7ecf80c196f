package actors

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/commit"
	"rangegate/lanes"
)

// Holds and the lives of the gateway and its lanes: nothing opens by having been forgotten.

func TestARestartKeepsEveryHold(t *testing.T) {
	var hardware witness
	inFakeTime(t, func(t *testing.T, g *rig) {
		running, waiting := g.create(0, 30), g.book(1, 30)
		g.pass(time.Minute)
		g.hold(g.overBay(0))
		g.hold(g.overLane(2))
		before := g.Holds()
		for _, reboot := range []bool{false, true} {
			g.shutDown()
			if reboot {
				g.clock.Reboot()
			}
			down := time.Now()
			g.pass(5 * time.Minute)
			g.start()
			require.Equal(t, before, g.Holds())
			g.requireHeld(0, 1, 2)
			require.Equal(t, 29*time.Minute, g.left(running))
			for _, told := range hardware.told(g.lane(0), down) {
				require.True(t, told.state.Hold, "never told anything else")
			}
			require.Len(t, g.happened(running), 3, "and not paused again")
		}
		g.enter(1)
		g.lift(g.overBay(0))
		g.requireHeld(2)
		g.requireOpen(0, 1)
		require.Equal(t, 30*time.Minute, g.left(waiting))
		g.restart()
		g.requireHeld(2)
	}, withBays, watchedBy(&hardware))
}

// The lane's own record knows nothing of a hold: a crash came before it was saved. The range's record counts.
func TestALaneComesBackAsTheRecordSays(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		lane := g.Lanes()[0].Lane
		g.hold(everywhere)
		forgotten := make(chan commit.Outcome, 1)
		g.committer.Save(&commit.Write{Lanes: []lanes.Lane{lane}, Done: func(o commit.Outcome) { forgotten <- o }})
		require.Equal(t, commit.Saved, <-forgotten)
		g.kill()
		g.start()
		g.requireHeld(0, 1)
		require.Equal(t, lanes.Paused, g.Sessions()[0].Phase)
		g.lift(everywhere)
		g.requireOpen(0)

		held := g.Lanes()[0].Lane
		held.Held = true
		g.committer.Save(&commit.Write{Lanes: []lanes.Lane{held}, Done: func(o commit.Outcome) { forgotten <- o }})
		require.Equal(t, commit.Saved, <-forgotten)
		g.kill()
		g.start()
		g.requireHeld()
		g.requireOpen(0)
		require.Equal(t, session, g.onBoard()[0])
	})
}

func TestALaneThatPanicsUnderAHoldStaysHeld(t *testing.T) {
	for name, outage := range map[string]flushHook{"": nil, " while the store is away": refuses} {
		t.Run("it panics"+name, func(t *testing.T) {
			var hardware witness
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				g.pass(time.Minute)
				g.store.hook(outage)
				g.answered(g.beginHold(everywhere))
				g.pass(time.Millisecond)
				held := time.Now()
				for range 3 {
					g.crash(0)
					require.False(t, g.open(0))
					g.pass(time.Second)
					g.requireHeld(0, 1)
				}
				for _, told := range hardware.told(g.lane(0), held) {
					require.True(t, told.state.Hold)
				}
				g.storeReturns()
				require.Equal(t, 29*time.Minute, g.left(session))
				require.Equal(t, []lanes.Scope{everywhere}, g.inForce(), "and no other hold has come of it")
				g.lift(everywhere)
				g.requireOpen(0)
			}, watchedBy(&hardware))
		})
	}
}

// It panicked with the hold in its mailbox, or on its way to the store.
func TestALaneThatPanicsWhileAHoldIsSetIsHeld(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		release := g.holdFlushes()
		g.begin(func() error { return g.tryModify(g.onBoard()[0], 1) })
		answer := g.beginHold(everywhere)
		g.crash(0)
		release()
		g.answered(answer)
		g.pass(time.Second)
		g.requireHeld(0, 1)
		g.restart()
		g.requireHeld(0, 1)
	})
}

func TestALaneThatIsParkedUnderAHoldStaysHeld(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(time.Minute)
		g.hold(everywhere)
		for range maxPanics + 1 {
			g.crash(0)
		}
		g.pass(firstBackoff)
		require.Contains(t, g.Lanes()[0].NotUsable, "defects")
		require.True(t, g.controller(0).Shown().Hold)
		g.pass(parkedFor)
		g.requireHeld(0, 1)
		require.Equal(t, []lanes.Scope{everywhere}, g.inForce())
		g.lift(everywhere)
		g.requireOpen(0)
		require.Equal(t, 29*time.Minute, g.left(session))
	})
}

func TestALaneThatIsParkedIsHeldByAHoldThatComesMeanwhile(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		for range maxPanics + 1 {
			g.crash(0)
		}
		g.pass(firstBackoff)
		require.Equal(t, g.theLanes(0, 1), g.answered(g.beginHold(everywhere)).Confirmed)
		g.pass(parkedFor)
		g.requireHeld(0, 1)
		g.lift(everywhere)
		g.requireOpen(0)
	})
}

// The lane hears of both only afterwards, and must not put the hold on record again.
func TestAHoldThatCameAndWentWhileALaneWasParked(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		for range maxPanics + 1 {
			g.crash(0)
		}
		g.pass(firstBackoff)
		g.answered(g.beginHold(everywhere))
		g.lift(everywhere)
		require.True(t, g.controller(0).Shown().Hold, "it is parked")
		g.pass(parkedFor)
		for range 2 {
			g.requireHeld()
			g.requireOpen(0)
			require.Empty(t, g.onRecord().InForce)
			g.restart()
		}
	})
}

func TestAStoreThatLostEverythingUnderAHoldKeepsIt(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		running, other := g.create(0, 30), g.create(2, 30)
		g.hold(g.overBay(0))
		g.hold(g.overBay(1))
		g.lift(g.overBay(1))
		before := g.Holds()
		g.wipeStore()
		g.modify(other, 5)
		require.Equal(t, before, g.onRecord())
		g.restart()
		require.Equal(t, before, g.Holds())
		g.requireHeld(0, 1)
		require.Equal(t, []uuid.UUID{running, other}, g.onBoard())

		g.wipeStore() // and a lift is what finds that out
		g.lift(g.overBay(0))
		g.restart()
		require.Empty(t, g.inForce())
		g.requireHeld()
		g.requireOpen(0, 2)

		g.wipeStore() // or a hold
		require.True(t, g.hold(everywhere).Saved)
		g.kill()
		g.start()
		g.requireHeld(0, 1, 2, 3)
	}, withBays)
}
