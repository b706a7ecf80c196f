package actors

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// What a controller that comes up is told of holds, and what one that comes up holding comes to: it is released where a
// hold over it is known to have ended. Otherwise nobody knows why it holds, and only staff may say that it is over.

// stubborn is hardware that comes up holding on its own.
type stubborn struct {
	link.Driver
	holds atomic.Bool
}

func (s *stubborn) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	connection, hello, err := s.Driver.Dial(ctx, lane, to)
	hello.Hold = hello.Hold || s.holds.Load()
	return connection, hello, err
}

// watchedStubborn puts both between the range and its simulated hardware.
func watchedStubborn(s *stubborn, w *witness) option {
	return func(g *rig) {
		watchedBy(w)(g)
		s.Driver = w
		g.settings.Driver = s
	}
}

// reconnects breaks the link of the i-th lane, and comes back when it is there again.
func (g *rig) reconnects(i int) {
	g.Helper()
	g.controller(i).Cut(errNoAnswer)
	g.pass(lastBackOff)
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
			g.pass(lastBackOff)
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

func TestAControllerThatHoldsAndNobodyKnowsWhy(t *testing.T) {
	var hardware witness
	var willful stubborn
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.hold(g.overBay(1)) // the end of a hold over others says nothing of this one
		g.lift(g.overBay(1))
		g.pass(time.Minute)
		willful.holds.Store(true)
		came := time.Now()
		g.reconnects(0)
		willful.holds.Store(false)
		found := g.Holds().InForce
		require.Len(t, found, 1)
		require.Equal(t, g.overLane(0), found[0].Scope)
		require.Equal(t, "controller", found[0].Who)
		g.requireHeld(0)
		requireOnlyHeld(t, hardware.told(g.lane(0), came))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused}, g.happened(session))
		left := g.left(session)

		g.pass(time.Minute)
		g.reconnects(0)
		g.restart()
		g.pass(time.Minute)
		g.requireHeld(0)
		require.Equal(t, found[0].Scope, g.inForce()[0])
		require.Equal(t, left, g.left(session))
		g.lift(everywhere)
		g.requireHeld(0)
		require.True(t, g.lift(g.overLane(0)).Saved)
		g.requireHeld()
		g.requireOpen(0)

		willful.holds.Store(true)
		g.reconnects(0)
		g.requireHeld()
		require.Empty(t, g.inForce(), "its end is known now")
	}, withBays, watchedStubborn(&willful, &hardware))
}

// A lane that is busy, or whose state is not known yet, leaves it held as well.
func TestAControllerThatHoldsIsLeftHeldWhileItsLaneIsBusy(t *testing.T) {
	for name, begin := range map[string]func(*rig) <-chan error{
		"a session is being sold": func(g *rig) <-chan error {
			return g.begin(func() error { return g.tryCreate(0, 30) })
		},
		"the lane is being brought back": func(g *rig) <-chan error {
			sold := g.begin(func() error { return g.tryCreate(0, 30) })
			g.crash(0)
			return sold
		},
	} {
		t.Run(name, func(t *testing.T) {
			var hardware witness
			var willful stubborn
			inFakeTime(t, func(t *testing.T, g *rig) {
				g.pass(time.Millisecond)
				release := g.holdFlushes()
				sold := begin(g)
				willful.holds.Store(true)
				came := time.Now()
				g.controller(0).Cut(errNoAnswer)
				g.pass(firstBackOff)
				require.Equal(t, []lanes.Scope{g.overLane(0)}, g.inForce())
				release()
				<-sold
				g.pass(time.Second)
				g.requireHeld(0)
				requireOnlyHeld(t, hardware.told(g.lane(0), came))
				require.Len(t, g.onBoard(), 1)
			}, watchedStubborn(&willful, &hardware))
		})
	}
}

// The store lost everything while the gateway was down: only the hardware still knows of the hold.
func TestAHoldThatOnlyTheHardwareRemembers(t *testing.T) {
	var hardware witness
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.hold(g.overBay(0))
		g.shutDown()
		require.NoError(t, os.Remove(g.path))
		g.pass(time.Second)
		came := time.Now()
		g.start()
		g.requireHeld(0, 1)
		require.ElementsMatch(t, []lanes.Scope{g.overLane(0), g.overLane(1)}, g.inForce())
		requireOnlyHeld(t, hardware.told(g.lane(0), came))
		require.True(t, g.onRecord().Has(g.overLane(0)))
		g.create(0, 30)
		g.requireOpen()
		g.lift(g.overLane(0))
		g.requireOpen(0)
		g.requireHeld(1)
	}, withBays, watchedBy(&hardware))
}

// What staff do to the session meanwhile waits for no decision, and is none.
func TestAControllerThatHoldsIsNotReleasedByAStop(t *testing.T) {
	var hardware witness
	var willful stubborn
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(time.Second)
		willful.holds.Store(true)
		came := time.Now()
		g.reconnects(0)
		g.stop(session)
		synctest.Wait()
		requireOnlyHeld(t, hardware.told(g.lane(0), came))
		g.create(0, 30)
		g.requireOpen()
		g.lift(g.overLane(0))
		g.requireOpen(0)
	}, watchedStubborn(&willful, &hardware))
}
