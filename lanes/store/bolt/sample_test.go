package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// sample is a store's file with something of everything in it, and what reading it gives. It is the same every time, but for how
// far the journal was folded while nothing was flushed.
type sample struct {
	older, whole []byte // the file, before its last flushes and after them
	ranges       []uuid.UUID
	sessions     []uuid.UUID // some of those that ended
	want         []any       // of read
	damaged      []byte
	checked      int
}

// newSample has everything but its last flush in its bucket.
func newSample(t *testing.T) *sample { return sampleAt(t, paces["folded"]) }

// sampleAt is as a crash would leave it that comes when the journal has got so far.
func sampleAt(t *testing.T, p pace) *sample {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	open := func() *Store {
		s, err := openAtPace(path, keepAll, p)
		require.NoError(t, err)
		return s
	}
	crash := func(s *Store) (left []byte) {
		left = crashed(t, s)
		require.NoError(t, s.Close())
		require.NoError(t, os.WriteFile(path, left, 0o600))
		return left
	}
	s := open()
	f := &sample{ranges: []uuid.UUID{{1}, {2}, {3}}}
	epochs := make([]uint64, len(f.ranges))
	for i, id := range f.ranges {
		var err error
		epochs[i], err = s.Claim(t.Context(), id, opening)
		require.NoError(t, err)
	}
	flush := func(i int, n uint64) {
		b := batchOf(f.ranges[i], epochs[i], n)
		require.NoError(t, s.Flush(t.Context(), b))
		if n%5 == 1 {
			f.sessions = append(f.sessions, b.Ended[0].Session.ID)
		}
	}
	for n := uint64(1); n <= 30; n++ {
		if n == 25 {
			f.older = crash(s)
			s = open()
		}
		flush(0, n)
		flush(1, n)
	}
	flush(2, 1) // of this one there is hardly anything, in one page
	f.want = f.read(t, s)
	for _, answer := range f.want {
		require.NotImplements(t, (*error)(nil), answer)
	}
	f.whole = crash(s)
	return f
}

var (
	keepAll = store.Retention{Events: 1000 * time.Hour, History: 1000 * time.Hour, Names: 1000 * time.Hour, Cap: 1_000_000}
	opening = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
)

// batchOf has new records in it, and others in place of older ones.
func batchOf(rangeID uuid.UUID, epoch, n uint64) store.Batch {
	now := lanes.Instant{Wall: opening.Add(time.Duration(n) * time.Second), Mono: time.Duration(n)}
	lane := uuid.NewSHA1(rangeID, []byte{byte(n % 7)})
	session := lanes.Session{ID: uuid.NewSHA1(lane, []byte{byte(n)}), Customer: "Jo Smith", Since: now, Created: now}
	event := func(cursor uint64) lanes.Logged {
		return lanes.Logged{Cursor: cursor, Event: lanes.Event{
			ID: uuid.NewSHA1(rangeID, []byte{byte(cursor)}), Kind: lanes.Help, Session: session.ID, Lane: lane, At: opening,
		}}
	}
	b := store.Batch{
		Range: rangeID, Epoch: epoch, N: n, Now: now.Wall, Checkpoint: &lanes.Checkpoint{At: now, Boot: "boot"},
		Lanes:  []lanes.Snapshot{{Lane: lanes.Lane{ID: lane, Session: &session}, Boot: "boot"}},
		Events: []lanes.Logged{event(3*n - 2), event(3*n - 1), event(3 * n)},
		Ended:  []lanes.Ended{{Cursor: n, Session: session, Lane: lane, At: now.Wall, Reason: lanes.Expired}},
		Keys:   []lanes.KeptAnswer{{Name: fmt.Sprint("key-", n), Body: "{}", At: now.Wall}},
		Holds:  holdsAfter(n),
	}
	if n%2 == 0 {
		b.Acts = []lanes.Act{{Cursor: n / 2, At: now.Wall, Who: "sam", What: "stop", Lane: lane, Session: session.ID}}
	}
	if n > 1 {
		done := event(3*n - 5)
		done.Attempt = &lanes.Attempt{At: now.Wall, Status: 204}
		b.Events = append(b.Events, done)
		b.Forget = []string{fmt.Sprint("key-", n/2)}
	}
	return b
}

// holdsAfter is the record of holds as flush n leaves it. It is a few words or takes a page of its own.
func holdsAfter(n uint64) *lanes.Holds {
	var h lanes.Holds
	for i := range byte(n % 25) {
		over := lanes.Scope{Kind: lanes.OverLane, ID: uuid.UUID{i}}
		h = h.Set(over, fmt.Sprint("who ", n), opening)
		if i%2 == 0 {
			h = h.Lift(over, opening)
		}
	}
	return &h
}

// read gives all that can be read, each answer or the error in its place.
func (f *sample) read(t *testing.T, s *Store) (all []any) {
	add := func(answer any, err error) {
		if err != nil {
			answer = err
		}
		all = append(all, answer)
	}
	for _, id := range f.ranges {
		loaded, err := s.Load(t.Context(), id)
		add(loaded, err)
		for after := uint64(0); after < 90; after += 15 {
			events, err := s.Events(t.Context(), id, after, 15)
			add(events, err)
			history, err := s.History(t.Context(), id, after, 15)
			add(history, err)
			acts, err := s.Acts(t.Context(), id, after, 15)
			add(acts, err)
		}
		for _, session := range f.sessions {
			ended, err := s.Ended(t.Context(), id, session)
			if errors.Is(err, store.ErrNotFound) { // it is of another range
				err = nil
			}
			add(ended, err)
		}
	}
	return all
}

// used is how much of the file has pages in it.
func (f *sample) used(t *testing.T) int {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	require.NoError(t, os.WriteFile(path, f.whole, 0o600))
	db, err := bbolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	defer db.Close()
	size := int64(0)
	require.NoError(t, db.View(func(tx *bbolt.Tx) error {
		size = tx.Size()
		return nil
	}))
	return int(size)
}
