package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// lifts is a flush that ends a hold.
func lifts(b store.Batch) bool { return b.Holds != nil && len(b.Holds.Lifted) > 0 }

func TestALiftThatTheStoreRefusesChangesNothing(t *testing.T) {
	var hardware witness
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.hold(everywhere)
		before, held := g.Holds(), time.Now()
		told := len(hardware.told(g.lane(0), held))
		for range 3 { // refused by the store, and then for its being away
			g.store.hook(refuses)
			require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryLift(everywhere) }), promised), lanes.ErrStoreUnavailable)
			g.pass(time.Second)
			require.Equal(t, before, g.Holds())
			g.requireHeld(0, 1)
		}
		g.storeReturns()
		g.requireHeld(0, 1)
		require.Len(t, hardware.told(g.lane(0), held), told, "nothing reached the hardware")
		require.Equal(t, before, g.onRecord())
		g.restart()
		g.requireHeld(0, 1)
		g.lift(everywhere)
		g.requireOpen(0)
		require.Equal(t, 30*time.Minute, g.left(session))
	}, watchedBy(&hardware))
}

// Nothing opens before it is known that it stays open.
func TestALiftThatHangsOpensOnceItIsDurable(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				g.hold(everywhere)
				resolve := g.hangOnce(resolution.end)
				require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryLift(everywhere) }), promised), lanes.ErrTimeout)
				g.pass(2 * time.Second)
				g.requireHeld(0, 1)
				require.Equal(t, []lanes.Scope{everywhere}, g.inForce())

				resolve()
				g.pass(5 * time.Second)
				for range 2 {
					if resolution.written {
						g.requireOpen(0)
						require.Empty(t, g.inForce())
					} else {
						g.requireHeld(0, 1)
						require.Equal(t, []lanes.Scope{everywhere}, g.inForce())
					}
					g.restart()
				}
				require.Equal(t, resolution.written, 30*time.Minute > g.left(session), "time runs only while it is open")
			})
		})
	}
}

func TestAHoldThatCrossesTheLiftOfItsScopeWins(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var hardware witness
			inFakeTime(t, func(t *testing.T, g *rig) {
				g.create(0, 30)
				g.hold(g.overBay(0))
				g.pass(time.Millisecond)
				held := time.Now()
				resolve := g.hangOnce(resolution.end)
				lifted := g.begin(func() error { return g.tryLift(g.overBay(0)) })
				crossing := g.beginHold(g.overBay(0))
				resolve()
				require.Error(t, g.answerOf(lifted, 0))
				require.Equal(t, g.theLanes(0, 1), g.answered(crossing).Confirmed)
				g.pass(5 * time.Second)
				for range 2 {
					g.requireHeld(0, 1)
					require.Equal(t, []lanes.Scope{g.overBay(0)}, g.inForce())
					require.True(t, g.onRecord().Has(g.overBay(0)))
					g.restart()
				}
				require.False(t, hardware.opened(g.lane(0), held), "not for a moment")
				g.lift(g.overBay(0))
				g.requireOpen(0)
			}, withBays, watchedBy(&hardware))
		})
	}
}

func TestAHoldThatCrossesTheLiftOfAnotherScopeLeavesBothInForce(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				g.create(0, 30)
				g.create(2, 30)
				g.hold(everywhere)
				resolve := g.hangOnce(resolution.end)
				lifted := g.begin(func() error { return g.tryLift(everywhere) })
				crossing := g.beginHold(g.overBay(0))
				g.pass(500 * time.Millisecond)
				resolve()
				g.answered(crossing)
				err := g.answerOf(lifted, 0)
				g.pass(5 * time.Second)
				for range 2 {
					if resolution.written {
						require.Contains(t, []error{nil, lanes.ErrTimeout}, err)
						g.requireHeld(0, 1)
						g.requireOpen(2)
						require.Equal(t, []lanes.Scope{g.overBay(0)}, g.inForce())
						require.False(t, g.onRecord().Has(everywhere))
						require.True(t, g.onRecord().KnowsOfEnd(g.settings.Layout.Lanes[2]))
					} else {
						require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
						g.requireHeld(0, 1, 2, 3)
						require.Equal(t, []lanes.Scope{everywhere, g.overBay(0)}, g.inForce())
					}
					require.Equal(t, g.inForce()[0], g.onRecord().InForce[0].Scope)
					g.restart()
				}
			}, withBays)
		})
	}
}

func TestTwoLiftsThatCrossBothCount(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				for i := range 4 {
					g.create(i, 30)
				}
				g.hold(g.overBay(0))
				g.hold(g.overBay(1))
				resolve := g.hangOnce(resolution.end)
				first := g.begin(func() error { return g.tryLift(g.overBay(0)) })
				second := g.begin(func() error { return g.tryLift(g.overBay(1)) })
				g.pass(500 * time.Millisecond)
				resolve()
				refusedFirst, refusedSecond := <-first, <-second
				g.pass(5 * time.Second)
				if resolution.written {
					require.NotErrorIs(t, refusedFirst, lanes.ErrStoreUnavailable)
					require.NoError(t, g.tryLiftAgain(refusedSecond, g.overBay(1)))
					g.requireOpen(0, 1, 2, 3)
				} else {
					require.NoError(t, g.tryLiftAgain(refusedFirst, g.overBay(0)))
					require.NoError(t, g.tryLiftAgain(refusedSecond, g.overBay(1)))
				}
				for range 2 {
					g.requireOpen(0, 1, 2, 3)
					require.Empty(t, g.onRecord().InForce)
					g.restart()
				}
			}, withBays)
		})
	}
}

// tryLiftAgain lifts the hold unless that was done.
func (g *rig) tryLiftAgain(was error, over lanes.Scope) error {
	if was == nil {
		return nil
	}
	err := g.tryLift(over)
	synctest.Wait()
	return err
}

// What is put right is the hold and not only the answer: a lane that could not save its opening is opened by the next lift.
func TestALaneThatCouldNotBeOpenedIsOpenedByTheNextLift(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.hold(everywhere)
		g.store.hook(onlyWith(func(b store.Batch) bool { return !lifts(b) }, refuses))
		lifted := g.lift(everywhere)
		require.False(t, lifted.Saved)
		g.requireOpen()
		g.storeReturns()
		require.True(t, g.lift(everywhere).Saved)
		g.requireOpen(0)
	})
}
