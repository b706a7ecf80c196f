package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/replay"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/sqlite"
)

// record is what is read of a store, of the file or the server that a gateway may serve from meanwhile.
type record interface {
	Describe() string
	Ranges(ctx context.Context) ([]uuid.UUID, error)
	Meta(ctx context.Context, rangeID uuid.UUID) (store.RangeMeta, error)
	Events(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Logged, error)
	History(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Ended, error)
	Acts(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Act, error)
	Close() error
}

func openRecord(ctx context.Context, c config.Store) (record, error) {
	if c.Redis == "" {
		return sqlite.OpenBeside(c.SQLite)
	}
	return redis.OpenReader(ctx, c.Redis.Reveal())
}

type verify struct {
	storeConfig
	Since time.Duration `default:"24h" help:"How far back: sessions that have ended since then are computed again."`
	Range string        `placeholder:"ID" help:"Only this range."`
	Lane  string        `placeholder:"LANE" help:"With --at: a lane by its id or name, whose session at that time is shown instead."`
	At    string        `placeholder:"TIME" help:"With --lane: 19:42:10, or with the date before it. The event log is read from --since before it on."`
}

// Run computes the sessions of the record again. It fails when one comes out differently.
func (v verify) Run(t *terminal) (err error) {
	if v.Since <= 0 {
		return gateway.Misconfigured{Err: errors.New("--since: how far back, more than 0")}
	}
	if (v.Lane == "") != (v.At == "") {
		return gateway.Misconfigured{Err: errors.New("--lane and --at: both or neither")}
	}
	cfg, err := v.load(t)
	if err != nil {
		return err
	}
	from, err := openRecord(t.ctx, cfg.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	ids, err := rangesToVerify(t.ctx, from, v.Range)
	if err != nil {
		return err
	}
	if v.At != "" {
		where, err := findLane(cfg, ids, v.Lane)
		if err != nil {
			return err
		}
		return v.showAt(t, cfg, from, where)
	}
	return v.verify(t, cfg, from, ids)
}

// rangesToVerify returns the ranges in the record, or only the one with that id.
func rangesToVerify(ctx context.Context, from record, only string) ([]uuid.UUID, error) {
	if only == "" {
		return from.Ranges(ctx)
	}
	id, err := uuid.Parse(only)
	if err != nil {
		return nil, gateway.Misconfigured{Err: errors.New("--range: the id of a range is a UUID")}
	}
	switch _, err := from.Meta(ctx, id); {
	case errors.Is(err, store.ErrNotFound):
		return nil, gateway.Misconfigured{Err: errors.New("--range: the store has no range with that id")}
	case err != nil:
		return nil, err
	}
	return []uuid.UUID{id}, nil
}

func (v verify) verify(t *terminal, cfg config.Config, from record, ids []uuid.UUID) error {
	began := time.Now()
	since := began.Add(-v.Since)
	t.printf("%s, ranges: %d, sessions that ended since %s\n", from.Describe(), len(ids),
		since.Local().Format(time.DateTime))
	var all replay.Figures
	for _, id := range ids {
		figures, found, err := verifyRange(t.ctx, from, id, since)
		if err != nil {
			return fmt.Errorf("range %s: %w", id, err)
		}
		if len(found) > 0 {
			t.printf("range %s%s\n", id, nameOf(cfg, id))
			printDifferences(t, cfg, id, found)
		}
		all.Sessions += figures.Sessions
		all.Events += figures.Events
		all.Older += figures.Older
		all.Cut += figures.Cut
		all.Differences += figures.Differences
	}
	t.printf("sessions: %d, events: %d, ranges: %d, differences: %d, in %v\n",
		all.Sessions, all.Events, len(ids), all.Differences, time.Since(began).Round(time.Millisecond))
	if all.Older > 0 {
		t.printf("of an older release, of which only the order of the events is computed: %d sessions\n", all.Older)
	}
	if all.Cut > 0 {
		t.printf("whose first events are not kept any more, so that only the rest is computed: %d sessions\n", all.Cut)
	}
	if file := gateway.VerifiedFile(t.environ); file != "" && v.Range == "" {
		result := gateway.Verified{At: began, Sessions: all.Sessions, Events: all.Events, Differences: all.Differences}
		if err := result.Save(file); err != nil {
			return err
		}
	}
	if all.Differences > 0 {
		return fmt.Errorf("what is on record is not what is computed from it: differences: %d", all.Differences)
	}
	return nil
}

// pageSize is how many records are read at a time.
const pageSize = 1000

// maxShown bounds the differences of a range that are kept and shown. All are counted.
const maxShown = 1000

// verifyRange computes the sessions of a range that have ended since then, and returns what is different. A difference
// counts when it is found twice: while a store is filled again that has lost its last records, or old ones are trimmed,
// what is read is of several instants. The second time the log is read from its beginning, for events that come late
// since a wall clock was set.
func verifyRange(ctx context.Context, from record, id uuid.UUID, since time.Time) (replay.Figures,
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
	from   record
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
func readingOf(ctx context.Context, from record, id uuid.UUID, since time.Time) (r reading, err error) {
	r = reading{from: from, id: id}
	if r.meta, err = from.Meta(ctx, id); err != nil {
		return r, err
	}
	history := func(after uint64, limit int) ([]lanes.Ended, error) { return from.History(ctx, id, after, limit) }
	r.afterPast, err = lastBefore(r.meta.LastEnded, since, history,
		func(e lanes.Ended) (uint64, time.Time) { return e.Cursor, e.At })
	if err != nil {
		return r, err
	}
	if err := r.findWindow(ctx, history); err != nil {
		return r, err
	}
	oldest := since
	for after := r.afterPast; ; {
		page, err := history(after, pageSize)
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
	r.after, err = lastBefore(r.meta.LastEvent, oldest.Add(-earlier), events,
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

// lastBefore returns the cursor of the last record of a log before that time, 0 if there is none. Its records
// are taken for being in the order of their times.
func lastBefore[T any](
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
		page, err := r.from.History(ctx, r.id, past, pageSize)
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
		page, err := r.from.Events(ctx, r.id, after, pageSize)
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

// printDifferences prints them, each session with its records once.
func printDifferences(t *terminal, cfg config.Config, rangeID uuid.UUID, found []replay.Difference) {
	of := map[uuid.UUID][]replay.Difference{}
	var sessions []uuid.UUID
	for _, d := range found {
		if of[d.Session] == nil {
			sessions = append(sessions, d.Session)
		}
		of[d.Session] = append(of[d.Session], d)
	}
	for _, session := range sessions {
		last := of[session][len(of[session])-1] // knows most of the session
		t.printf("  session %s, lane %s%s\n", session, last.Lane, laneNameOf(cfg, rangeID, last.Lane))
		for _, d := range of[session] {
			t.printf("    %s\n", d.What)
		}
		if last.Recorded != nil {
			t.printf("      recorded: %s\n", describeEnd(*last.Recorded))
		}
		if last.Computed != nil {
			t.printf("      computed: %s\n", describeEnd(*last.Computed))
		}
		for _, entry := range last.Events {
			t.printf("      event %d: %s\n", entry.Cursor, describeEvent(entry))
		}
	}
}

func laneNameOf(cfg config.Config, rangeID, lane uuid.UUID) string {
	for _, r := range cfg.Ranges {
		for _, l := range r.Lanes {
			if r.ID == rangeID && l.ID == lane {
				return fmt.Sprintf(" %q", l.Name)
			}
		}
	}
	return ""
}

// describeEnd describes the end of a session. It names no customer.
func describeEnd(e lanes.Ended) string {
	ended := fmt.Sprintf("%s at %s on lane %s, sold %v, used %v, left %v, paused %v, events %d", e.Reason,
		e.At.UTC().Format(time.RFC3339Nano),
		e.Lane, e.Session.Sold, e.Used, e.Session.Left, e.Paused, e.Session.Facts)
	if e.Cursor == 0 { // computed
		return ended
	}
	return fmt.Sprintf("%s, history %d", ended, e.Cursor)
}

// describeEvent describes an event and what it follows from.
func describeEvent(entry lanes.Logged) string {
	event := fmt.Sprintf("%s at %s", entry.Event.Kind, entry.Event.At.UTC().Format(time.RFC3339Nano))
	d := entry.Event.Decision
	if d == nil {
		return event
	}
	event += fmt.Sprintf(" by %s of %s", d.Command, cmp.Or(string(d.By), "nobody on record"))
	if d.Minutes != 0 {
		event += fmt.Sprintf(", %+d minutes", d.Minutes)
	}
	if d.Held {
		event += ", under a hold"
	}
	return event + fmt.Sprintf(", %v after its clock last started or stopped", d.Passed)
}
