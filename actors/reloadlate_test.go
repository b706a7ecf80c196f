package actors

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// another is a second range of the rig's gateway, which runs.
func (g *rig) another(webhook Webhook) (*Range, Settings) {
	g.Helper()
	other := g.settings
	other.Layout.Range, other.Layout.Lanes, other.Webhook = uuid.New(), places(3), webhook
	require.NoError(g, g.gateway.Reload(g.Context(), Reload{Begin: []Settings{other}}))
	synctest.Wait()
	r, err := g.gateway.Range(other.Layout.Range)
	require.NoError(g, err)
	return r, other
}

// A hold is set while the reload waits for a busy lane, after it had looked at the holds. Whatever the new configuration does
// to what it was set over, no lane slips out from under it, also where an earlier one is known to have ended, and none is
// left over nothing.
func TestAHoldThatIsSetDuringAReloadLosesNoLane(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(2, 30)
		g.hold(everywhere)
		g.lift(everywhere)
		bay := g.overBay(1)
		before := slices.Clone(g.settings.Layout.Lanes)
		var busy chan struct{}
		g.store.hook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if len(batch.Acts) > 0 && busy == nil { // the lane that leaves is being closed for sale
				busy = make(chan struct{})
				<-busy
			}
			return flush()
		})
		go func() { _ = g.StaffLane(g.request(), "sam", before[3].ID, lanes.Offer{Sale: lanes.OffSale}) }()
		synctest.Wait()
		reloaded := make(chan error, 1)
		go func() {
			to := g.settings // lane 2 goes to the other bay, lane 3 leaves, and so does their bay
			to.Layout.Bays = to.Layout.Bays[:1]
			to.Layout.Lanes = slices.Clone(before[:3])
			to.Layout.Lanes[2].Bay = to.Layout.Bays[0].ID
			reloaded <- g.gateway.Reload(g.Context(), Reload{Change: []Changed{{Settings: to}}, Who: "operator"})
		}()
		synctest.Wait()
		held := g.beginHold(bay)
		synctest.Wait()
		close(busy)
		require.NoError(t, <-reloaded)
		<-held
		g.pass(2 * time.Second)

		require.False(t, g.open(2))
		status := g.Lanes()[2]
		require.True(t, status.Lane.Held)
		require.True(t, status.Locked)
		require.Equal(t, lanes.Paused, status.Lane.Session.Phase)
		require.Equal(t, []lanes.Scope{{Kind: lanes.OverLane, ID: before[2].ID}}, g.inForce(), "a hold over nothing could not be lifted")
		require.Equal(t, "sam", g.Holds().InForce[0].Who)
		g.lift(lanes.Scope{Kind: lanes.OverLane, ID: before[2].ID})
		require.True(t, g.open(2))
		require.Equal(t, session, g.Lanes()[2].Lane.Session.ID)
	}, withBays)
}

// Nothing that was sold at a range, and none of its events, is left over in the store when it is taken away by force: the
// next start would find it in use, and refuse.
func TestARangeThatIsTakenAwayLeavesNothingToDo(t *testing.T) {
	hanging := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := hanging.hold()
		defer release()
		r, other := g.another(hanging)
		_, err := r.Create(g.request(), other.Layout.Lanes[2].ID, g.sale(30), nil)
		require.NoError(t, err)
		end := Reload{End: []uuid.UUID{other.Layout.Range}, Who: "operator"}
		require.ErrorIs(t, g.gateway.Reload(g.Context(), end), ErrInUse)
		require.True(t, g.gateway.Ready(2))

		end.Force = true
		require.NoError(t, g.gateway.Reload(g.Context(), end))
		saved, err := g.store.Load(g.Context(), other.Layout.Range)
		require.NoError(t, err)
		require.Empty(t, saved.Pending)
		log, err := g.store.Events(g.Context(), other.Layout.Range, 0, 100)
		require.NoError(t, err)
		var became []string
		for _, event := range log {
			became = append(became, string(event.Event.Kind)+" "+event.Attempt.Outcome())
		}
		require.Equal(t, []string{"sessionCreated interrupted", "sessionStarted dropped", "sessionStopped dropped"}, became)
	})
}

// The last event of a range may just have happened. A receiver that answers gets it.
func TestARangeThatIsTakenAwayDeliversWhatJustHappened(t *testing.T) {
	slow := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		slow.answers(func(_ context.Context, event lanes.Event) lanes.Attempt {
			time.Sleep(100 * time.Millisecond)
			return lanes.Attempt{At: event.At, Status: 200}
		})
		r, other := g.another(slow)
		sold, err := r.Create(g.request(), other.Layout.Lanes[2].ID, g.sale(30), nil)
		require.NoError(t, err)
		g.pass(time.Second)
		_, err = r.On(g.request(), sold.ID, lanes.Pause{Session: sold.ID}, nil)
		require.NoError(t, err)
		require.NoError(t, g.gateway.Reload(g.Context(), Reload{End: []uuid.UUID{other.Layout.Range}, Force: true, Who: "operator"}))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionStopped}, slow.kinds())
	})
}

// Another gateway has claimed the range: its operator takes it out here, whatever is on it there.
func TestARangeThatAnotherGatewayHasIsTakenAway(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.claimElsewhere()
		g.pass(checkpointEvery)
		_, err := g.gateway.Range(g.settings.Layout.Range)
		require.Equal(t, lanes.ErrNotOwner, err)
		require.NoError(t, g.gateway.Reload(g.Context(), Reload{End: []uuid.UUID{g.settings.Layout.Range}}))
		_, err = g.gateway.Range(g.settings.Layout.Range)
		require.Equal(t, lanes.ErrStarting, err)
		require.True(t, g.gateway.Ready(0))
	})
}

// The store hangs while a range goes: the range is gone all the same, and whoever asked knows that it is.
func TestWhatDoesNotEndInTimeTurnsNothingBack(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		_, other := g.another(nil)
		back := make(chan struct{})
		g.store.hook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if batch.Range == other.Layout.Range {
				<-back
				return errors.New("the disk is gone")
			}
			return flush()
		})
		err := g.gateway.Reload(g.Context(), Reload{End: []uuid.UUID{other.Layout.Range}})
		require.ErrorIs(t, err, ErrUnfinished)
		require.True(t, g.gateway.Ready(1))
		g.store.hook(nil)
		close(back)
		g.pass(time.Minute)
		_, _ = g.another(nil)
		require.True(t, g.gateway.Ready(2))
	})
}

// The links are made anew just as a ceasefire is called: it reaches each lane by its new link.
func TestAHoldReachesALaneWhoseLinkIsMadeAnew(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		for i := range 4 {
			g.create(i, 30)
		}
		renewed := make(chan error, 1)
		go func() {
			renewed <- g.gateway.Reload(g.Context(), Reload{Change: []Changed{{Settings: g.settings, Renew: g.theLanes(0, 1, 2, 3)}}})
		}()
		held := g.beginHold(everywhere)
		require.NoError(t, <-renewed)
		<-held
		g.pass(time.Second)
		g.requireHeld(0, 1, 2, 3)
		g.requireLocked(0, 1, 2, 3)
		g.lift(everywhere)
		g.requireOpen(0, 1, 2, 3)
	}, withBays)
}

// A controller that comes back holding may be heard of when its lane has just left: nobody has to decide about it any more.
func TestAControllerThatHoldsAtALaneThatHasLeft(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		gone := g.lane(3)
		require.NoError(t, g.reload(false, func(s *Settings) { s.Layout.Lanes = s.Layout.Lanes[:3] }))
		g.sendRoot(&controllerHolds{gone})
		g.pass(time.Second)
		require.Zero(t, g.metric("rangegate_actor_restarts_total", "range"))
		require.Empty(t, g.inForce(), "nobody could lift it")
	}, withBays)
}
