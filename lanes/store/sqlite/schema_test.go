package sqlite

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes/store/storetest"
)

// The queries in docs/store.md give rows on a file that a gateway has open.
func TestTheQueriesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	id := uuid.UUID{1}
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	for n := uint64(1); n < 5; n++ {
		b := storetest.BatchOf(id, epoch, n)
		b.Lanes[0].Session.Phase = "running"
		b.Ended[0].At = b.Ended[0].At.AddDate(10, 0, 0) // whenever the test runs, this is in its month or later
		for i := range b.Events {
			b.Events[i].Event.At = b.Ended[0].At
		}
		require.NoError(t, s.Flush(t.Context(), b))
	}
	text, err := os.ReadFile("../../../docs/store.md")
	require.NoError(t, err)
	queries := regexp.MustCompile(`(?m)^sqlite3 -readonly rangegate\.db "(.*)"$`).FindAllSubmatch(text, -1)
	require.Len(t, queries, 3)
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	for _, q := range queries {
		rows := 0
		require.NoError(t, query(c, string(q[1]), func(r *sqlite.Stmt) error {
			rows++
			for column := range r.ColumnCount() {
				if r.ColumnName(column) != "status" && r.ColumnName(column) != "error" {
					require.False(t, r.ColumnIsNull(column), "%s: %s", q[1], r.ColumnName(column))
				}
			}
			return nil
		}), string(q[1]))
		require.Positive(t, rows, string(q[1]))
	}
	for _, view := range []string{"range_view", "act_view"} {
		rows, err := number(c, "SELECT count(*) FROM "+view+" WHERE range_id IS NOT NULL")
		require.NoError(t, err)
		require.Positive(t, rows, view)
	}
}
