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
		key := [2]uuid.UUID{p.Session, p.ID} // ids are the lanes' own
		if _, under := r.courses.LoadOrStore(key, struct{}{}); under {
			continue
		}
		r.errands.Go(func() {
			defer r.courses.Delete(key)
			r.see(p)
		})
	}
}

// see sees to the purchase until it is settled, also when its course panics.
func (r *Range) see(p *lanes.Purchase) {
	for p != nil && p.Phase == lanes.Pending && !r.course(p) {
		if !r.rest(settleRetry) {
			return
		}
		_, p = r.board.FindPurchase(p)
	}
}

// course is the whole course of a purchase. It is false when it panicked.
func (r *Range) course(p *lanes.Purchase) (ended bool) {
	defer func() {
		if defect := recover(); defect != nil {
			r.about(r.log.Error(), p).Str("panic", fmt.Sprint(defect)).Bytes("stack", debug.Stack()).Msg("a purchase panicked")
		}
	}()
	r.sell(p)
	return true
}

// sell takes the purchase to the integrator and settles it. It keeps its till until then: a stop waits a moment for that.
func (r *Range) sell(p *lanes.Purchase) {
	switch {
	case p.Event != uuid.Nil: // a crash cut it off
		r.settle(p, lanes.Verdict(lanes.Attempt{Error: lanes.Interrupted}, lanes.Answer{}), nil)
		return
	case r.settings().Webhook == nil:
		r.settle(p, lanes.Verdict(lanes.Attempt{Error: lanes.NoWebhook}, lanes.Answer{}), nil)
		return
	}
	ctx, cancel := context.WithTimeout(r.background, sendWithin-r.clock.Now().Since(p.At))
	defer cancel()
	if refusal := r.refusal(ctx, p); refusal != "" {
		r.settle(p, lanes.Settle{Phase: lanes.Declined, UserMessage: refusal, Reason: "not in the catalogue like this"}, nil)
		return
	}
	if r.tills.Acquire(ctx, 1) != nil {
		r.settle(p, lanes.Busy("it could not be sent within 5 s"), nil)
		return
	}
	defer r.tills.Release(1)
	events, err := r.tell(ctx, p, lanes.Request{Session: p.Session, Purchase: p.ID}, nil)
	if err == nil && r.clock.Now().Since(p.At) >= sendWithin { // by the boot clock: the machine may have been suspended
		err = context.DeadlineExceeded
	}
	if err != nil {
		r.settle(p, lanes.Busy("it could not be saved as sent in time: "+err.Error()), r.unsent(events))
		return
	}
	made, answer := r.attempt(events[0].Event)
	events[0].Attempt = &made
	r.settle(p, lanes.Verdict(made, answer), &events[0])
}

// unsent is the event of a request that was, or may have been, saved as sent, and was not.
func (r *Range) unsent(events []lanes.Logged) *lanes.Logged {
	if len(events) == 0 || events[0].Cursor == 0 {
		return nil
	}
	events[0].Attempt = &lanes.Attempt{At: r.clock.Now().Wall, Error: lanes.NotSent + ": it took too long to save"}
	return &events[0]
}

// refusal is why the catalogue does not let the items be bought. One that is slow is no reason, and neither are its
// defects: the integrator decides anyway.
func (r *Range) refusal(ctx context.Context, p *lanes.Purchase) (reason string) {
	catalogue := r.settings().Catalogue
	if catalogue == nil {
		return ""
	}
	defer func() {
		if defect := recover(); defect != nil {
			r.about(r.log.Error(), p).Str("panic", fmt.Sprint(defect)).Bytes("stack", debug.Stack()).Msg("the catalogue panicked")
			reason = ""
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	return catalogue.Refusal(ctx, p.Session, p.Items)
}

// settle ends the purchase, as soon as the lane can save it. When the gateway stops before, it is settled once the
// range is brought back.
func (r *Range) settle(p *lanes.Purchase, settle lanes.Settle, event *lanes.Logged) {
	settle.Session, settle.Purchase = p.Session, p.ID
	for {
		_, err := r.tell(r.background, p, settle, event)
		if _, held := r.board.FindPurchase(p); err == nil || held == nil { // or an answer was lost, and it is settled
			return
		}
		r.about(r.log.Warn(), p).Err(err).Msg("purchase not settled yet")
		if !r.rest(settleRetry) {
			return
		}
	}
}

// about begins a log line about a purchase on its way.
func (r *Range) about(line *zerolog.Event, p *lanes.Purchase) *zerolog.Event {
	if lane, held := r.board.FindPurchase(p); held != nil {
		line = line.Stringer("lane", lane)
	}
	return traced(line, p.RequestTrace).Stringer("session", p.Session).Stringer("purchase", p.ID)
}

// settled counts and logs what a purchase came to by that ask.
func (r *Range) settled(lane uuid.UUID, p *lanes.Purchase, a *ask) {
	r.metrics.Purchases.WithLabelValues(string(p.Phase), string(a.by)).Inc()
	line := r.log.Info()
	if p.Phase == lanes.Unresolved {
		line = r.log.Error()
	}
	traced(line, cmp.Or(a.trace(), p.RequestTrace)).
		Stringer("lane", lane).Stringer("session", p.Session).Stringer("purchase", p.ID).Str("phase", string(p.Phase)).
		Str("by", string(a.by)).Str("reason", p.Reason).Str("integrator_trace_id", p.Trace).
		Int("items", len(p.Items)).Int("minutes", p.Minutes()).Msg("purchase")
}

// tell gives a command about the purchase to the lane that has it; when that was moving, to the next one. The outcome
// of event, if there is one, is saved with the change. It answers the events of the change, also of one of which nobody
// knows whether it was saved.
func (r *Range) tell(ctx context.Context, p *lanes.Purchase, command lanes.Command, event *lanes.Logged) ([]lanes.Logged, error) {
	ctx = trace.With(ctx, p.RequestTrace)
	for {
		lane, held := r.board.FindPurchase(p)
		if held == nil {
			return nil, lanes.ErrPurchaseNotFound
		}
		a := &ask{ctx: ctx, command: command, by: lanes.ByLane, reply: make(chan result, 1)}
		if event != nil {
			a.with = []lanes.Logged{*event}
		}
		r.send(r.root(), &toLane{lane, a})
		select {
		case answer := <-a.reply:
			if now, held := r.board.FindPurchase(p); answer.err == nil || held == nil || now == lane {
				return answer.events, answer.err
			}
		case <-r.background.Done():
			return nil, lanes.ErrStarting
		}
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
