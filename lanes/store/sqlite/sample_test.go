package sqlite

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

var (
	keepAll = store.Retention{
		Events: 1000 * time.Hour, History: 1000 * time.Hour, Names: 1000 * time.Hour,
		Cap: 1_000_000,
	}
	opening = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)
)

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
