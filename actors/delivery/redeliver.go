package delivery

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"rangegate/actors/commit"
	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

const (
	// maxRedeliveries is how many events of a range may wait to be sent again, and how many one request looks
	// at, at most.
	maxRedeliveries = 10_000
	// redeliveryPage is how many events are read, and saved, at a time: other changes go in between.
	redeliveryPage = 500
	// redeliveryPatience is how long a request waits for those before it: one that selects many takes
	// seconds.
	redeliveryPatience = time.Second
)

// redeliverAlone waits until no other request has events sent again; done lets the next one do so. Errors:
// ErrOverloaded after redeliveryPatience, ErrTimeout when ctx ends.
func (d *Delivery) redeliverAlone(ctx context.Context) (done func(), err error) {
	select {
	case d.redelivering <- struct{}{}:
		return func() { <-d.redelivering }, nil
	case <-time.After(redeliveryPatience):
		return nil, lanes.ErrOverloaded
	case <-ctx.Done():
		return nil, lanes.ErrTimeout
	}
}

// acceptsSome returns why nothing can be sent to the webhook with that name, to any of them if it is empty.
func (d *Delivery) acceptsSome(webhook string) error {
	if webhook != "" {
		return d.accepts(webhook)
	}
	err := error(lanes.ErrWebhookNotConfigured)
	for _, to := range *d.outboxes.Load() {
		switch why := d.accepts(to.receiver.Name); {
		case why == nil:
			return nil
		case !to.removed:
			err = why
		}
	}
	return err
}

// selects reports whether the entry is of the selection's kinds and webhook.
func (d *Delivery) selects(selection lanes.EventSelection, event lanes.Logged) bool {
	if len(selection.Kinds) > 0 && !slices.Contains(selection.Kinds, event.Event.Kind) {
		return false
	}
	return selection.Webhook == "" && !event.Copy || selection.Webhook != "" && d.isTo(event, selection.Webhook)
}

// accepts returns why nothing can be sent to the webhook with that name.
func (d *Delivery) accepts(webhook string) error {
	box := d.outboxOf(webhook)
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
func (d *Delivery) wants(event lanes.Logged) bool {
	return d.accepts(event.Webhook) == nil && d.outboxOf(event.Webhook).receiver().gets(event.Event.Kind)
}

func (d *Delivery) redeliverOne(ctx context.Context, cursor uint64, who string, claim *idempotency.Claim) error {
	events, err := d.settledEvents(ctx, max(cursor, 1)-1, 1)
	switch {
	case err != nil:
	case len(events) == 0 || events[0].Cursor != cursor:
		err = lanes.ErrEventNotFound
	case events[0].Again: // it is going to be
		events = nil
	case !events[0].Redeliverable():
		err = lanes.ErrNotRedeliverable
	case d.redeliveries() >= maxRedeliveries:
		err = lanes.ErrOverloaded
	case !d.wants(events[0]):
		err = cmp.Or(d.accepts(events[0].Webhook), error(lanes.ErrWebhookNotConfigured))
	}
	if err != nil {
		claim.Settle(nil)
		return err
	}
	reopened, retries := reopen(events)
	w := &commit.Write{Events: reopened, Kept: claim.Answer(nil, d.Clock.Now())}
	if who != "" && len(events) > 0 {
		w.Acts = []lanes.Act{{
			At: d.Clock.Now().Wall, Who: who, What: lanes.DidRedeliver, Lane: events[0].Event.Lane,
			Session: events[0].Event.Session,
			Detail:  string(events[0].Event.Kind),
		}}
	}
	return d.saveRedelivery(ctx, w, retries, claim)
}

// redeliver notes in result what it has done, from which the answer is rendered.
func (d *Delivery) redeliver(
	ctx context.Context, selection lanes.EventSelection, claim *idempotency.Claim, result *lanes.Redelivery,
) (err error) {
	handedOver := false // the claim, to the write whose outcome settles it
	defer func() {
		if err != nil && !handedOver {
			claim.Settle(nil)
		}
	}()
	left := maxRedeliveries - d.redeliveries()
	if left <= 0 {
		return lanes.ErrOverloaded
	}
	for after, done := selection.After, false; !done; {
		page, err := d.settledEvents(ctx, after, min(left, redeliveryPage))
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
			result.Next, result.Log, done = after, d.Committer.LogID(), true
		}
		chosen := slices.DeleteFunc(page, func(e lanes.Logged) bool {
			return !e.Redeliverable() || !d.selects(selection, e) || !d.wants(e)
		})
		result.Events += len(chosen)
		reopened, retries := reopen(chosen)
		w, settled := &commit.Write{Events: reopened}, (*idempotency.Claim)(nil)
		if done { // the answer is saved with the last of them
			w.Kept, settled, handedOver = claim.Answer(nil, d.Clock.Now()), claim, true
			if who := trace.Who(ctx); who != "" && result.Events > 0 {
				w.Acts = []lanes.Act{{
					At: d.Clock.Now().Wall, Who: who, What: lanes.DidRedeliverPart,
					Detail: strconv.Itoa(result.Events),
				}}
			}
		}
		if err := d.saveRedelivery(ctx, w, retries, settled); err != nil {
			return err
		}
	}
	return nil
}

// redeliveries returns how many events wait to be sent again.
func (d *Delivery) redeliveries() (n int) {
	for _, to := range *d.outboxes.Load() {
		n += int(to.box.redeliveries.Load())
	}
	return n
}

// reopen returns the events as they are pending once more, and the cursors of those that are pending as they
// await their retry.
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

// show tells with stale that an attempt has ended during the read, which the events may show as interrupted.
func (d *Delivery) show(ctx context.Context, after uint64, limit int) (events []lanes.Logged, stale bool, err error) {
	before := d.underWay.endedCount()
	if events, err = d.Read(ctx, after, limit); err != nil {
		return nil, false, err
	}
	return events, d.underWay.show(events, before), nil
}

// settledEvents re-reads until no attempt ended during the read, for whoever writes the events again.
func (d *Delivery) settledEvents(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error) {
	for range 100 {
		if events, stale, err := d.show(ctx, after, limit); err != nil || !stale {
			return events, err
		}
	}
	return nil, lanes.ErrOverloaded
}

// saveRedelivery saves the events and announces them; the retries are made now instead of later. A claim is
// settled with the write's outcome; it may be nil.
func (d *Delivery) saveRedelivery(
	ctx context.Context, w *commit.Write, retries []uint64, claim *idempotency.Claim,
) error {
	result := make(chan commit.Outcome, 2) // unresolved, and the outcome after it
	w.Awaited, w.Trace = true, trace.ID(ctx)
	w.Done = func(outcome commit.Outcome) {
		if outcome == commit.Saved && len(w.Events)+len(retries) > 0 {
			for _, to := range *d.outboxes.Load() {
				to.box.retries.makeDue(retries, d.Clock.Now().Wall)
			}
			d.distribute(w.Events, func(lanes.Logged) bool { return true })
			d.wakeActors()
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
	d.Committer.Save(w)
	for {
		select {
		case outcome := <-result:
			if outcome == commit.Unresolved {
				continue // it may be saved yet
			}
			return outcome.Err()
		case <-ctx.Done():
			return lanes.ErrTimeout
		case <-d.Life.Done():
			return lanes.ErrTimeout
		}
	}
}
