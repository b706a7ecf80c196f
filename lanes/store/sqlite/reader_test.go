package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// readRange reads a range: how many records are readable, and the faults of the others.
func readRange(t *testing.T, path string, id uuid.UUID) (good int, bad []string) {
	t.Helper()
	r, err := OpenReader(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	require.NoError(t, r.Read(t.Context(), id, func(record store.Record) error {
		if record.Err != nil {
			bad = append(bad, fmt.Sprint(record.Name, ": ", record.Err))
			return nil
		}
		good++
		return nil
	}))
	return good, bad
}

// A damaged record hides no second.
func TestEveryRecordThatCannotBeReadIsVisited(t *testing.T) {
	t.Parallel()
	b := benchAt(filepath.Join(t.TempDir(), "rangegate.db"))
	s := openAt(t, b.path)
	id := uuid.UUID{1}
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	for n := uint64(1); n <= 4; n++ {
		require.NoError(t, s.Flush(t.Context(), storetest.BatchOf(id, epoch, n)))
	}
	lane := storetest.BatchOf(id, epoch, 1).Lanes[0].ID.String()
	require.NoError(t, s.Close())
	count, bad := readRange(t, b.path, id)
	require.Empty(t, bad)
	require.Equal(t, 1+1+4+2+1+12+4+2, count, "meta, checkpoint, lanes, keys, holds, events, ended sessions, acts")

	for i, record := range []storetest.Record{
		{Kind: storetest.Lane, Name: lane},
		{Kind: storetest.Key, Name: "key-3"},
		{Kind: storetest.Holds},
		{Kind: storetest.Event, Name: "5"},
		{Kind: storetest.Ended, Name: "2"},
		{Kind: storetest.Act, Name: "1"},
		{Kind: storetest.Checkpoint},
	} {
		record.Range = id
		b.Overwrite(t, record, fmt.Appendf(nil, `{"v":%d}`, store.Version+1))
		good, bad := readRange(t, b.path, id)
		require.Len(t, bad, i+1)
		for _, reason := range bad {
			require.Contains(t, reason, "newer version")
		}
		if record.Kind == storetest.Checkpoint { // is a part of the range's record
			i++
		}
		require.Equal(t, count-i-1, good)
	}
}

// Beside the process that has the file, a reader reads its logs page by page, as they are by then.
func TestPagesAreReadBesideAGateway(t *testing.T) {
	t.Parallel()
	b := benchAt(filepath.Join(t.TempDir(), "rangegate.db"))
	s := openAt(t, b.path)
	id := uuid.UUID{1}
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context(), storetest.BatchOf(id, epoch, 1)))
	r, err := OpenBeside(b.path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	of := store.RangeEpoch{Range: id, Epoch: epoch}
	for n := uint64(2); n <= 4; n++ {
		require.NoError(t, s.Flush(t.Context(), storetest.BatchOf(id, epoch, n)))
		meta, err := r.Meta(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, n, meta.N)
		for after := range meta.LastEvent {
			want, err := s.Events(t.Context(), of, after, 2)
			require.NoError(t, err)
			got, err := r.Events(t.Context(), id, after, 2)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		ended, err := s.History(t.Context(), of, 1, 10)
		require.NoError(t, err)
		read, err := r.History(t.Context(), id, 1, 10)
		require.NoError(t, err)
		require.Equal(t, ended, read)
		acts, err := s.Acts(t.Context(), of, 0, 10)
		require.NoError(t, err)
		done, err := r.Acts(t.Context(), id, 0, 10)
		require.NoError(t, err)
		require.Equal(t, acts, done)
	}
	_, err = r.Meta(t.Context(), uuid.UUID{2})
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = r.Events(t.Context(), uuid.UUID{2}, 0, 1)
	require.ErrorIs(t, err, store.ErrNotFound)
}

// A record that a gateway would not find is a fault, although the record itself is readable.
func TestRecordsThatWouldNotBeFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	id := uuid.UUID{1}
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	for n := uint64(1); n <= 4; n++ {
		require.NoError(t, s.Flush(t.Context(), storetest.BatchOf(id, epoch, n)))
	}
	session := storetest.BatchOf(id, epoch, 3).Ended[0].Session.ID
	require.NoError(t, s.Close())
	was := uuid.New()
	tamper(t, path,
		fmt.Sprintf("UPDATE events SET pending = 0 WHERE position = %d", positionOf(12)),
		fmt.Sprintf("UPDATE ended SET session_id = '%s' WHERE session_id = '%s'", was, session),
	)
	_, bad := readRange(t, path, id)
	assert.ElementsMatch(t, []string{
		"event 12: damaged: it is not what was written", "ended session 3: damaged: it is not what was written",
	}, bad)
}

// A reader changes no byte of the file, and cannot open it while a gateway has it.
func TestAReaderChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	_, err := OpenReader(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoFileExists(t, path)

	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	_, err = OpenReader(path)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "locked by another process")
	require.NoError(t, s.Close())

	require.NoError(t, os.Chmod(path, 0o400))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	first, err := OpenReader(path)
	require.NoError(t, err)
	second, err := OpenReader(path)
	require.NoError(t, err, "two may read")
	ids, err := first.Ranges(t.Context())
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{b.Range}, ids)
	require.ErrorIs(t, second.Read(t.Context(), uuid.New(), nil), store.ErrNotFound)
	stop := errors.New("enough")
	require.ErrorIs(t, first.Read(t.Context(), b.Range, func(store.Record) error { return stop }), stop)
	require.NoError(t, errors.Join(first.Close(), second.Close()))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after))
}

func TestRestoreTakesARangeThatIsNotThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	whole := storetest.BatchOf(uuid.UUID{1}, 7, 1)
	whole.LastEvent, whole.LastEnded, whole.LastAct = 90, 80, 70
	require.NoError(t, s.Restore(t.Context(), whole))
	require.ErrorIs(t, s.Restore(t.Context(), whole), store.ErrExists)
	whole.Range = uuid.UUID{2}
	whole.Acts = []lanes.Act{{At: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}} // which JSON does not write
	require.ErrorIs(t, s.Restore(t.Context(), whole), store.ErrRefused)
	require.NoError(t, s.Close())

	s = openAt(t, path)
	ids, err := s.Ranges(t.Context())
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{{1}}, ids)
	loaded, err := s.Load(t.Context(), store.InAnyEpoch(uuid.UUID{1}))
	require.NoError(t, err)
	require.Equal(t, uint64(90), loaded.LastEvent)
	require.Equal(t, uint64(80), loaded.LastEnded)
	require.Equal(t, uint64(70), loaded.LastAct)
}
