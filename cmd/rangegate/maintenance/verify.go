package maintenance

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/replay"
	"rangegate/lanes/store"
)

// Record is what is read of a store, of the file or the server that a gateway may serve from meanwhile.
type Record interface {
	Describe() string
	Ranges(ctx context.Context) ([]uuid.UUID, error)
	Meta(ctx context.Context, rangeID uuid.UUID) (store.RangeMeta, error)
	Events(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Logged, error)
	History(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Ended, error)
	Acts(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Act, error)
	Close() error
}

// Verify computes the sessions of these ranges again that have ended since then, and reports the differences of each
// range that has any. It ends with the first record that cannot be read, and soon after ctx does.
func Verify(
	ctx context.Context, from Record, ids []uuid.UUID, since time.Time,
	differ func(rangeID uuid.UUID, found []replay.Difference),
) (all replay.Figures, err error) {
	for _, id := range ids {
		figures, found, err := verifyRange(ctx, from, id, since)
		if err != nil {
			return all, fmt.Errorf("range %s: %w", id, err)
		}
		if len(found) > 0 {
			differ(id, found)
		}
		all.Sessions += figures.Sessions
		all.Events += figures.Events
		all.Older += figures.Older
		all.Cut += figures.Cut
		all.Differences += figures.Differences
	}
	return all, nil
}

// PageSize is how many records of a store are read at a time.
const PageSize = 1000

// maxShown bounds the differences of a range that are kept and shown. All are counted.
const maxShown = 1000

// verifyRange computes the sessions of a range that have ended since then, and returns what is different. A difference
// counts when it is found twice: while a store is filled again that has lost its last records, or old ones are trimmed,
// what is read is of several instants. The second time the log is read from its beginning, for events that come late
// since a wall clock was set.
func verifyRange(ctx context.Context, from Record, id uuid.UUID, since time.Time) (replay.Figures,
	[]replay.Difference, error,
) {
	for again := false; ; again = true {
		reading, err := readingOf(ctx, from, id, since)
		if err != nil {
			return replay.Figures{}, nil, err
		}
		if again {
			reading.after = 0
		}
		figures, found, err := reading.compute(ctx)
		if err != nil || len(found) == 0 || again {
			return figures, found, err
		}
	}
}

// reading is what is read of a range.
type reading struct {
	from   Record
	id     uuid.UUID
	window replay.Window
	// its last cursors are of one instant: what is saved together is read together, or not at all
	meta      store.RangeMeta
	after     uint64 // cursor of the event log behind which it begins
	afterPast uint64 // likewise of the history
}

// earlier is how much before the oldest session of the history the event log is read, for wall clocks that were set.
const earlier = time.Hour

// readingOf finds where to begin: in the history with the first session that ended since then, in the event log
// before the first of them was created.
func readingOf(ctx context.Context, from Record, id uuid.UUID, since time.Time) (r reading, err error) {
	r = reading{from: from, id: id}
	if r.meta, err = from.Meta(ctx, id); err != nil {
		return r, err
	}
	history := func(after uint64, limit int) ([]lanes.Ended, error) { return from.History(ctx, id, after, limit) }
	r.afterPast, err = LastBefore(r.meta.LastEnded, since, history,
		func(e lanes.Ended) (uint64, time.Time) { return e.Cursor, e.At })
	if err != nil {
		return r, err
	}
	if err := r.findWindow(ctx, history); err != nil {
		return r, err
	}
	oldest := since
	for after := r.afterPast; ; {
		page, err := history(after, PageSize)
		if err != nil || len(page) == 0 {
			if err != nil {
				return r, err
			}
			break
		}
		for _, ended := range page {
			if created := ended.Session.Created.Wall; created.Before(oldest) {
				oldest = created
			}
		}
		after = page[len(page)-1].Cursor
	}
	events := func(after uint64, limit int) ([]lanes.Logged, error) { return from.Events(ctx, id, after, limit) }
	r.after, err = LastBefore(r.meta.LastEvent, oldest.Add(-earlier), events,
		func(e lanes.Logged) (uint64, time.Time) { return e.Cursor, e.Event.At })
	return r, err
}

// findWindow reads what stands at the edges of what is read.
func (r *reading) findWindow(ctx context.Context, history func(after uint64, limit int) ([]lanes.Ended, error)) error {
	first, err := r.from.Events(ctx, r.id, 0, 1)
	if err != nil {
		return err
	}
	if len(first) > 0 {
		r.window.LogFrom, r.window.LogWhole = first[0].Event.At, first[0].Cursor == 1
	}
	edge, err := history(max(r.afterPast, 1)-1, 1)
	if err != nil || len(edge) == 0 {
		return err
	}
	if r.afterPast > 0 {
		r.window.Before = edge[0].Session.ID
	} else {
		r.window.HistoryWhole = edge[0].Cursor == 1
	}
	return nil
}

// LastBefore returns the cursor of the last record of a log before that time, 0 if there is none. Its records
// are taken for being in the order of their times.
func LastBefore[T any](
	last uint64, at time.Time, read func(after uint64, limit int) ([]T, error),
	of func(T) (cursor uint64, at time.Time),
) (uint64, error) {
	low, high := uint64(0), last
	for low < high {
		middle := low + (high-low)/2
		found, err := read(middle, 1)
		if err != nil {
			return 0, err
		}
		if len(found) == 0 {
			high = middle
			continue
		}
		if cursor, happened := of(found[0]); happened.Before(at) {
			low = cursor
		} else {
			high = middle
		}
	}
	return low, nil
}

// compute reads the log a page at a time, and the history along with it.
func (r reading) compute(ctx context.Context) (figures replay.Figures, found []replay.Difference, err error) {
	computed := replay.New(r.window, func(d replay.Difference) {
		if len(found) < maxShown {
			found = append(found, d)
		}
	})
	past := r.afterPast
	readPast := func() (more bool, err error) {
		page, err := r.from.History(ctx, r.id, past, PageSize)
		for _, ended := range page {
			if ended.Cursor > r.meta.LastEnded {
				return false, nil
			}
			computed.Record(ended)
			past = ended.Cursor
			for i := range found { // behind which nothing was computed
				if found[i].Session == ended.Session.ID && found[i].Recorded == nil {
					found[i].Recorded = &ended
				}
			}
		}
		return len(page) > 0, err
	}
	for after, more := r.after, true; more; {
		page, err := r.from.Events(ctx, r.id, after, PageSize)
		if err != nil {
			return figures, nil, err
		}
		more = len(page) > 0
		for _, entry := range page {
			if more = entry.Cursor <= r.meta.LastEvent; !more {
				break
			}
			computed.Event(entry)
			after = entry.Cursor
		}
		for due := true; due && (computed.Wants() || !more); {
			if due, err = readPast(); err != nil {
				return figures, nil, err
			}
		}
	}
	computed.Finish()
	return computed.Figures, found, nil
}
