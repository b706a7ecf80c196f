package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/link"
)

// A lane is shown as locked once its hardware has said so: it is what staff go by before anybody walks downrange.

// requireLocked wants the lanes with those numbers shown as locked, and no others, none of them open.
func (g *rig) requireLocked(numbers ...int) {
	g.Helper()
	var locked []uuid.UUID
	for i, status := range g.Lanes() {
		if status.Locked {
			locked = append(locked, status.ID)
			require.False(g, g.open(i), "lane %d is shown as locked and is open", i)
		}
	}
	require.Equal(g, g.theLanes(numbers...), locked)
}

func TestALaneIsLockedOnceItsHardwareSaysSo(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		for i := range 3 {
			g.create(i, 30)
		}
		g.requireLocked()
		g.controller(1).Stall(true)
		letBack := g.cutOff(2)
		g.hold(everywhere)
		g.requireLocked(0, 3)
		g.controller(1).Stall(false)
		synctest.Wait()
		g.requireLocked(0, 1, 3)
		letBack()
		g.requireLocked(0, 1, 2, 3)

		g.cutOff(0)
		g.requireLocked(1, 2, 3)
		g.lift(everywhere)
		g.requireLocked()
	}, withBays)
}

// An order to open that nobody has confirmed may be in force at any moment, whatever is ordered after it.
func TestALaneThatIsToldToOpenIsNotLocked(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		line := s.newest()
		confirms := func(state link.State) {
			line.to.Applied(state.Revision)
			synctest.Wait()
		}
		newest := func() link.State { return line.told()[len(line.told())-1] }
		g.create(0, 30)
		g.hold(everywhere)
		first := newest()
		g.requireLocked()
		confirms(first)
		g.requireLocked(0)
		g.lift(everywhere)
		g.requireLocked()
		confirms(first) // said before the order came
		g.requireLocked()
		g.hold(everywhere)
		confirms(first)
		g.requireLocked()
		confirms(newest())
		g.requireLocked(0)
	})
}

// What changes under a hold leaves the line locked.
func TestALockedLaneStaysSo(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.hold(everywhere)
		g.controller(0).Stall(true)
		g.modify(session, 5)
		g.requireLocked(0, 1)
		g.stop(session)
		g.requireLocked(0, 1)
		g.hold(g.overLane(0))
		g.lift(everywhere)
		g.requireLocked(0)
	})
}

// A lane that starts again knows nothing of its hardware until it has said so anew.
func TestALaneThatPanicsIsLockedWhenItsHardwareSaysSoAgain(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		confirm := func() {
			line := s.newest()
			line.to.Applied(uint64(len(line.told())))
			synctest.Wait()
		}
		locked := func() bool { return g.Lanes()[0].Locked }
		g.hold(everywhere)
		require.False(t, locked())
		confirm()
		require.True(t, locked())
		first := s.newest()
		g.crash(0)
		g.pass(time.Second)
		require.NotSame(t, first, s.newest())
		first.to.Applied(uint64(len(first.told())))
		synctest.Wait()
		require.False(t, locked())
		confirm()
		require.True(t, locked())

		for range 2 * maxPanics { // parked, and held
			g.crash(0)
		}
		g.pass(time.Second)
		require.False(t, locked())
		confirm()
		require.True(t, locked())
	})
}

// The driver panics, and the connection is made anew by the same actor, whose states count from 1 again. What the controller
// still says over the line of before confirms nothing.
func TestAConfirmationOverALineOfBeforeAPanicIsNone(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		before := s.newest()
		before.defect = true
		g.create(0, 30)
		g.pass(lastBackoff)
		now := s.newest()
		require.NotSame(t, before, now)
		g.hold(everywhere)
		told := now.told()
		require.True(t, told[len(told)-1].Hold)
		before.to.Applied(told[len(told)-1].Revision)
		synctest.Wait()
		g.requireLocked()
		now.to.Applied(told[len(told)-1].Revision)
		synctest.Wait()
		require.True(t, g.Lanes()[0].Locked)
	})
}
