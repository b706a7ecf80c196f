package idempotency

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rangegate/lanes"
)

// Once runs each request of a running range once for its key.
type Once struct {
	Keys        *Keys
	Life        context.Context // until the range stops; its cause refuses what comes later
	Now         func() lanes.Instant
	ForgetEvery time.Duration      // the time between two calls of Keys.Forget
	Refused     prometheus.Counter // of requests whose key is one too many

	// Read reads the answer that is kept for that name from the store, with its body. Errors: lanes.ErrNotSaved where
	// the store has lost it, lanes.ErrStoreUnavailable.
	Read func(ctx context.Context, name string) (lanes.KeptAnswer, error)
}

// Do runs do with the claim on the key, which do settles, or with nil for a request without one. Errors: those of
// Keys.Claim, *FullError in place of lanes.ErrKeysFull, those of Read for the body of an older answer, and those of
// do.
func (o *Once) Do(ctx context.Context, key *lanes.Key, do func(*Claim) error) error {
	if err := context.Cause(o.Life); err != nil {
		return err
	}
	if key == nil {
		return do(nil)
	}
	claim, err := o.Keys.Claim(ctx, *key)
	if errors.Is(err, lanes.ErrKeysFull) {
		o.Refused.Inc()
		return o.Keys.Full(o.Now().Wall, o.ForgetEvery)
	}
	var repeat *lanes.Repeat
	if errors.As(err, &repeat) && repeat.Kept.InStore {
		kept, err := o.Read(ctx, repeat.Kept.Name)
		if err != nil {
			return err
		}
		return &lanes.Repeat{Kept: kept}
	}
	if err != nil {
		return err
	}
	return do(claim)
}
