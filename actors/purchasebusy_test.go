package actors

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
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
		g.pass(2 * time.Millisecond) // the others were told together
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
		g.purchasing.Range(func(purchase, _ any) bool {
			require.Fail(t, "nothing is kept of what is over", purchase)
			return true
		})
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
