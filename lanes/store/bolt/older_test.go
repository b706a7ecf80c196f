package bolt

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// olderFile unpacks a file that an older version has made.
func olderFile(t *testing.T, name string) (path string) {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", name+".gz"))
	require.NoError(t, err)
	unpacking, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	file, err := io.ReadAll(unpacking)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return path
}

// The gateway of each version has left a file.
func TestAFileOfEachVersion(t *testing.T) {
	t.Parallel()
	for version := 1; version <= store.Version; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			storetest.OfVersion(t, benchAt(olderFile(t, fmt.Sprintf("version-%d.db", version))), version)
		})
	}
}

// What the file says of itself is read when it is opened, before anything else: a gateway that is older than the last
// one that has claimed a range in it goes no further.
func TestAnOlderFileSaysSoWhenItIsClaimed(t *testing.T) {
	t.Parallel()
	path := olderFile(t, "version-1.db")
	s := openAt(t, path)
	says := func() (record string) {
		t.Helper()
		require.NoError(t, s.file.db.View(func(tx *bbolt.Tx) error {
			value, err := unseal(formatKey, tx.Bucket(formatBucket).Get(formatKey))
			record = string(value)
			return err
		}))
		return record
	}
	rangeID := storetest.Written(1).Range
	_, err := s.Load(t.Context(), rangeID)
	require.NoError(t, err)
	require.Contains(t, says(), `{"v":1,`, "it is only read")
	_, err = s.Claim(t.Context(), rangeID, opening)
	require.NoError(t, err)
	require.Contains(t, says(), fmt.Sprintf(`{"v":%d,`, store.Version))
}

// The file was made when there was no record of holds: two ranges, of batchOf the flushes 1 to 3 each.
func TestAFileFromBeforeHolds(t *testing.T) {
	t.Parallel()
	path := olderFile(t, "before-holds.db")
	one, other := uuid.UUID{1}, uuid.UUID{2}
	load := func(s *Store, id uuid.UUID) store.Recovered {
		t.Helper()
		loaded, err := s.Load(t.Context(), id)
		require.NoError(t, err)
		return loaded
	}
	s := openAt(t, path)
	for _, id := range []uuid.UUID{one, other} {
		loaded := load(s, id)
		assert.Zero(t, loaded.Holds)
		assert.Len(t, loaded.Lanes, 3)
		assert.Len(t, loaded.Keys, 2)
		assert.Len(t, loaded.Pending, 7)
		assert.Equal(t, uint64(9), loaded.LastEvent)
		assert.Equal(t, uint64(3), loaded.LastEnded)
	}

	// Both go on, and one of them is given holds.
	var want []store.Recovered
	for i, id := range []uuid.UUID{one, other} {
		before := load(s, id)
		epoch, err := s.Claim(t.Context(), id, opening)
		require.NoError(t, err)
		b := store.Batch{Range: id, Epoch: epoch, N: 1, Now: opening}
		require.NoError(t, s.Flush(t.Context(), b))
		require.Equal(t, before, load(s, id))
		if i == 0 {
			b.N, b.Holds = 2, holdsAfter(24)
			require.NoError(t, s.Flush(t.Context(), b))
			before.Holds = *b.Holds
		}
		want = append(want, before)
	}
	require.NoError(t, s.Close())
	s = openAt(t, path)
	assert.Equal(t, want, []store.Recovered{load(s, one), load(s, other)})
}
