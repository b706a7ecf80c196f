package actors

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// A purchase takes one course, in a goroutine of its own that outlives a panic of its lane:
//
//	check    against the catalogue, as far as that can be reached
//	slot     one of those kept for purchases, so that it waits for no other event
//	request  saved as sent, together with its event
//	send     the one attempt
//	settle   what it came to, in one write with the time it adds and the outcome of the event
//
// What cannot be sent within sendWithin bought nothing: the shop is busy. What a crash interrupts before it was
// requested goes on afterwards, if there is time left; after that nobody knows what the integrator decided.
const (
	PurchaseSlots = 16 // of a range, beside those for its other events
	sendWithin    = 5 * time.Second
	checkWithin   = 2 * time.Second
	settleRetry   = time.Second // before an end that could not be saved is tried again
)

// Catalogue says what can be bought.
type Catalogue interface {
	// Refusal is why the items cannot be bought, in words for the customer. It is empty when they can, and when nobody
	// can tell: it answers before ctx ends.
	Refusal(ctx context.Context, session uuid.UUID, items []lanes.Item) string
}

// buy lets the pending purchases of the lane take their course, each once.
func (r *Range) buy(lane lanes.Lane) {
	for _, p := range lane.Purchases() {
		if p.Phase != lanes.Pending {
			continue
		}
		if _, under := r.courses.LoadOrStore(p.ID, struct{}{}); under {
			continue
		}
		r.buying.Go(func() {
			defer r.courses.Delete(p.ID)
			r.course(p)
		})
	}
}

// course is the whole course of a purchase.
func (r *Range) course(p *lanes.Purchase) {
	if p.Event != uuid.Nil { // a crash cut it off
		r.settle(p, lanes.Verdict(lanes.Attempt{Error: lanes.Interrupted}, lanes.Answer{}), nil)
		return
	}
	if r.webhook == nil {
		r.settle(p, lanes.Verdict(lanes.Attempt{Error: lanes.NoWebhook}, lanes.Answer{}), nil)
		return
	}
	ctx, cancel := context.WithTimeout(r.background, sendWithin-r.clock.Now().Since(p.At))
	defer cancel()
	if refusal := r.refusal(ctx, p); refusal != "" {
		r.settle(p, lanes.Settle{Phase: lanes.Declined, UserMessage: refusal, Reason: "not in the catalogue like this"}, nil)
		return
	}
	if r.counters.Acquire(ctx, 1) != nil {
		r.settle(p, lanes.Busy("it could not be sent within 5 s"), nil)
		return
	}
	defer r.counters.Release(1)
	events, err := r.tell(ctx, p.ID, lanes.Request{Session: p.Session, Purchase: p.ID}, nil)
	if err != nil {
		r.settle(p, lanes.Busy("it could not be saved as sent: "+err.Error()), nil)
		return
	}
	made, answer := r.attempt(events[0].Event)
	events[0].Attempt = &made
	r.settle(p, lanes.Verdict(made, answer), &events[0])
}

// refusal is why the catalogue does not let the items be bought. One that is slow is no reason, and neither are its
// defects: the integrator decides anyway.
func (r *Range) refusal(ctx context.Context, p *lanes.Purchase) (reason string) {
	if r.catalogue == nil {
		return ""
	}
	defer func() {
		if defect := recover(); defect != nil {
			r.log.Error().Stringer("purchase", p.ID).Interface("panic", defect).Bytes("stack", debug.Stack()).Msg("the catalogue panicked")
			reason = ""
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	return r.catalogue.Refusal(ctx, p.Session, p.Items)
}

// settle ends the purchase, as soon as the lane can save it. When the gateway stops before, it is settled once the
// range is brought back.
func (r *Range) settle(p *lanes.Purchase, settle lanes.Settle, event *lanes.Logged) {
	settle.Session, settle.Purchase = p.Session, p.ID
	for {
		_, err := r.tell(r.background, p.ID, settle, event)
		if _, open := r.board.holding(p.ID); err == nil || !open { // or an answer was lost, and it is settled
			return
		}
		r.log.Warn().Stringer("purchase", p.ID).Err(err).Msg("purchase not settled yet")
		if !r.rest(settleRetry) {
			return
		}
	}
}

// settled counts and logs what a purchase came to.
func (r *Range) settled(lane uuid.UUID, p *lanes.Purchase) {
	r.metrics.purchases.WithLabelValues(string(p.Phase)).Inc()
	line := r.log.Info()
	if p.Phase == lanes.Unresolved {
		line = r.log.Error()
	}
	line.Stringer("lane", lane).Stringer("session", p.Session).Stringer("purchase", p.ID).Str("phase", string(p.Phase)).
		Str("reason", p.Reason).Str("integrator_trace_id", p.Trace).Int("items", len(p.Items)).Int("minutes", p.Minutes()).
		Msg("purchase")
}

// tell gives a command about the purchase to the lane that has it, after a move to the next one. The outcome of event,
// if there is one, is saved with the change. It answers the events of the change.
func (r *Range) tell(ctx context.Context, purchase uuid.UUID, command lanes.Command, event *lanes.Logged) ([]lanes.Logged, error) {
	lane, found := r.board.holding(purchase)
	if !found {
		return nil, lanes.ErrPurchaseNotFound
	}
	a := &ask{ctx: ctx, command: command, by: lanes.ByLane, reply: make(chan result, 1)}
	if event != nil {
		a.with = []lanes.Logged{*event}
	}
	r.mu.RLock() // a lane is brought back, and its purchases go on, while StartRange still has to say who is the root
	root := r.pid
	r.mu.RUnlock()
	r.send(root, &toLane{lane, a})
	select {
	case answer := <-a.reply:
		return answer.events, answer.err
	case <-r.background.Done():
		return nil, lanes.ErrStarting
	}
}

// rest waits. It is false when the range stops.
func (r *Range) rest(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.background.Done():
		return false
	}
}

// Unresolved is the purchases that wait for staff, by lane in display order.
func (r *Range) Unresolved() []lanes.OpenPurchase {
	var open []lanes.OpenPurchase
	for _, status := range r.board.status() {
		for _, p := range status.Lane.Open {
			if p.Phase == lanes.Unresolved {
				open = append(open, lanes.OpenPurchase{Purchase: *p, Lane: status.ID})
			}
		}
	}
	return open
}

// Clear is staff settling an unresolved purchase by hand; with credit its minutes are added to the session.
func (r *Range) Clear(ctx context.Context, purchase uuid.UUID, credit bool) error {
	lane, found := r.board.holding(purchase)
	if !found {
		return lanes.ErrPurchaseNotFound
	}
	_, err := r.ask(ctx, lane, &ask{ctx: ctx, command: lanes.Clear{Purchase: purchase, Credit: credit}, by: lanes.ByStaff})
	return err
}
