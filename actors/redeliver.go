package actors

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"rangegate/actors/commit"
	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

const (
	// maxRedeliveries is how many events of a range may wait to be sent again, and how many one request looks at, at most.
	maxRedeliveries = 10_000
	// redeliveryPage is how many events are read, and saved, at a time: other changes go in between.
	redeliveryPage = 500
)

// Redeliver has the selected events sent again, in the order of the log per lane and behind those that happen meanwhile. Purchases, events
// whose delivery has not ended, and those that their webhook does not get now, are left out. When it returns without an error they are saved as
// pending; after an error some may be.
// Errors: ErrWebhookNotConfigured, ErrWebhookGone, ErrOverloaded when too many wait already, ErrStoreUnavailable, and with a key those of Create.
func (r *Range) Redeliver(
	ctx context.Context, selection lanes.EventSelection, key *lanes.KeyOf[lanes.Redelivery],
) (result lanes.Redelivery, err error) {
	err = r.redeliverOnce(ctx, key, &result, func(claim *idempotency.Claim) error {
		if err := r.acceptsSome(selection.Webhook); err != nil {
			claim.Settle(nil)
			return err
		}
		return r.redeliver(ctx, selection, claim, &result)
	})
	return result, err
}

// RedeliverOne has one event sent again. Errors: ErrEventNotFound, ErrNotRedeliverable, those of Redeliver.
func (r *Range) RedeliverOne(ctx context.Context, cursor uint64, key *lanes.KeyOf[lanes.Redelivery]) error {
	result := lanes.Redelivery{Events: 1, Next: cursor}
	return r.redeliverOnce(ctx, key, &result, func(claim *idempotency.Claim) error { return r.redeliverOne(ctx, cursor, trace.Who(ctx), claim) })
}

// StaffRedeliver is RedeliverOne by staff.
func (r *Range) StaffRedeliver(ctx context.Context, staff string, cursor uint64) error {
	return r.redeliverOnce(ctx, nil, nil, func(claim *idempotency.Claim) error { return r.redeliverOne(ctx, cursor, staff, claim) })
}

// redeliverOnce runs do for an idempotency key, whose answer is rendered from the result, one request of the range at a time.
func (r *Range) redeliverOnce(
	ctx context.Context, key *lanes.KeyOf[lanes.Redelivery], result *lanes.Redelivery, do func(*idempotency.Claim) error,
) error {
	var plain *lanes.Key
	if key != nil {
		plain = &lanes.Key{Name: key.Name, Fingerprint: key.Fingerprint, Render: func(*lanes.SessionView) (int, []byte) { return key.Render(*result) }}
	}
	_, err := r.once(ctx, plain, func(claim *idempotency.Claim) (*lanes.SessionView, error) {
		r.redelivering.Lock()
		defer r.redelivering.Unlock()
		if err := r.acceptsSome(""); err != nil {
			claim.Settle(nil)
			return nil, err
		}
		return nil, do(claim)
	})
	return err
}

// acceptsSome returns why nothing can be sent to the webhook with that name, to any of them if it is empty.
func (r *Range) acceptsSome(webhook string) error {
	if webhook != "" {
		return r.accepts(webhook)
	}
	err := error(lanes.ErrWebhookNotConfigured)
	for _, to := range *r.outboxes.Load() {
		switch why := r.accepts(to.receiver.Name); {
		case why == nil:
			return nil
		case !to.removed:
			err = why
		}
	}
	return err
}

// selects reports whether the entry is of the selection's kinds and webhook.
func (r *Range) selects(selection lanes.EventSelection, event lanes.Logged) bool {
	if len(selection.Kinds) > 0 && !slices.Contains(selection.Kinds, event.Event.Kind) {
		return false
	}
	return selection.Webhook == "" && !event.Copy || selection.Webhook != "" && r.isTo(event, selection.Webhook)
}

// accepts returns why nothing can be sent to the webhook with that name.
func (r *Range) accepts(webhook string) error {
	box := r.outboxOf(webhook)
	if box == nil {
		return lanes.ErrWebhookNotConfigured
	}
	switch box.whyNotSent() {
	case "":
		return nil
	case lanes.WebhookGone:
		return lanes.ErrWebhookGone
	}
	return lanes.ErrWebhookNotConfigured
}

// wants reports whether the webhook of the event gets its kind, and anything at all.
func (r *Range) wants(event lanes.Logged) bool {
	return r.accepts(event.Webhook) == nil && r.outboxOf(event.Webhook).receiver().gets(event.Event.Kind)
}

// redeliverOne is recorded if who, a member of staff or the token of the POS, has a name.
func (r *Range) redeliverOne(ctx context.Context, cursor uint64, who string, claim *idempotency.Claim) error {
	events, err := r.settledEvents(ctx, max(cursor, 1)-1, 1)
	switch {
	case err != nil:
	case len(events) == 0 || events[0].Cursor != cursor:
		err = lanes.ErrEventNotFound
	case events[0].Again: // it is going to be
		events = nil
	case !events[0].Redeliverable():
		err = lanes.ErrNotRedeliverable
	case r.redeliveries() >= maxRedeliveries:
		err = lanes.ErrOverloaded
	case !r.wants(events[0]):
		err = cmp.Or(r.accepts(events[0].Webhook), error(lanes.ErrWebhookNotConfigured))
	}
	if err != nil {
		claim.Settle(nil)
		return err
	}
	reopened, retries := reopen(events)
	w := &commit.Write{Events: reopened, Kept: claim.Answer(nil, r.clock.Now())}
	if who != "" && len(events) > 0 {
		w.Acts = []lanes.Act{{
			At: r.clock.Now().Wall, Who: who, What: lanes.DidRedeliver, Lane: events[0].Event.Lane, Session: events[0].Event.Session,
			Detail: string(events[0].Event.Kind),
		}}
	}
	return r.saveRedelivery(ctx, w, retries, claim)
}

// redeliver notes in result what it has done, from which the answer is rendered.
func (r *Range) redeliver(ctx context.Context, selection lanes.EventSelection, claim *idempotency.Claim, result *lanes.Redelivery) (err error) {
	defer func() {
		if err != nil && !errors.Is(err, lanes.ErrTimeout) { // otherwise the outcome of its write settles it
			claim.Settle(nil)
		}
	}()
	left := maxRedeliveries - r.redeliveries()
	if left <= 0 {
		return lanes.ErrOverloaded
	}
	for after, done := selection.After, false; !done; {
		page, err := r.settledEvents(ctx, after, min(left, redeliveryPage))
		if err != nil {
			return err
		}
		done = len(page) < min(left, redeliveryPage)
		if end := slices.IndexFunc(page, func(e lanes.Logged) bool { return e.Cursor > selection.Until }); end >= 0 {
			page, done = page[:end], true
		}
		if left -= len(page); len(page) > 0 {
			after = page[len(page)-1].Cursor
		}
		if left == 0 && !done {
			result.Next, result.Log, done = after, r.LogID(), true
		}
		chosen := slices.DeleteFunc(page, func(e lanes.Logged) bool { return !e.Redeliverable() || !r.selects(selection, e) || !r.wants(e) })
		result.Events += len(chosen)
		reopened, retries := reopen(chosen)
		w, settled := &commit.Write{Events: reopened}, (*idempotency.Claim)(nil)
		if done { // the answer is saved with the last of them
			w.Kept, settled = claim.Answer(nil, r.clock.Now()), claim
			if who := trace.Who(ctx); who != "" && result.Events > 0 {
				w.Acts = []lanes.Act{{At: r.clock.Now().Wall, Who: who, What: lanes.DidRedeliverPart, Detail: strconv.Itoa(result.Events)}}
			}
		}
		if err := r.saveRedelivery(ctx, w, retries, settled); err != nil {
			return err
		}
	}
	return nil
}

// redeliveries returns how many events wait to be sent again.
func (r *Range) redeliveries() (n int) {
	for _, to := range *r.outboxes.Load() {
		n += int(to.box.redeliveries.Load())
	}
	return n
}

// reopen returns the events as they are pending once more, and the cursors of those that are pending as they await their retry.
func reopen(events []lanes.Logged) (reopened []lanes.Logged, retries []uint64) {
	for _, event := range events {
		if event.AwaitsRetry() {
			retries = append(retries, event.Cursor)
			continue
		}
		event.Again = true
		reopened = append(reopened, event)
	}
	return reopened, retries
}

// settledEvents is Events for whoever writes them again: an attempt that has ended during the read is in it.
func (r *Range) settledEvents(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error) {
	for range 100 {
		before := r.underWay.endedCount()
		events, err := r.store.Events(ctx, r.rangeEpoch(), after, limit)
		if err := r.afterRead(ctx, err); err != nil {
			return nil, err
		}
		if !r.underWay.show(events, before) {
			return upTo(r.committer.SavedEvent(), events), nil
		}
	}
	return nil, lanes.ErrOverloaded
}

// saveRedelivery saves the events and announces them; the retries are made now instead of later. A claim is settled with the write's outcome; it
// may be nil.
func (r *Range) saveRedelivery(ctx context.Context, w *commit.Write, retries []uint64, claim *idempotency.Claim) error {
	result := make(chan commit.Outcome, 2) // unresolved, and the outcome after it
	w.Awaited, w.Trace = true, trace.ID(ctx)
	w.Done = func(outcome commit.Outcome) {
		if outcome == commit.Saved && len(w.Events)+len(retries) > 0 {
			for _, to := range *r.outboxes.Load() {
				to.box.retries.hasten(retries, r.clock.Now().Wall)
			}
			r.distribute(w.Events, func(lanes.Logged) bool { return true })
			r.wakeOutboxes()
		}
		if outcome != commit.Unresolved {
			if outcome == commit.Saved {
				claim.Settle(w.Kept)
			} else {
				claim.Settle(nil)
			}
		}
		result <- outcome
	}
	r.committer.Save(w)
	for {
		select {
		case outcome := <-result:
			if outcome == commit.Unresolved {
				continue // it may be saved yet
			}
			return outcome.Err()
		case <-ctx.Done():
			return lanes.ErrTimeout
		case <-r.life.Done():
			return lanes.ErrTimeout
		}
	}
}
