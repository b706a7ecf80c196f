package actors

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What customers, the POS and staff do in stories about purchases.

func withCatalogue(c Catalogue) option { return func(g *rig) { g.settings.Catalogue = c } }

func minutes(n int) lanes.Item { return lanes.Item{ID: lanes.TimeItem, Qty: n} }
func targets(n int) lanes.Item { return lanes.Item{ID: "targets", Qty: n} }

// shop sells minutes on the i-th lane, which run at once, to a customer who may buy more there.
func (g *rig) shop(i, minutes int) uuid.UUID {
	g.Helper()
	sale := g.sale(minutes)
	sale.Purchasing = true
	return g.sell(i, sale)
}

// buys is the customer at the i-th lane buying something. It comes back when everything is at rest.
func (g *rig) buys(i int, items ...lanes.Item) uuid.UUID {
	g.Helper()
	purchase := uuid.New()
	g.buysAs(purchase, i, items...)
	return purchase
}

func (g *rig) buysAs(purchase uuid.UUID, i int, items ...lanes.Item) {
	g.Helper()
	require.NoError(g, g.controller(i).Buy(purchase, items...))
	synctest.Wait()
}

// shown is the purchase that the customer at the i-th lane sees.
func (g *rig) shown(i int) lanes.Purchase {
	g.Helper()
	p := g.controller(i).Shown().Purchase
	require.NotNil(g, p, "the customer sees a purchase")
	return *p
}

// unresolved is the purchases that wait for staff.
func (g *rig) unresolved() (ids []uuid.UUID) {
	for _, p := range g.Unresolved() {
		ids = append(ids, p.ID)
	}
	return ids
}

// moves takes the session to the i-th lane. It comes back when the hardware has heard of it.
func (g *rig) moves(session uuid.UUID, i int) {
	g.Helper()
	require.NoError(g, g.tryMove(session, i))
	synctest.Wait()
}

// requests is the purchases in the event log.
func (g *rig) requests() (log []lanes.Logged) {
	g.Helper()
	for _, logged := range g.eventLog() {
		if logged.Event.Kind == lanes.PurchaseRequest {
			log = append(log, logged)
		}
	}
	return log
}

// counter is how the POS answers a purchase.
type counter func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer)

// sells says how purchases are answered from now on; other events are answered as before.
func (i *inbox) sells(as counter) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.counter = as
}

// purchases is those that arrived, in order.
func (i *inbox) purchases() (events []lanes.Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, event := range i.arrived {
		if event.Kind == lanes.PurchaseRequest {
			events = append(events, event)
		}
	}
	return events
}

// accepts sells whatever is asked for.
func accepts(_ context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	return lanes.Attempt{At: event.At, Status: 200}, lanes.Answer{Trace: "trace-1"}
}

// declines sells nothing, in these words.
func declines(words string) counter {
	return func(_ context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
		return lanes.Attempt{At: event.At, Status: 402, Error: lanes.Refused + ": status 402"},
			lanes.Answer{UserMessage: words, Error: "card declined", Trace: "trace-1"}
	}
}

// failing is an attempt that came to no answer.
func failing(attempt lanes.Attempt) counter {
	return func(context.Context, lanes.Event) (lanes.Attempt, lanes.Answer) { return attempt, lanes.Answer{} }
}

const patience = 10 * time.Second // of the webhook with the POS

// silent never answers.
func silent(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	select {
	case <-time.After(patience):
		return lanes.Attempt{At: event.At, Error: lanes.TimedOut + ": after 10s", Duration: patience}, lanes.Answer{}
	case <-ctx.Done():
		return lanes.Attempt{At: event.At, Error: lanes.Interrupted}, lanes.Answer{}
	}
}

// thinks lets purchases wait for their answer until it is given.
func (i *inbox) thinks(answer counter) (give func()) {
	given := make(chan struct{})
	i.sells(func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
		select {
		case <-given:
			return answer(ctx, event)
		case <-ctx.Done():
			return lanes.Attempt{At: event.At, Error: lanes.Interrupted}, lanes.Answer{}
		}
	})
	return func() {
		close(given)
		synctest.Wait()
	}
}
