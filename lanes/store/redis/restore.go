package redis

import (
	"context"
	"fmt"
	"math"

	"rangegate/lanes/store"
)

// restoreLimit is how many records of a kind one script writes. A range may have more than fit in one command, and other
// clients wait while a script runs.
const restoreLimit = 5000

// keepAll trims nothing: the parts have no Now to compare with.
var keepAll = store.Retention{Cap: math.MaxInt}

// Restore writes a range that the server does not have, all of it or nothing, and trims nothing: store.ErrExists. It
// writes parts to staging keys, which one last script renames. It removes what an earlier attempt left there.
func (s *Store) Restore(ctx context.Context, whole store.Batch) error {
	if err := s.begin(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	defer s.calls.Done()
	if err := s.restore(ctx, whole); err != nil {
		return fmt.Errorf("redis server %s: range %s: %w", s.address, whole.Range, err)
	}
	return nil
}

func (s *Store) restore(ctx context.Context, whole store.Batch) error {
	keys, staging := keysOf(whole.Range).list(), stagingKeysOf(whole.Range).list()
	if _, err := call(ctx, s, func(ctx context.Context) (int64, error) { return s.reads.Del(ctx, staging...).Result() }); err != nil {
		return err
	}
	for _, part := range splitBatch(whole) {
		w, err := newFlush(part, keepAll, s.replicas)
		if err != nil {
			return err
		}
		w.keys = staging
		r, err := s.write(ctx, w, whole.Range)
		if err == nil {
			err = s.flushError(part, r)
		}
		if err != nil {
			return err
		}
	}
	r, err := call(ctx, s, func(ctx context.Context) (reply, error) {
		return finishRestoreScript.Run(ctx, s.reads, append(keys, staging...)).Slice()
	})
	if err == nil {
		err = s.replyError(r)
	}
	if err == nil && r.text(0) != "restored" {
		err = store.ErrExists
	}
	return err
}

// splitBatch splits the range into flushes. The first one has the single records, such as the checkpoint.
func splitBatch(whole store.Batch) (parts []store.Batch) {
	for n := uint64(1); ; n++ {
		part := store.Batch{
			Range: whole.Range, Epoch: whole.Epoch, N: n, Lanes: takeFirst(&whole.Lanes), Keys: takeFirst(&whole.Keys),
			Events: takeFirst(&whole.Events), Ended: takeFirst(&whole.Ended), Acts: takeFirst(&whole.Acts),
		}
		if n == 1 {
			part.Refill, part.Checkpoint, part.Holds = true, whole.Checkpoint, whole.Holds
			part.LastEvent, part.LastEnded, part.LastAct = whole.LastEvent, whole.LastEnded, whole.LastAct
		}
		parts = append(parts, part)
		if len(whole.Lanes)+len(whole.Keys)+len(whole.Events)+len(whole.Ended)+len(whole.Acts) == 0 {
			return parts
		}
	}
}

// takeFirst removes the first restoreLimit records from the list and returns them.
func takeFirst[T any](list *[]T) (first []T) {
	count := min(len(*list), restoreLimit)
	first, *list = (*list)[:count:count], (*list)[count:]
	return first
}
