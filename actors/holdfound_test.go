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

// A controller that comes up holding is released where a hold over it is known to have ended. Otherwise nobody knows why
// it holds, and only staff may say that it is over.

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
				g.pass(firstBackoff)
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

// The configuration takes a lane out of a bay that is held: that is not the end of a hold, whether or not its hardware
// still knows of one.
func TestALaneThatLeavesAHeldBayStaysHeld(t *testing.T) {
	for _, remembers := range []bool{true, false} {
		var hardware witness
		inFakeTime(t, func(t *testing.T, g *rig) {
			g.create(0, 30)
			g.hold(g.overBay(0))
			g.shutDown()
			g.settings.Layout.Lanes[0].Bay = g.settings.Layout.Bays[1].ID
			if !remembers {
				g.controller(0).PowerCut(true)
			}
			g.pass(time.Second)
			came := time.Now()
			g.start()
			g.pass(time.Second)
			g.requireHeld(0, 1)
			require.Equal(t, []lanes.Scope{g.overBay(0), g.overLane(0)}, g.inForce())
			requireOnlyHeld(t, hardware.told(g.lane(0), came))
			g.lift(g.overBay(0))
			g.requireHeld(0)
			g.lift(g.overLane(0))
			g.requireOpen(0)
		}, withBays, watchedBy(&hardware))
	}
}
