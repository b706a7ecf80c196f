package actors

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Purchases while the store is away.

// onlyWith lets the fault meet the flushes of such batches, and none before them. It stays from then on.
func onlyWith(such func(store.Batch) bool, fault flushHook) flushHook {
	met := false
	return func(ctx context.Context, batch store.Batch, flush func() error) error {
		if met = met || such(batch); met {
			return fault(ctx, batch, flush)
		}
		return flush()
	}
}

// asks is a batch that saves a purchase as sent, settles one that saves how it ended.
func asks(b store.Batch) bool {
	return holdsPurchase(b, func(e lanes.Logged) bool { return e.Attempt.Error == lanes.Interrupted })
}

func settles(b store.Batch) bool {
	return holdsPurchase(b, func(e lanes.Logged) bool { return e.Attempt.Error != lanes.Interrupted })
}

func holdsPurchase(b store.Batch, such func(lanes.Logged) bool) bool {
	for _, logged := range b.Events {
		if logged.Event.Kind == lanes.PurchaseRequest && such(logged) {
			return true
		}
	}
	return false
}

// Nothing goes out that is not saved.
func TestNothingIsSentWhileTheStoreIsAway(t *testing.T) {
	for name, outage := range map[string]flushHook{"it refuses": refuses, "it refuses after a while": refusesSlowly} {
		t.Run(name, func(t *testing.T) {
			pos := &inbox{}
			inFakeTime(t, func(t *testing.T, g *rig) {
				g.shop(0, 30)
				g.store.hook(onlyWith(asks, outage))
				g.buys(0, minutes(15))
				g.pass(time.Minute)
				require.Empty(t, pos.purchases())
				g.storeReturns()
				g.pass(time.Minute)
				require.Empty(t, pos.purchases())
				require.Equal(t, lanes.Declined, g.shown(0).Phase)
				require.Contains(t, g.shown(0).UserMessage, "busy")
				require.Empty(t, g.Unresolved())
				require.Equal(t, 30, g.Sessions()[0].Minutes)
				g.restart()
				require.Empty(t, g.Unresolved())
				require.Empty(t, pos.purchases())
			}, withWebhook(pos))
		})
	}
}

// What the POS has accepted is the customer's, however long it takes to save it; and once.
func TestAnAcceptedPurchaseIsSettledWhenTheStoreReturns(t *testing.T) {
	faults := map[string]flushHook{"answers are lost": losesAnswers, "it goes silent": goesSilent}
	for name, outage := range outages {
		faults[name] = outage
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			pos := &inbox{}
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.shop(0, 120)
				g.store.hook(onlyWith(settles, fault))
				g.buys(0, minutes(15))
				g.pass(10 * time.Minute)
				require.Len(t, pos.purchases(), 1)
				require.Equal(t, lanes.Pending, g.shown(0).Phase, "nobody is told what is not saved")
				g.storeReturns()
				g.pass(time.Minute)
				require.Equal(t, lanes.Accepted, g.shown(0).Phase)
				require.Equal(t, 135, g.Sessions()[0].Minutes)
				require.Equal(t, []lanes.Kind{
					lanes.SessionCreated, lanes.SessionStarted, lanes.PurchaseRequest, lanes.SessionModified,
				}, g.happened(session))
				require.Len(t, pos.purchases(), 1)
				g.restart()
				require.Equal(t, 135, g.Sessions()[0].Minutes)
				require.Empty(t, g.Unresolved())
			}, withWebhook(pos))
		})
	}
}

// The session may end while the store is away: then there is nothing to add the time to.
func TestASessionThatEndsBeforeItsPurchaseCouldBeSettled(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 5)
		g.store.hook(onlyWith(settles, refuses))
		purchase := g.buys(0, minutes(15))
		g.pass(10 * time.Minute)
		require.Empty(t, g.onBoard())
		require.Empty(t, g.Unresolved(), "what is not saved is not shown")
		g.storeReturns()
		g.pass(time.Minute)
		require.Equal(t, 5*time.Minute, g.ended(session).Used)
		require.Equal(t, []uuid.UUID{purchase}, g.unresolved())
		g.restart()
		require.Equal(t, []uuid.UUID{purchase}, g.unresolved())
	}, withWebhook(pos))
}

// But what was on its way to the store before the session ended counts, however long the store took.
func TestTimeThatWasOnItsWayToTheStoreWhenTheSessionWasDue(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 5)
		g.store.hook(onlyWith(settles, hangs))
		g.buys(0, minutes(15))
		g.pass(10 * time.Minute)
		require.False(t, g.open(0), "the time that is known is over")
		g.storeReturns()
		require.Equal(t, lanes.Accepted, g.shown(0).Phase)
		require.True(t, g.open(0))
		require.Equal(t, 10*time.Minute-8*time.Second, g.left(session))
		require.Empty(t, g.Unresolved())
	}, withWebhook(pos))
}
