package actors

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"rangegate/lanes"
)

const markRetry = time.Second // before an attempt whose mark could not be saved is tried again

// slotsAtMost is how many deliveries there could be at a time, if a range were configured so.
const slotsAtMost = 1 << 30

// awaitDeliveries waits until no delivery is under way, or ctx ends.
func (r *Range) awaitDeliveries(ctx context.Context) error {
	return awaitAll(ctx, r.slots, slotsAtMost)
}

// awaitPurchases waits until no purchase is being sent, or ctx ends.
func (r *Range) awaitPurchases(ctx context.Context) error {
	return awaitAll(ctx, r.tills, PurchaseSlots)
}

func awaitAll(ctx context.Context, of *semaphore.Weighted, slots int) error {
	err := of.Acquire(ctx, int64(slots))
	if err == nil {
		of.Release(int64(slots))
	}
	return err
}

// mark saves that the event is being attempted, as soon as the store takes it. It is false for an event that is not
// pending any more, and when the range ends before.
func (r *Range) mark(event lanes.Logged) bool {
	for r.committer.isPending(event.Cursor) {
		event.Attempt = &lanes.Attempt{At: r.clock.Now().Wall, Error: lanes.Interrupted}
		became := make(chan outcome, 1)
		r.committer.save(&write{events: []lanes.Logged{event}, trace: event.Trace, told: func(o outcome) {
			if o != standing { // not known yet: it will be
				became <- o
			}
		}})
		select {
		case o := <-became:
			if o == saved {
				return true
			}
		case <-r.background.Done():
			return false
		}
		select {
		case <-time.After(markRetry):
		case <-r.background.Done():
			return false
		}
	}
	return false
}

// attempt makes the attempt. A receiver's code that panics costs only this event.
func (r *Range) attempt(event lanes.Event) (made lanes.Attempt, answer lanes.Answer) {
	begun := r.clock.Now()
	defer func() {
		if defect := recover(); defect != nil {
			r.log.Error().Stringer("lane", event.Lane).Stringer("session", event.Session).Stringer("event_id", event.ID).Str("panic", fmt.Sprint(defect)).Bytes("stack", debug.Stack()).
				Msg("the webhook panicked")
			made = lanes.Attempt{At: begun.Wall, Error: lanes.Interrupted + ": a defect of the gateway"}
		}
	}()
	webhook := r.settings().Webhook
	if webhook == nil { // there was one when it happened
		return notSent(event), lanes.Answer{}
	}
	return webhook.Attempt(r.background, event)
}

// record saves the outcome, whenever the store takes it.
func (r *Range) record(event lanes.Logged, attempt lanes.Attempt) {
	event.Attempt = &attempt
	r.committer.save(&write{events: []lanes.Logged{event}, trace: event.Trace, stands: true, told: func(outcome) {}})
	r.told(event)
}

// told counts and logs an event that is final.
func (r *Range) told(event lanes.Logged) {
	outcome := event.Attempt.Outcome()
	r.metrics.Events.WithLabelValues(string(event.Event.Kind), outcome).Inc()
	traced(r.log.Info(), event.Trace).Str("event", string(event.Event.Kind)).Stringer("event_id", event.Event.ID).
		Stringer("lane", event.Event.Lane).Stringer("session", event.Event.Session).Uint64("cursor", event.Cursor).
		Str("outcome", outcome).Int("status", event.Attempt.Status).Dur("took", event.Attempt.Duration).Msg("event")
}

// logged is the event as it enters the log: pending, or final when there is no webhook to send it to. A purchase is
// sent at once by whoever asked for it. trace is that of the request that it follows from.
func (r *Range) logged(event lanes.Event, trace string) lanes.Logged {
	logged := lanes.Logged{Event: event, Trace: trace}
	switch {
	case r.settings().Webhook == nil:
		attempt := notSent(event)
		logged.Attempt = &attempt
	case event.Kind == lanes.PurchaseRequest:
		logged.Attempt = &lanes.Attempt{At: event.At, Error: lanes.Interrupted}
	}
	return logged
}

func notSent(event lanes.Event) lanes.Attempt {
	return lanes.Attempt{At: event.At, Error: lanes.NoWebhook}
}

// unattempted is the events that are saved and were not attempted, oldest first.
func (c *committer) unattempted() []lanes.Logged {
	c.mu.Lock()
	defer c.mu.Unlock()
	events := make([]lanes.Logged, 0, len(c.pending))
	for _, event := range c.pending {
		events = append(events, event)
	}
	slices.SortFunc(events, func(a, b lanes.Logged) int { return cmp.Compare(a.Cursor, b.Cursor) })
	return events
}

func (c *committer) isPending(cursor uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, pending := c.pending[cursor]
	return pending
}
