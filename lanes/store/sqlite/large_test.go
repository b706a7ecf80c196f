package sqlite

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A range that is far larger than any, in one flush and one Load.
func TestAHundredThousandLanes(t *testing.T) {
	t.Parallel()
	const many = 100_000
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	for i := range many {
		var id uuid.UUID
		binary.BigEndian.PutUint32(id[:], uint32(i)) // as the file orders them
		b.Lanes = append(b.Lanes, lanes.Snapshot{Lane: lanes.Lane{ID: id}, Boot: fmt.Sprint("boot ", i)})
	}
	require.NoError(t, s.Flush(t.Context(), b))
	require.NoError(t, s.Close())
	loaded, err := openAt(t, path).Load(t.Context(), b.Range)
	require.NoError(t, err)
	require.Len(t, loaded.Lanes, many)
	for i, lane := range loaded.Lanes {
		if lane.ID != b.Lanes[i].ID || lane.Boot != b.Lanes[i].Boot {
			t.Fatalf("lane %d: %v", i, lane)
		}
	}
}
