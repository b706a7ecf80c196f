package actors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What a controller that comes up is told of holds: also of one that has ended meanwhile.

// reconnects breaks the link of the i-th lane, and comes back when it is there again.
func (g *rig) reconnects(i int) {
	g.Helper()
	g.controller(i).Cut(errNoAnswer)
	g.pass(lastBackoff)
	require.Equal(g, lanes.LinkUp, g.Lanes()[i].Link)
}

// requireOnlyHeld wants the lane's hardware to have been told since then, and nothing but to hold.
func requireOnlyHeld(t *testing.T, told []toldState) {
	t.Helper()
	require.NotEmpty(t, told)
	for _, state := range told {
		require.True(t, state.state.Hold)
	}
}

func TestALinkThatComesUpUnderAHoldIsToldSo(t *testing.T) {
	var hardware witness
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		letBack := g.cutOff(0)
		g.pass(time.Second)
		require.Equal(t, g.theLanes(0), g.hold(everywhere).NotReached)
		require.True(t, g.open(0), "it cannot know")
		back := time.Now()
		letBack()
		g.requireHeld(0, 1)
		requireOnlyHeld(t, hardware.told(g.lane(0), back))
		require.Equal(t, 30*time.Minute-time.Second, g.controller(0).Shown().Remaining)

		for _, breaks := range []func(){
			func() { g.controller(0).Cut(errNoAnswer) },
			func() { g.controller(0).PowerCut(true) },
		} {
			g.pass(time.Second)
			broken := time.Now()
			breaks()
			g.pass(lastBackoff)
			g.requireHeld(0, 1)
			requireOnlyHeld(t, hardware.told(g.lane(0), broken))
		}
		require.Equal(t, []lanes.Scope{everywhere}, g.inForce())
		require.Equal(t, 30*time.Minute-time.Second, g.left(session))
	}, watchedBy(&hardware))
}

func TestAControllerThatMissedTheEndOfAHoldIsReleased(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		for _, over := range []lanes.Scope{everywhere, g.overBay(0), g.overLane(0)} {
			g.hold(over)
			letBack := g.cutOff(0)
			require.Equal(t, g.theLanes(0), g.lift(over).NotReached)
			require.True(t, g.controller(0).Shown().Hold, "it cannot know")
			letBack()
			g.requireHeld()
			g.requireOpen(0)
			require.Empty(t, g.inForce())
		}
		g.hold(everywhere) // and over a restart
		g.cutOff(0)
		g.lift(everywhere)
		g.shutDown()
		g.controller(0).Refuse(false)
		g.start()
		g.requireHeld()
		g.requireOpen(0)
	}, withBays)
}

func TestAControllerThatMissedTheEndOfOneOfTwoHoldsStaysHeld(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.hold(everywhere)
		g.hold(g.overBay(0))
		letBack := g.cutOff(0)
		g.lift(everywhere)
		letBack()
		g.requireHeld(0, 1)
		require.Equal(t, []lanes.Scope{g.overBay(0)}, g.inForce())
	}, withBays)
}
