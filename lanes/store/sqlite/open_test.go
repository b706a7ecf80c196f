package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
)

func TestOnlyTheOwnerMayReadTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "folder", "rangegate.db")
	s := openAt(t, path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	info, err = os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "closing it again does nothing")
}

func TestAFileThatIsOpenElsewhereIsNamedSoon(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	began := time.Now()
	_, err := Open(path, keepAll)
	assert.ErrorContains(t, err, path)
	assert.ErrorContains(t, err, "locked by another process")
	assert.Less(t, time.Since(began), 60*lockTimeout)

	_, err = s.Claim(t.Context(), uuid.New(), opening)
	require.NoError(t, err, "the first one goes on")
}

// Several processes start at once in an empty folder: one gets the file, the others an error.
func TestOnlyOneMakesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	stores := make(chan *Store, 8)
	var opening sync.WaitGroup
	for range cap(stores) {
		opening.Go(func() {
			s, err := Open(path, keepAll)
			if err != nil {
				assert.ErrorContains(t, err, "locked by another process")
				return
			}
			stores <- s
		})
	}
	opening.Wait()
	require.Len(t, stores, 1)
	require.NoError(t, (<-stores).Close())
}

// A crash may leave an incomplete new file. The next start replaces it.
func TestAnIncompleteNewFileIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	require.NoError(t, os.WriteFile(path+".new", bytes.Repeat([]byte{7}, 5000), 0o600))
	claimed(t, openAt(t, path))
	assert.NoFileExists(t, path+".new")
}

// A file that is no store is refused and not changed.
func TestAnotherFileIsRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	others := write("others.db", nil)
	tamper(t, others, "CREATE TABLE wallet (coins INTEGER)")

	for path, reason := range map[string]string{
		write("empty", nil): "the file is empty",
		write("text", bytes.Repeat([]byte("text\n"), 99)):    "",
		write("zeros", make([]byte, 1<<16)):                  "",
		write("long text", bytes.Repeat([]byte{'x'}, 1<<20)): "",
		others: "this is no store of rangegate",
		folder: "",
	} {
		before, _ := os.ReadFile(path)
		_, err := Open(path, keepAll)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, reason)
		after, _ := os.ReadFile(path)
		assert.True(t, bytes.Equal(before, after), path)
	}
}

func TestAFileOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	require.NoError(t, s.Close())
	tamper(t, path, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion+1))
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	_, err = Open(path, keepAll)
	require.ErrorContains(t, err, path)
	require.ErrorIs(t, err, store.ErrNewer)
	require.NotContains(t, err.Error(), "damaged")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(before, after))
}

func TestAClosedStoreRefuses(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "rangegate.db"))
	require.NoError(t, s.Close())
	_, err := s.Claim(t.Context(), uuid.New(), opening)
	require.ErrorIs(t, err, store.ErrRefused)
	require.ErrorIs(t, s.Flush(t.Context(), store.Batch{}), store.ErrRefused)
	_, err = s.Load(t.Context(), store.InAnyEpoch(uuid.New()))
	require.Error(t, err)
}
