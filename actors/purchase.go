package actors

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// A purchase runs once, in a goroutine of its own that outlives a panic of its lane:
//
//	check    against the catalogue, as far as that can be reached
//	slot     one of those kept for purchases, so that it waits for no other event
//	request  saved as sent, together with its event
//	send     the one attempt
//	settle   what it came to, in one write with the time it adds and the outcome of the event
//
// What cannot be sent within sendWithin bought nothing: the shop is busy. What a crash interrupts before it
// was requested goes on afterwards, if there is time left; after that nobody knows what the integrator
// decided.
const (
	sendWithin  = 5 * time.Second
	checkWithin = 2 * time.Second
	settleRetry = time.Second // before an end that could not be saved is tried again
)

// Catalogue says what can be bought.
type Catalogue interface {
	// Check returns what the items are called and cost, and why they cannot be bought, in words for the
	// customer. That is empty when they can, and when nobody can tell; then goods are nil. It returns before
	// ctx ends.
	Check(ctx context.Context, session uuid.UUID, items []lanes.Item) (goods []lanes.Good, refusal string)
}

// startPurchases runs the pending purchases of the lane, each once.
func (r *Range) startPurchases(lane lanes.Lane) {
	for _, p := range lane.Purchases() {
		if p.Phase != lanes.Pending {
			continue
		}
		key := [2]uuid.UUID{p.Session, p.ID} // ids are the lanes' own
		if _, running := r.purchasing.LoadOrStore(key, struct{}{}); running {
			continue
		}
		r.background.Go(func() {
			defer r.purchasing.Delete(key)
			for p != nil && p.Phase == lanes.Pending && !r.runPurchase(p) {
				if !r.sleep(settleRetry) {
					return
				}
				_, p = r.board.FindPurchase(p)
			}
		})
	}
}

// runPurchase takes the purchase through all its steps. It returns false when it panicked.
func (r *Range) runPurchase(p *lanes.Purchase) (ended bool) {
	defer func() {
		if defect := recover(); defect != nil {
			r.purchaseLine(r.log.Error(), p).Str("panic", fmt.Sprint(defect)).Bytes("stack", debug.Stack()).Msg("a purchase panicked")
		}
	}()
	r.sell(p)
	return true
}

// sell sends the purchase to the integrator and settles it. It keeps its slot until then: a stop waits a
// moment for that.
func (r *Range) sell(p *lanes.Purchase) {
	if p.Event != uuid.Nil { // a crash interrupted it
		r.delivery.Abandon(p.Event)
		r.settlePurchase(p, lanes.Verdict(lanes.Attempt{Error: lanes.Interrupted}, lanes.Answer{}), nil)
		return
	}
	if _, why := r.delivery.Receives(lanes.PurchaseRequest); why != "" {
		r.settlePurchase(p, lanes.Verdict(lanes.Attempt{Error: why}, lanes.Answer{}), nil)
		return
	}
	ctx, cancel := context.WithTimeout(r.life, sendWithin-r.clock.Now().Since(p.At))
	defer cancel()
	goods, refusal := r.check(ctx, p)
	if refusal != "" {
		r.settlePurchase(p, lanes.Settle{Phase: lanes.Declined, UserMessage: refusal, Reason: "not in the catalogue like this"}, nil)
		return
	}
	release, err := r.delivery.PurchaseSlot(ctx)
	if err != nil {
		r.settlePurchase(p, lanes.Busy("it could not be sent within 5 s"), nil)
		return
	}
	defer release()
	events, err := r.askPurchaseLane(ctx, p, lanes.Request{Session: p.Session, Purchase: p.ID, Goods: goods}, nil)
	if err == nil && r.clock.Now().Since(p.At) >= sendWithin { // by the boot clock: the machine may have been suspended
		err = context.DeadlineExceeded
	}
	if err != nil {
		r.settlePurchase(p, lanes.Busy("it could not be saved as sent in time: "+err.Error()), r.unsentEvent(events))
		return
	}
	event, answer := events[0], lanes.Answer{}
	attempt := *event.Attempt
	if attempt.Error == lanes.Interrupted { // otherwise nothing is sent since the request was saved
		attempt, answer = r.delivery.SendNow(event)
	}
	event.Attempt = &attempt
	r.settlePurchase(p, lanes.Verdict(attempt, answer), &event)
}

// unsentEvent returns the event of a request that was, or may have been, saved as sent, and was not sent.
func (r *Range) unsentEvent(events []lanes.Logged) *lanes.Logged {
	if len(events) == 0 || events[0].Cursor == 0 {
		return nil
	}
	events[0].Attempt = &lanes.Attempt{At: r.clock.Now().Wall, Error: lanes.NotSent + ": it took too long to save"}
	return &events[0]
}

// check returns what the catalogue says of the items, and why it does not let them be bought. A catalogue
// that is slow or panics refuses nothing: the integrator decides anyway.
func (r *Range) check(ctx context.Context, p *lanes.Purchase) (goods []lanes.Good, refusal string) {
	catalogue := r.settings().Catalogue
	if catalogue == nil {
		return nil, ""
	}
	defer func() {
		if defect := recover(); defect != nil {
			r.purchaseLine(r.log.Error(), p).Str("panic", fmt.Sprint(defect)).Bytes("stack", debug.Stack()).Msg("the catalogue panicked")
			goods, refusal = nil, ""
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	return catalogue.Check(ctx, p.Session, p.Items)
}

// settlePurchase ends the purchase as soon as the lane can save it. When the gateway stops first, it is
// settled after the restart.
func (r *Range) settlePurchase(p *lanes.Purchase, settle lanes.Settle, event *lanes.Logged) {
	settle.Session, settle.Purchase = p.Session, p.ID
	for {
		_, err := r.askPurchaseLane(r.life, p, settle, event)
		if _, open := r.board.FindPurchase(p); err == nil || open == nil { // or a reply was lost, and it is settled
			return
		}
		r.purchaseLine(r.log.Warn(), p).Err(err).Msg("purchase not settled yet")
		if !r.sleep(settleRetry) {
			return
		}
	}
}

// askPurchaseLane gives a command about the purchase to the lane that has it; when that was moving, to the
// next one. The outcome of event, if there is one, is saved with the change. It returns the events of the
// change, also when it is unknown whether they were saved.
func (r *Range) askPurchaseLane(ctx context.Context, p *lanes.Purchase, command lanes.Command, event *lanes.Logged) ([]lanes.Logged, error) {
	ctx = trace.With(ctx, p.RequestTrace)
	for {
		lane, open := r.board.FindPurchase(p)
		if open == nil {
			return nil, lanes.ErrPurchaseNotFound
		}
		q := &request{ctx: ctx, command: command, by: lanes.ByLane, reply: make(chan reply, 1)}
		if event != nil {
			q.events = []lanes.Logged{*event}
		}
		r.sendTo(lane, q)
		select {
		case answer := <-q.reply:
			if now, open := r.board.FindPurchase(p); answer.err == nil || open == nil || now == lane {
				return answer.events, answer.err
			}
		case <-r.life.Done():
			return nil, lanes.ErrStarting
		}
	}
}

// purchaseLine begins a log line about a purchase that is not settled.
func (r *Range) purchaseLine(line *zerolog.Event, p *lanes.Purchase) *zerolog.Event {
	if lane, open := r.board.FindPurchase(p); open != nil {
		line = line.Stringer("lane_id", lane)
	}
	return traced(line, p.RequestTrace).Stringer("session_id", p.Session).Stringer("purchase_id", p.ID)
}

// purchaseSettled counts and logs what the request made of a purchase.
func (r *Range) purchaseSettled(lane uuid.UUID, p *lanes.Purchase, q *request) {
	r.metrics.Purchases.WithLabelValues(string(p.Phase), string(q.by)).Inc()
	line := r.log.Info()
	if p.Phase == lanes.Unresolved {
		line = r.log.Error()
	}
	traced(line, cmp.Or(q.traceID(), p.RequestTrace)).
		Stringer("lane_id", lane).Stringer("session_id", p.Session).Stringer("purchase_id", p.ID).Str("phase", string(p.Phase)).
		Str("by", string(q.by)).Str("reason", p.Reason).Str("integrator_trace_id", p.Trace).
		Int("items", len(p.Items)).Int("minutes", p.Minutes()).Msg("purchase")
}
