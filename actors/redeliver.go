package actors

import (
	"context"

	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// Redeliver has the selected events sent again, in the order of the log per lane and behind those that happen
// meanwhile. Purchases, events whose delivery has not ended, and those that their webhook does not get now,
// are left out. When it returns without an error they are saved as pending; after an error some may be.
// Errors: ErrEventsGone, ErrWebhookNotConfigured, ErrWebhookGone, ErrOverloaded when too many wait already,
// ErrStoreUnavailable, and with a key those of Create.
func (r *Range) Redeliver(
	ctx context.Context, selection lanes.EventSelection, key *lanes.KeyOf[lanes.Redelivery],
) (result lanes.Redelivery, err error) {
	err = r.redeliverOnce(ctx, key, &result, func(claim *idempotency.Claim) error {
		if err := r.requireKept(ctx, selection); err != nil {
			claim.Settle(nil)
			return err
		}
		return r.delivery.Redeliver(ctx, selection, claim, &result)
	})
	return result, err
}

// requireKept refuses a selection that has to be whole and is not.
func (r *Range) requireKept(ctx context.Context, selection lanes.EventSelection) error {
	if !selection.Whole {
		return nil
	}
	behind, err := r.EventsKeptBehind(ctx)
	if err == nil && selection.After < behind {
		err = lanes.ErrEventsGone
	}
	return err
}

// RedeliverOne has one event sent again. Errors: ErrEventNotFound, ErrNotRedeliverable, those of Redeliver.
func (r *Range) RedeliverOne(ctx context.Context, cursor uint64, key *lanes.KeyOf[lanes.Redelivery]) error {
	result := lanes.Redelivery{Events: 1, Next: cursor}
	return r.redeliverOnce(ctx, key, &result, func(claim *idempotency.Claim) error {
		return r.delivery.RedeliverOne(ctx, cursor, trace.Who(ctx), claim)
	})
}

// StaffRedeliver is RedeliverOne by staff.
func (r *Range) StaffRedeliver(ctx context.Context, staff string, cursor uint64) error {
	return r.redeliverOnce(ctx, nil, nil, func(claim *idempotency.Claim) error { return r.delivery.RedeliverOne(ctx, cursor, staff, claim) })
}

// redeliverOnce runs do for an idempotency key, whose answer is rendered from the result.
func (r *Range) redeliverOnce(
	ctx context.Context, key *lanes.KeyOf[lanes.Redelivery], result *lanes.Redelivery, do func(*idempotency.Claim) error,
) error {
	var plain *lanes.Key
	if key != nil {
		plain = &lanes.Key{Name: key.Name, Fingerprint: key.Fingerprint, Render: func(*lanes.SessionView) (int, []byte) { return key.Render(*result) }}
	}
	_, err := r.once(ctx, plain, func(claim *idempotency.Claim) (*lanes.SessionView, error) {
		return nil, do(claim)
	})
	return err
}
