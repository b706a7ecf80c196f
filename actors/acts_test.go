package actors

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// The record of what staff did, whatever becomes of the store meanwhile.

func TestAnActIsSavedWithWhatItChanged(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.store.hook(refuses)
		_, err := g.StaffOn(g.request(), "sam", session, lanes.Modify{Session: session, Minutes: 5})
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		require.ErrorIs(t, g.StaffLane(g.request(), "sam", g.lane(1), lanes.Offer{Sale: lanes.OffSale}), lanes.ErrStoreUnavailable)
		g.storeReturns()
		require.Empty(t, g.acts())
		require.True(t, g.Lanes()[1].Lane.ForSale())
	})
}

// A closing is in force before it is saved, and its record is saved with it, whatever comes between.
func TestAClosingThatStandsKeepsItsAct(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				stopped, paused := g.create(0, 30), g.create(1, 30)
				g.store.hook(outage)
				at := g.clock.Now().Wall
				stop := lanes.Stop{Session: stopped, By: lanes.ByStaff}
				require.ErrorIs(t, g.answerOf(g.begin(func() error {
					_, err := g.StaffOn(t.Context(), "sam", stopped, stop)
					return err
				}), time.Second), lanes.ErrNotSaved)
				_, err := g.StaffOn(t.Context(), "sam", stopped, stop)
				require.ErrorIs(t, err, lanes.ErrNotSaved, "repeating is safe")
				require.ErrorIs(t, g.answerOf(g.begin(func() error {
					_, err := g.StaffOn(t.Context(), "kim", paused, lanes.Pause{Session: paused})
					return err
				}), time.Second), lanes.ErrNotSaved)
				g.pass(time.Minute)
				g.crash(0)
				g.storeReturns()
				g.restart()
				require.Equal(t, []string{"stop ", "pause "}, g.did())
				require.Equal(t, at, g.acts()[0].At)
				require.Equal(t, stopped, g.acts()[0].Session)
				require.Equal(t, "kim", g.acts()[1].Who)
			})
		})
	}
}

func TestWhoSetAHoldAndWhoLiftedIt(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.lift(everywhere)
		g.hold(everywhere)
		g.hold(everywhere)
		g.hold(g.overBay(1))
		g.hold(g.overLane(2))
		g.lift(everywhere)
		g.lift(g.overLane(2))
		require.Equal(t, []string{"hold range", "hold bay Bay B", "hold lane", "lift range", "lift lane"}, g.did())
		for _, act := range g.acts() {
			require.Equal(t, map[string]string{"hold": "sam", "lift": "kim"}[act.What], act.Who)
			if act.Detail == "lane" {
				require.Equal(t, g.lane(2), act.Lane)
			} else {
				require.Equal(t, uuid.Nil, act.Lane)
			}
			require.Equal(t, uuid.Nil, act.Session)
		}
	}, withBays)
}

// A hold that crosses the end of an earlier one wins, and was somebody's doing.
func TestAHoldThatCrossesItsLiftIsOnRecord(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.hold(everywhere)
		release := g.holdFlushes()
		lifted := g.begin(func() error { return g.tryLift(everywhere) })
		again := g.beginHold(everywhere)
		release()
		require.ErrorIs(t, g.answerOf(lifted, 0), lanes.ErrCeasefire)
		g.answered(again)
		require.Equal(t, []string{"hold range", "lift range", "hold range"}, g.did())
		g.lift(everywhere)
		g.hold(everywhere)
		g.hold(everywhere)
		require.Len(t, g.acts(), 5, "and no more than that")
	})
}

func TestALiftThatIsNotSavedIsNotOnRecord(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.hold(everywhere)
		g.store.hook(refuses)
		require.ErrorIs(t, g.tryLift(everywhere), lanes.ErrStoreUnavailable)
		g.hold(g.overLane(0))
		g.storeReturns()
		require.Equal(t, []string{"hold range", "hold lane"}, g.did(), "a hold stands")
		g.requireHeld(0, 1)
	})
}

// Nobody set the hold that a controller is found with. Who lifts it is known.
func TestAHoldThatAControllerWasFoundWithIsNobodysDoing(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.hold(everywhere)
		g.shutDown()
		g.path += ".new" // a store that knows nothing
		g.start()
		g.pass(time.Second)
		require.Len(t, g.inForce(), 2)
		require.Empty(t, g.acts())
		g.lift(g.overLane(0))
		require.Equal(t, []string{"lift lane"}, g.did())
	})
}

func TestWhoSettledAPurchase(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		pos.sells(silent)
		first := g.buys(0, minutes(15))
		g.pass(patience)
		second := g.buys(0, targets(1))
		g.pass(patience)
		require.NoError(t, g.Clear(g.request(), "sam", first, true))
		g.stop(session)
		require.NoError(t, g.Clear(g.request(), "kim", second, false))
		require.ErrorIs(t, g.Clear(g.request(), "kim", second, false), lanes.ErrPurchaseNotFound)
		require.Equal(t, []string{"settle credit", "settle drop"}, g.did())
		for i, who := range []string{"sam", "kim"} {
			act := g.acts()[i]
			require.Equal(t, []any{who, g.lane(0), session}, []any{act.Who, act.Lane, act.Session})
		}
	}, withWebhook(pos))
}

func TestActsGoOnAfterARestartAndAfterALoss(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.staffBook(0, 30)
		g.restart()
		g.staffOn(session, lanes.Enter{Session: session})
		g.pass(2 * time.Minute)
		g.staffOn(session, lanes.Modify{Session: session, Minutes: 5})
		g.stop(session)
		before := g.acts()
		require.Len(t, before, 3)
		event, ended, act := g.Latest(t.Context())
		require.Equal(t, []uint64{uint64(len(g.eventLog())), 1, 3}, []uint64{event, ended, act})

		g.wipeStore()
		g.noticeLoss()
		require.Equal(t, before[2:], g.acts(), "what staff did of late is there again")
		g.staffBook(1, 30)
		require.Equal(t, uint64(4), g.acts()[1].Cursor)
		last, err := g.Acts(t.Context(), 3, 10)
		require.NoError(t, err)
		require.Equal(t, g.acts()[1:], last)

		g.restart()
		g.wipeStore()
		g.noticeLoss()
		g.restart()
		g.staffLane(1, lanes.Offer{Sale: lanes.OffSale})
		require.Equal(t, uint64(5), g.acts()[0].Cursor, "no cursor is given twice")
	})
}
