package observer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Records is what a range has in its store. Errors of each method: lanes.ErrStoreUnavailable, lanes.ErrTimeout,
// lanes.ErrNotOwner. Cursors rise; 0 is before the first record.
type Records interface {
	// Deliveries reads the event log behind the cursor, oldest first, with an entry for each webhook of an event.
	Deliveries(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error)
	// Acts reads what staff and operators did behind the cursor, oldest first.
	Acts(ctx context.Context, after uint64, limit int) ([]lanes.Act, error)
	// EndedSession returns a session of the history with lanes.ErrSessionEnded.
	EndedSession(ctx context.Context, id uuid.UUID) (lanes.Ended, error)
	// Latest returns the highest cursors of the event log, the history and the acts.
	Latest(ctx context.Context) (event, ended, act uint64)
}

// storeWait bounds how long a request waits for the store. It is below the time limit of the request, so that whoever
// asks is told what is missing.
const storeWait = 3 * time.Second

// readRecord reads of the store for at most storeWait. A store that does not answer is refused as such, with 503.
func readRecord[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	found, err := read(limited)
	if errors.Is(err, lanes.ErrStoreUnavailable) || errors.Is(err, lanes.ErrTimeout) {
		return found, endpoint.Refuse(lanes.ErrStoreUnavailable.Code(),
			"the store has not answered: what is on record cannot be read now", storeWait)
	}
	return found, err
}

const (
	blockSize = 500 // records of one read
	maxBlocks = 20  // reads of one log for one response: more is a next page
	// slack is by how much the times of a log may be out of order, as a wall clock is corrected.
	slack = time.Minute
)

// storedLog is a log of the store, which reads it forwards only.
type storedLog[E any] struct {
	last   uint64 // the highest cursor
	read   func(ctx context.Context, after uint64, limit int) ([]E, error)
	cursor func(E) uint64
	times  func(block []E) []time.Time // when each of neighbouring records was decided
}

func eventLog(ctx context.Context, r Records) storedLog[lanes.Logged] {
	last, _, _ := r.Latest(ctx)
	return storedLog[lanes.Logged]{last, r.Deliveries, func(e lanes.Logged) uint64 { return e.Cursor }, decidedTimes}
}

func actLog(ctx context.Context, r Records) storedLog[lanes.Act] {
	_, _, last := r.Latest(ctx)
	return storedLog[lanes.Act]{
		last, r.Acts, func(a lanes.Act) uint64 { return a.Cursor }, func(block []lanes.Act) []time.Time {
			return endpoint.Views(block, func(a lanes.Act) time.Time { return a.At })
		},
	}
}

// decidedTimes are when events were decided: those of one change together with its first, which says when.
func decidedTimes(block []lanes.Logged) []time.Time {
	times := make([]time.Time, len(block))
	for i, entry := range block {
		times[i] = entry.Event.At
		switch d := entry.Event.Decision; {
		case d != nil:
			times[i] = d.MadeAt(times[i])
		case i > 0 && block[i-1].Event.Session == entry.Event.Session && times[i].Before(times[i-1]):
			times[i] = times[i-1]
		}
	}
	return times
}

// backwards visits the records from since on and before the other time, newest first, a block at a time, until there
// are none or visit returns false behind a block. reached is the time down to which all were visited; zero: all were.
func (l storedLog[E]) backwards(
	ctx context.Context, since, before time.Time, visit func(block []E, times []time.Time) (more bool),
) (reached time.Time, err error) {
	first, err := l.read(ctx, 0, 1)
	if err != nil || len(first) == 0 {
		return time.Time{}, err
	}
	oldest := l.cursor(first[0])
	behind, err := l.firstFrom(ctx, before.Add(slack))
	if err != nil {
		return time.Time{}, err
	}
	for blocks := 0; behind > oldest; {
		after := max(behind-1, blockSize) - blockSize // at most blockSize cursors are between after and behind
		block, err := l.read(ctx, after, blockSize)
		if err != nil {
			return time.Time{}, err
		}
		block = block[:l.countBefore(block, behind)]
		behind = after + 1
		if len(block) == 0 {
			continue
		}
		times := l.times(block)
		if slices.MaxFunc(times, time.Time.Compare).Before(since.Add(-slack)) {
			return time.Time{}, nil
		}
		blocks++
		kept, keptTimes := within(block, times, since, before)
		if more := visit(kept, keptTimes); (!more || blocks == maxBlocks) && behind > oldest {
			reached = times[0]
			if !reached.Before(before) { // a clock was set back by more than the slack: go on all the same
				reached = before.Add(-1)
			}
			return reached, nil
		}
	}
	return time.Time{}, nil
}

func (l storedLog[E]) countBefore(block []E, behind uint64) int {
	n, _ := slices.BinarySearchFunc(block, behind, func(record E, behind uint64) int {
		if l.cursor(record) < behind {
			return -1
		}
		return 1
	})
	return n
}

// within returns those records whose times are from since on and before the other time, newest first.
func within[E any](block []E, times []time.Time, since, before time.Time) (kept []E, keptTimes []time.Time) {
	for i, record := range slices.Backward(block) {
		if at := times[i]; !at.Before(since) && at.Before(before) {
			kept, keptTimes = append(kept, record), append(keptTimes, at)
		}
	}
	return kept, keptTimes
}

// firstFrom returns the cursor of the first record from that time on, one more than the last one if there is none. Its
// records are taken for being in the order of their times.
func (l storedLog[E]) firstFrom(ctx context.Context, at time.Time) (uint64, error) {
	low, high := uint64(0), l.last
	for low < high {
		middle := low + (high-low)/2
		found, err := l.read(ctx, middle, 1)
		switch {
		case err != nil:
			return 0, err
		case len(found) == 0 || !l.times(found)[0].Before(at):
			high = middle
		default:
			low = l.cursor(found[0])
		}
	}
	return low + 1, nil
}
