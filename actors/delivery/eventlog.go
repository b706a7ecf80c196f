package delivery

import (
	"cmp"
	"context"
	"slices"

	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// EventLog is the log of one range as its readers see it, who may have events sent again. Its methods may be
// called from any goroutine.
type EventLog struct {
	d    *Delivery
	once func(ctx context.Context, key *lanes.Key, do func(*idempotency.Claim) error) error
	// keptBehind is the cursor behind which the log is whole.
	keptBehind func(ctx context.Context) (uint64, error)
}

// EventLog returns the event log. once runs what is asked for once for the key of a request; keptBehind returns
// the cursor behind which the log is whole.
func (d *Delivery) EventLog(
	once func(ctx context.Context, key *lanes.Key, do func(*idempotency.Claim) error) error,
	keptBehind func(ctx context.Context) (uint64, error),
) *EventLog {
	return &EventLog{d, once, keptBehind}
}

// Deliveries reads at most limit events behind the cursor from the event log, oldest first, of those that are known
// to be durable: no event appears before one that was returned. An event is there once for each webhook that it
// goes to. An attempt that is being made has the error lanes.UnderWay. Errors: ErrStoreUnavailable.
func (l *EventLog) Deliveries(ctx context.Context, after uint64, limit int) (events []lanes.Logged, err error) {
	const tries = 3
	for try, stale := 1, true; stale && try <= tries; try++ {
		if events, stale, err = l.d.show(ctx, after, limit); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// Events is Deliveries with the first delivery of each event only.
func (l *EventLog) Events(ctx context.Context, after uint64, limit int) (events []lanes.Logged, err error) {
	isCopy := func(e lanes.Logged) bool { return e.Copy }
	size := limit * len(*l.d.outboxes.Load()) // an entry for each webhook
	for {
		page, err := l.Deliveries(ctx, after, size)
		if err != nil {
			return nil, err
		}
		isLast := len(page) < size
		if !isLast {
			after = page[len(page)-1].Cursor
		}
		if page = slices.DeleteFunc(page, isCopy); len(events) > 0 {
			page = append(events, page...)
		}
		if events = page[:min(len(page), limit)]; isLast || len(events) == limit {
			return events, nil
		}
	}
}

// DeliveriesTo is Deliveries of those to the webhook with that name. It returns the cursor to go on behind: that
// of the last entry it has looked at, of 10,000 at most. There are no more when it is not higher than after.
func (l *EventLog) DeliveriesTo(
	ctx context.Context, webhook string, after uint64, limit int,
) (events []lanes.Logged, next uint64, err error) {
	const pages, size = 10, 1000
	for range pages {
		page, err := l.Deliveries(ctx, after, size)
		if err != nil {
			return nil, 0, err
		}
		for _, event := range page {
			if after = event.Cursor; l.d.isTo(event, webhook) {
				events = append(events, event)
			}
			if len(events) == limit {
				return events, after, nil
			}
		}
		if len(page) < size {
			break
		}
	}
	return events, after, nil
}

// HasWebhook reports whether the range has a webhook with that name, or still delivers to one that it had.
func (l *EventLog) HasWebhook(name string) bool { return l.d.outboxOf(name) != nil }

// Redeliver has the selected events sent again, in the order of the log per lane and behind those that happen
// meanwhile. Purchases, events whose delivery has not ended, and those that their webhook does not get now,
// are left out. When it returns without an error they are saved as pending; after an error some may be.
// Errors: ErrEventsGone, ErrWebhookNotConfigured, ErrWebhookGone, ErrOverloaded when too many events or requests
// wait already, ErrStoreUnavailable, ErrTimeout, and with a key those of idempotency.Once.
func (l *EventLog) Redeliver(
	ctx context.Context, selection lanes.EventSelection, key *lanes.KeyOf[lanes.Redelivery],
) (result lanes.Redelivery, err error) {
	err = l.redeliverOnce(ctx, key, &result, func(claim *idempotency.Claim) error {
		if err := cmp.Or(l.requireKept(ctx, selection), l.d.acceptsSome(""),
			l.d.acceptsSome(selection.Webhook)); err != nil {
			claim.Settle(nil)
			return err
		}
		return l.d.redeliver(ctx, selection, claim, &result)
	})
	return result, err
}

// RedeliverOne has one event sent again. It is recorded if the token of the POS has a name. Errors:
// ErrEventNotFound, ErrNotRedeliverable, those of Redeliver.
func (l *EventLog) RedeliverOne(ctx context.Context, cursor uint64, key *lanes.KeyOf[lanes.Redelivery]) error {
	return l.redeliverOne(ctx, cursor, trace.Who(ctx), key)
}

// StaffRedeliver is RedeliverOne by staff, and is recorded.
func (l *EventLog) StaffRedeliver(ctx context.Context, staff string, cursor uint64) error {
	return l.redeliverOne(ctx, cursor, staff, nil)
}

func (l *EventLog) redeliverOne(
	ctx context.Context, cursor uint64, who string, key *lanes.KeyOf[lanes.Redelivery],
) error {
	result := lanes.Redelivery{Events: 1, Next: cursor}
	return l.redeliverOnce(ctx, key, &result, func(claim *idempotency.Claim) error {
		if err := l.d.acceptsSome(""); err != nil {
			claim.Settle(nil)
			return err
		}
		return l.d.redeliverOne(ctx, cursor, who, claim)
	})
}

// requireKept refuses a selection that has to be whole and is not.
func (l *EventLog) requireKept(ctx context.Context, selection lanes.EventSelection) error {
	if !selection.Whole {
		return nil
	}
	behind, err := l.keptBehind(ctx)
	if err == nil && selection.After < behind {
		err = lanes.ErrEventsGone
	}
	return err
}

// redeliverOnce runs do once for an idempotency key, whose answer is rendered from the result, and alone.
func (l *EventLog) redeliverOnce(
	ctx context.Context, key *lanes.KeyOf[lanes.Redelivery], result *lanes.Redelivery,
	do func(*idempotency.Claim) error,
) error {
	return l.once(ctx, key.Of(result), func(claim *idempotency.Claim) error {
		done, err := l.d.redeliverAlone(ctx)
		if err != nil {
			claim.Settle(nil)
			return err
		}
		defer done()
		return do(claim)
	})
}
