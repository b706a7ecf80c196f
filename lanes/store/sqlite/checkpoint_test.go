package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// Before 3.51.3 a checkpoint during a commit could damage the file (the WAL-reset bug).
func TestTheSQLiteInUseIsNewEnough(t *testing.T) {
	c, err := sqlite.OpenConn(":memory:")
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	var version string
	require.NoError(t, query(c, "SELECT sqlite_version()", func(r *sqlite.Stmt) error {
		version = r.ColumnText(0)
		return nil
	}))
	weight := 0
	for _, part := range strings.Split(version, ".") {
		n, err := strconv.Atoi(part)
		require.NoError(t, err)
		weight = 1000*weight + n
	}
	require.GreaterOrEqual(t, weight, 3_051_003, version)
}

// flushMany makes that many flushes.
func flushMany(t *testing.T, s *Store, id uuid.UUID, flushes int) {
	t.Helper()
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	loaded, err := s.Load(t.Context(), store.InAnyEpoch(id))
	require.NoError(t, err)
	for n := range uint64(flushes) {
		b := store.Batch{Range: id, Epoch: epoch, N: n + 1, Now: opening}
		for i := range uint64(50) {
			b.Events = append(b.Events, lanes.Logged{
				Cursor: loaded.LastEvent + 50*n + i + 1, Event: lanes.Event{ID: uuid.New(), At: opening},
				Delivery: lanes.Delivery{Attempt: &lanes.Attempt{}},
			})
		}
		require.NoError(t, s.Flush(t.Context(), b))
	}
}

// The WAL starts over again and again, however long the gateway writes.
func TestTheWALStaysSmall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	for range 12 {
		flushMany(t, s, uuid.UUID{1}, 100)
		info, err := os.Stat(path + "-wal")
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(64<<20))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(15<<20), "it has come into the file")
	require.NoError(t, s.Close())
	require.NoFileExists(t, path+"-wal")
	require.NoFileExists(t, path+"-shm")
}

// During a long read the WAL grows and writing continues. After the read the WAL shrinks.
func TestALongReadBlocksNoFlush(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	flushMany(t, s, uuid.UUID{1}, 10)
	c, err := connect(path, sqlite.OpenReadOnly)
	require.NoError(t, err)
	require.NoError(t, inTransaction(c, func() error {
		before, err := number(c, "SELECT count(*) FROM events")
		require.NoError(t, err)
		flushMany(t, s, uuid.UUID{1}, 300)
		after, err := number(c, "SELECT count(*) FROM events")
		require.NoError(t, err)
		require.Equal(t, before, after, "it reads what was there when it began")
		return nil
	}))
	require.NoError(t, c.Close())
	flushMany(t, s, uuid.UUID{1}, 100)
	require.NoError(t, s.Close())
	require.NoFileExists(t, path+"-wal")
}

// A checkpoint that cannot write to the file is reported; commits stay in the WAL and are read from there.
func TestACheckpointThatFailsIsReported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	s.checkpointAfter = 1 << 30 // the one of this test comes by hand
	flushMany(t, s, uuid.UUID{1}, 10)
	c, err := connect(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	readOnly, err := os.Open(path)
	require.NoError(t, err)
	redirect(t, s, path, readOnly)
	require.NoError(t, readOnly.Close())
	result := checkpoint(c, "PASSIVE")
	require.Error(t, result.err)
	onWriter(t, s, func() { s.file.checkpointing = true })
	s.checkpoints <- result
	require.ErrorContains(t, <-s.Problems(), "a checkpoint failed")
	flushMany(t, s, uuid.UUID{1}, 10)
	events, err := s.Events(t.Context(), store.InAnyEpoch(uuid.UUID{1}), 0, 10_000)
	require.NoError(t, err)
	require.Len(t, events, 20*50)
	_ = c.Close()
}

// A backup is the file at one instant, although flushes continue, and a store of its own.
func TestABackupWhileTheGatewayWrites(t *testing.T) {
	t.Parallel()
	path, folder := filepath.Join(t.TempDir(), "rangegate.db"), t.TempDir()
	s := openAt(t, path)
	id := uuid.UUID{1}
	writing, end := context.WithCancel(t.Context())
	var flushing sync.WaitGroup
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	flushing.Go(func() {
		for n := uint64(1); writing.Err() == nil; n++ {
			b := storetest.BatchOf(id, epoch, n)
			b.Events, b.Holds = b.Events[:1], storetest.HoldsAfter(n)
			b.Events[0].Cursor = n
			if !assert.NoError(t, s.Flush(t.Context(), b)) {
				return
			}
		}
	})
	last := uint64(0)
	for i := range 3 {
		target := filepath.Join(folder, fmt.Sprint("backup-", i))
		require.NoError(t, Backup(t.Context(), path, target, func(r *Reader) error {
			ids, err := r.Ranges(t.Context())
			require.Equal(t, []uuid.UUID{id}, ids)
			return err
		}))
		info, err := os.Stat(target)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
		copied := openAt(t, target)
		loaded, err := copied.Load(t.Context(), store.InAnyEpoch(id))
		require.NoError(t, err)
		require.Greater(t, loaded.LastEvent, last)
		last = requireAcknowledged(t, copied, id, loaded.LastEvent)
		require.NoError(t, copied.Close())
	}
	end()
	flushing.Wait()
	err = Backup(t.Context(), path, filepath.Join(folder, "backup-0"), nil)
	require.ErrorIs(t, err, os.ErrExist)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 3, "the copies and nothing else")
}

// A copy that cannot be read is removed.
func TestABackupThatCannotBeReadIsRemoved(t *testing.T) {
	t.Parallel()
	path, folder := filepath.Join(t.TempDir(), "rangegate.db"), t.TempDir()
	s := openAt(t, path)
	flushMany(t, s, uuid.UUID{1}, 10)
	require.NoError(t, s.Close())
	verify := func(*Reader) error { return fmt.Errorf("a record cannot be read") }
	require.ErrorContains(t, Backup(t.Context(), path, filepath.Join(folder, "a"), verify), "a record cannot be read")
	tamper(t, path, "DELETE FROM events WHERE position = (SELECT min(position) FROM events)")
	require.ErrorContains(t, Backup(t.Context(), path, filepath.Join(folder, "b"), func(*Reader) error { return nil }),
		"damaged")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A read waits for a free connection until its context ends.
func TestAReadWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "rangegate.db"))
	b := claimed(t, s)
	var taken []*sqlite.Conn
	for range readerCount {
		taken = append(taken, <-s.file.readers)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := s.Events(ctx, store.RangeEpoch{Range: b.Range, Epoch: b.Epoch}, 0, 10)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, c := range taken {
		s.file.readers <- c
	}
	_, err = s.Events(t.Context(), store.RangeEpoch{Range: b.Range, Epoch: b.Epoch}, 0, 10)
	require.NoError(t, err)
}
