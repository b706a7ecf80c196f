package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// A refill may bring back a name whose term was over. It leaves again.
func TestANameThatARefillBringsBackLeavesAgain(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "rangegate.db"), store.Retention{
		Events: 10 * time.Hour, History: 10 * time.Hour, Names: time.Hour, Cap: 100,
	})
	require.NoError(t, err)
	defer s.Close()
	b := claimed(t, s)
	b.Ended = []lanes.Ended{{Cursor: 1, At: opening, Session: lanes.Session{Customer: "Jo Smith"}}}
	name := func() string {
		ended, err := s.History(t.Context(), b.Range, 0, 10)
		require.NoError(t, err)
		require.Len(t, ended, 1)
		return ended[0].Session.Customer
	}
	require.NoError(t, s.Flush(t.Context(), b))
	require.Equal(t, "Jo Smith", name())

	for range 2 {
		b.N++
		b.Now, b.Refill = opening.Add(2*time.Hour), true
		require.NoError(t, s.Flush(t.Context(), b))
		require.Empty(t, name())
	}
}
