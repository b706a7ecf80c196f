package actors

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// A purchase is sent within 5 s, or nothing was bought.

func TestAPurchaseWaitsForNoOtherEvent(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		pos.sells(accepts)
		release := pos.hold()
		var sessions []uuid.UUID
		for i := range testSlots + 1 {
			sessions = append(sessions, g.shop(i, 30)) // every slot is taken, and their lanes' events wait
		}
		require.Len(t, pos.kinds(), testSlots)
		for i := range testSlots + 1 {
			bought := time.Now()
			g.buys(i, minutes(15))
			require.Equal(t, lanes.Accepted, g.shown(i).Phase)
			require.Equal(t, bought, time.Now(), "at once")
			require.Equal(t, 45*time.Minute, g.left(sessions[i]))
		}
		require.Len(t, pos.purchases(), testSlots+1)
		release()
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.PurchaseRequest, lanes.SessionModified,
		}, g.happened(sessions[0]))
		require.Len(t, pos.kinds(), 4*(testSlots+1))
	}, withWebhook(pos), withLanes(testSlots+1))
}

func TestABusyShopSellsNothing(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		for i := range PurchaseSlots + 2 {
			g.shop(i, 30)
		}
		pos.sells(silent)
		for i := range PurchaseSlots {
			g.buys(i, minutes(15))
		}
		late := PurchaseSlots
		g.buys(late, minutes(15))
		g.pass(sendWithin - time.Millisecond)
		require.Equal(t, lanes.Pending, g.shown(late).Phase)
		g.pass(time.Millisecond)
		require.Equal(t, lanes.Declined, g.shown(late).Phase)
		require.Contains(t, g.shown(late).UserMessage, "busy")
		require.Len(t, pos.purchases(), PurchaseSlots)

		g.pass(time.Second)
		g.buys(late+1, minutes(15)) // and 4 s later the POS has kept the others waiting for long enough
		pos.sells(accepts)
		g.pass(4*time.Second - time.Millisecond)
		require.Equal(t, lanes.Pending, g.shown(late+1).Phase)
		g.pass(time.Millisecond)
		require.Equal(t, lanes.Accepted, g.shown(late+1).Phase)
		require.Len(t, pos.purchases(), PurchaseSlots+1)
		require.Len(t, g.Unresolved(), PurchaseSlots)
	}, withWebhook(pos), withLanes(PurchaseSlots+2))
}

// Everybody buys at once, and is served in turn.
func TestACrowdAtTheCounter(t *testing.T) {
	const crowd = 4 * PurchaseSlots
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		var inside, most atomic.Int64
		pos.sells(func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer inside.Add(-1)
			<-time.After(time.Second)
			return accepts(ctx, event)
		})
		for i := range crowd {
			g.shop(i, 30)
		}
		for i := range crowd {
			g.buys(i, minutes(15))
		}
		g.pass(sendWithin + time.Second)
		for i := range crowd {
			require.Equal(t, lanes.Accepted, g.shown(i).Phase)
			require.Equal(t, 45, g.Sessions()[i].Minutes)
		}
		require.EqualValues(t, PurchaseSlots, most.Load())
	}, withWebhook(pos), withLanes(crowd))
}

// catalogue says what its answer is to every purchase.
type catalogue func(ctx context.Context, session uuid.UUID, items []lanes.Item) string

func (c catalogue) Refusal(ctx context.Context, session uuid.UUID, items []lanes.Item) string {
	return c(ctx, session, items)
}

func TestWhatTheCatalogueDoesNotHaveIsNotAskedFor(t *testing.T) {
	pos := &inbox{}
	checks := catalogue(func(_ context.Context, _ uuid.UUID, items []lanes.Item) string {
		if items[0].Qty > 3 {
			return "There are 3 targets left."
		}
		return ""
	})
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 30)
		g.buys(0, targets(4))
		require.Equal(t, lanes.Declined, g.shown(0).Phase)
		require.Equal(t, "There are 3 targets left.", g.shown(0).UserMessage)
		require.Empty(t, pos.purchases())
		require.Empty(t, g.requests())
		g.buys(0, targets(3))
		require.Equal(t, lanes.Accepted, g.shown(0).Phase)
	}, withWebhook(pos), withCatalogue(checks))
}

// A catalogue that cannot say is no reason not to sell: the POS decides anyway. It holds up nobody else's purchases.
func TestASlowCatalogue(t *testing.T) {
	pos := &inbox{}
	var took time.Duration
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 30)
		g.shop(1, 30)
		for i, long := range []time.Duration{checkWithin, time.Hour} {
			took = long
			g.buys(0, targets(2))
			took = 0
			g.buys(1, targets(1))
			require.Equal(t, lanes.Pending, g.shown(0).Phase)
			require.Equal(t, lanes.Accepted, g.shown(1).Phase)
			g.pass(checkWithin - time.Millisecond)
			require.Len(t, pos.purchases(), 2*i+1)
			g.pass(time.Millisecond)
			require.Equal(t, lanes.Accepted, g.shown(0).Phase, "it was sent unchecked")
		}
	}, withWebhook(pos), withCatalogue(checking(&took)))
}

// One that does not even give up when it is told to costs the purchase its time to be sent.
func TestADeafCatalogue(t *testing.T) {
	pos := &inbox{}
	deaf := catalogue(func(context.Context, uuid.UUID, []lanes.Item) string {
		<-time.After(sendWithin)
		return "There are 3 targets left."
	})
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 30)
		g.buys(0, targets(4))
		g.pass(sendWithin)
		require.Equal(t, lanes.Declined, g.shown(0).Phase)
		require.Empty(t, pos.purchases())
	}, withWebhook(pos), withCatalogue(deaf))
}

func TestACatalogueThatPanics(t *testing.T) {
	pos := &inbox{}
	broken := catalogue(func(context.Context, uuid.UUID, []lanes.Item) string { panic(errDefect) })
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 30)
		g.buys(0, minutes(15))
		require.Equal(t, lanes.Accepted, g.shown(0).Phase)
		g.requireOnce(pos, 30)
	}, withWebhook(pos), withCatalogue(broken))
}

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
