package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

var (
	keepAll = store.Retention{Events: 1000 * time.Hour, History: 1000 * time.Hour, Names: 1000 * time.Hour, Cap: 1_000_000}
	opening = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
)

// batchOf makes a batch with new records, and with some that replace older ones.
func batchOf(rangeID uuid.UUID, epoch, n uint64) store.Batch {
	now := lanes.Instant{Wall: opening.Add(time.Duration(n) * time.Second), Mono: time.Duration(n)}
	lane := uuid.NewSHA1(rangeID, []byte{byte(n % 7)})
	session := lanes.Session{ID: uuid.NewSHA1(lane, []byte{byte(n)}), Customer: "Jo Smith", Since: now, Created: now}
	if n%3 == 0 {
		session.Correlation = &lanes.Correlation{ExternalID: fmt.Sprint("receipt-", n%2)}
	}
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

// holdsAfter returns the holds after flush n, short or longer than a page.
func holdsAfter(n uint64) *lanes.Holds {
	var h lanes.Holds
	for i := range byte(n % 25) {
		scope := lanes.Scope{Kind: lanes.OverLane, ID: uuid.UUID{i}}
		h = h.Set(scope, fmt.Sprint("who ", n), opening)
		if i%2 == 0 {
			h = h.Lift(scope, opening)
		}
	}
	return &h
}

// claimed claims a range and returns its first batch.
func claimed(t *testing.T, s *Store) store.Batch {
	t.Helper()
	id := uuid.New()
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	return store.Batch{
		Range: id, Epoch: epoch, N: 1, Now: opening,
		Events: []lanes.Logged{{Cursor: 1, Event: lanes.Event{ID: uuid.New(), At: opening}}},
	}
}

// openAt opens a store, which is closed at the end of the test.
func openAt(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, keepAll)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}
