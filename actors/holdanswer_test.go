package actors

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What is said of a hold within two seconds: how far it has come on each lane, and whether it is saved.

const promised = 2 * time.Second

// answered waits for the answer to a hold, which has to come in time.
func (g *rig) answered(answer <-chan lanes.Reached) lanes.Reached {
	g.Helper()
	select {
	case reached, answered := <-answer:
		require.True(g, answered, "no error")
		return reached
	case <-time.After(promised):
		require.FailNow(g, "no answer within 2 s")
		return lanes.Reached{}
	}
}

func TestAHoldSaysHowFarItHasCome(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		for i := range 4 {
			g.create(i, 30)
		}
		g.controller(1).Stall(true)
		letBack := g.cutOff(3)
		reached := g.answered(g.beginHold(everywhere))
		require.Equal(t, lanes.Reached{
			Confirmed: g.theLanes(0, 2), Sent: g.theLanes(1), NotReached: g.theLanes(3), Saved: true,
		}, reached)
		g.requireOpen(1, 3)

		g.controller(1).Stall(false)
		g.pass(0)
		g.requireOpen(3)
		require.Equal(t, g.theLanes(0, 1, 2), g.answered(g.beginHold(everywhere)).Confirmed, "asked again, it is known")
		letBack()
		g.requireOpen()
		g.requireHeld(0, 1, 2, 3)

		g.controller(1).Stall(true)
		g.cutOff(3)
		lifted := g.lift(everywhere)
		require.Equal(t, reached, lifted)
		g.requireOpen(0, 2)
	}, withBays)
}

// What was in force before the newest state says nothing: that may be on its way.
func TestAHoldIsConfirmedByTheNewestStateOnly(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.hold(everywhere)
		g.controller(0).Stall(true)
		require.Equal(t, g.theLanes(0), g.lift(everywhere).Sent)
		require.True(t, g.controller(0).Shown().Hold, "still")
		require.Equal(t, lanes.Reached{Confirmed: g.theLanes(1), Sent: g.theLanes(0), Saved: true}, g.hold(everywhere))
		g.controller(0).Stall(false)
		g.pass(0)
		g.requireHeld(0, 1)
	})
}

// Only those that have not answered are waited for.
func TestAHoldIsAnsweredAsSoonAsEverythingIsKnown(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.cutOff(0)
		asked := time.Now()
		require.True(t, g.hold(everywhere).Saved)
		require.True(t, g.lift(everywhere).Saved)
		require.Equal(t, asked, time.Now(), "a link that is down is not waited for")
		g.controller(1).Stall(true)
		time.AfterFunc(time.Second, func() { g.controller(1).Stall(false) })
		require.Equal(t, g.theLanes(1), g.hold(everywhere).Confirmed)
		require.Equal(t, asked.Add(time.Second), time.Now())
	})
}

func TestAHoldOverNoLaneIsKept(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.settings.Layout.Bays = []lanes.Bay{{ID: g.group, Name: "Bay without lanes"}}
		require.Equal(t, lanes.Reached{Saved: true}, g.hold(g.overBay(0)))
		g.restart()
		require.Equal(t, []lanes.Scope{g.overBay(0)}, g.inForce())
		require.Equal(t, lanes.Reached{Saved: true}, g.lift(g.overBay(0)))
		require.Empty(t, g.inForce())
	})
}

func TestAHoldIsInForceWhileTheStoreIsAway(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				g.pass(10 * time.Minute)
				g.store.hook(outage)
				answer := g.beginHold(everywhere)
				g.requireOpen()
				reached := g.answered(answer)
				require.Equal(t, lanes.Reached{Confirmed: g.theLanes(0, 1)}, reached, "and it is not saved")
				g.pass(time.Minute)
				g.requireHeld(0, 1)
				require.False(t, g.answered(g.beginHold(everywhere)).Saved)
				require.Equal(t, []lanes.Scope{everywhere}, g.inForce())

				g.storeReturns()
				require.Equal(t, []lanes.Scope{everywhere}, []lanes.Scope{g.onRecord().InForce[0].Scope})
				require.True(t, g.answered(g.beginHold(everywhere)).Saved)
				g.restart()
				g.requireHeld(0, 1)
				require.Equal(t, 20*time.Minute, g.left(session), "paused as of when that was asked")
				g.lift(everywhere)
				g.requireOpen(0)
				require.Equal(t, []lanes.Kind{
					lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed,
				}, g.happened(session))
			})
		})
	}
}

func TestAHoldDoesNotWaitForALaneThatIsBusy(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var hardware witness
			inFakeTime(t, func(t *testing.T, g *rig) {
				begun, running := time.Now(), g.create(1, 30)
				resolve := g.hangOnce(resolution.end)
				sale := g.sale(30)
				sold := g.begin(func() error {
					_, err := g.Create(t.Context(), g.lane(0), sale, nil)
					return err
				})
				answer := g.beginHold(everywhere)
				g.requireOpen()
				require.Equal(t, lanes.Reached{Confirmed: g.theLanes(0, 1)}, g.answered(answer))
				resolve()
				if err := g.answerOf(sold, 0); resolution.written {
					require.NoError(t, err)
					require.Equal(t, 30*time.Minute, g.left(sale.Session))
				} else {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
				}
				g.storeReturns()
				g.requireHeld(0, 1)
				require.False(t, hardware.opened(g.lane(0), begun))
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused}, g.happened(running))
				g.restart()
				g.requireHeld(0, 1)
			}, watchedBy(&hardware))
		})
	}
}

// Whoever asked may be gone: what was asked for is done.
func TestAHoldStandsAlthoughNobodyWaitsForIt(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = g.Hold(gone, everywhere, "sam")
		g.pass(0)
		g.requireHeld(0, 1)
		g.restart()
		g.requireHeld(0, 1)
	})
}
