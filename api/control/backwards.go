package control

import "context"

const (
	// atATime is how many records are read at a time, and
	readsAtMost = 40 // how often for one answer: a search through a long history comes back in pieces.
	atATime     = 500
)

// log is what is on record, of which the store reads forwards only: behind a cursor, oldest first.
type log[E any] struct {
	last   uint64 // the highest cursor
	read   func(ctx context.Context, after uint64, limit int) ([]E, error)
	cursor func(E) uint64
}

// backwards is at most limit records before the cursor that are wanted, newest first; before 0 is from the newest on.
// next is the cursor to go on before, 0 at the oldest record. There may be more although fewer were found than asked for.
func (l log[E]) backwards(ctx context.Context, before uint64, limit int, wanted func(E) bool) (found []E, next uint64, err error) {
	if before == 0 || before > l.last {
		before = l.last + 1
	}
	first, err := l.read(ctx, 0, 1)
	if err != nil || len(first) == 0 {
		return nil, 0, err
	}
	oldest := l.cursor(first[0])
	for range readsAtMost {
		if before <= oldest {
			return found, 0, nil
		}
		// No more cursors than are read at a time are between after and before.
		after := max(before-1, atATime) - atATime
		some, err := l.read(ctx, after, atATime)
		if err != nil {
			return nil, 0, err
		}
		for i := len(some) - 1; i >= 0; i-- {
			at := l.cursor(some[i])
			if at >= before || !wanted(some[i]) {
				continue
			}
			found = append(found, some[i])
			if len(found) == limit {
				return found, beyond(at, oldest), nil
			}
		}
		before = after + 1
	}
	return found, beyond(before, oldest), nil
}

// beyond is the cursor to go on before, unless there is nothing.
func beyond(before, oldest uint64) uint64 {
	if before <= oldest {
		return 0
	}
	return before
}
