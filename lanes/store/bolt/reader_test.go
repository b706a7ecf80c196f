package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// readRange reads all of a range: how many records can be read, and what is said of the others.
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

// One record that is damaged hides no other.
func TestEveryRecordThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	b := benchAt(filepath.Join(t.TempDir(), "rangegate.db"))
	s := openAt(t, b.path)
	id := uuid.UUID{1}
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	for n := uint64(1); n <= 4; n++ {
		require.NoError(t, s.Flush(t.Context(), batchOf(id, epoch, n)))
	}
	lane := batchOf(id, epoch, 1).Lanes[0].ID.String()
	require.NoError(t, s.Close())
	all, bad := readRange(t, b.path, id)
	require.Empty(t, bad)
	require.Equal(t, 1+1+4+2+1+12+4+2, all, "how it stands, checkpoint, lanes, keys, holds, events, ended sessions, acts")

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
		for _, told := range bad {
			require.Contains(t, told, "newer version")
		}
		if record.Kind == storetest.Checkpoint { // is within how the range stands
			i++
		}
		require.Equal(t, all-i-1, good)
	}
}

// What a gateway would look for in vain is told, though every record is whole.
func TestRecordsThatWouldNotBeFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	id := uuid.UUID{1}
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	for n := uint64(1); n <= 4; n++ {
		require.NoError(t, s.Flush(t.Context(), batchOf(id, epoch, n)))
	}
	session := batchOf(id, epoch, 3).Ended[0].Session.ID
	require.NoError(t, s.submit(t.Context(), func(tx *fileTx) (verdict, failure error) {
		r, err := tx.open(id)
		if err != nil {
			return nil, err
		}
		r.delete(pendingBucket, cursorKey(12))
		r.put(pendingBucket, cursorKey(1), seal(cursorKey(1), nil))
		r.delete(eventsBucket, cursorKey(11))
		r.delete(sessionsBucket, session[:])
		r.delete(historyBucket, cursorKey(4))
		return nil, tx.save(r)
	}))
	require.NoError(t, s.Close())
	_, bad := readRange(t, path, id)
	assert.ElementsMatch(t, []string{
		"event 12: it is pending, and does not stand among the pending ones",
		"event 1: it was attempted, and stands among the pending ones",
		"event 11: it is pending, and there is no such event",
		"ended session 3: session " + session.String() + " would not be found by its id",
		"session " + batchOf(id, epoch, 4).Ended[0].Session.ID.String() + ": there is no such ended session: 4",
	}, bad)
}

// A reader leaves the file as it is, to the byte, and a gateway that runs keeps it to itself.
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
	one, err := OpenReader(path)
	require.NoError(t, err)
	other, err := OpenReader(path)
	require.NoError(t, err, "two may read")
	there, err := one.Ranges(t.Context())
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{b.Range}, there)
	require.ErrorIs(t, other.Read(t.Context(), uuid.New(), nil), store.ErrNotFound)
	stop := errors.New("enough")
	require.ErrorIs(t, one.Read(t.Context(), b.Range, func(store.Record) error { return stop }), stop)
	require.NoError(t, errors.Join(one.Close(), other.Close()))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after))
}

// Whatever befalls the file, a reader says that it is damaged, or tells of every record what it was or that it cannot
// be read.
func TestAReaderOfADamagedFile(t *testing.T) {
	t.Parallel()
	f := newSample(t)
	path := filepath.Join(t.TempDir(), "damaged.db")
	everything := func() (all map[string]any, err error) {
		require.NoError(t, os.WriteFile(path, f.damaged, 0o600))
		r, err := OpenReader(path)
		if err != nil {
			return nil, err
		}
		defer func() { require.NoError(t, r.Close()) }()
		ids, err := r.Ranges(t.Context())
		all = map[string]any{}
		for _, id := range ids {
			err = errors.Join(err, r.Read(t.Context(), id, func(record store.Record) error {
				if record.Err != nil {
					record.Value = record.Err
				}
				all[fmt.Sprint(id, " ", record.Name)] = record.Value
				return nil
			}))
		}
		return all, err
	}
	f.damaged = f.whole
	want, err := everything()
	require.NoError(t, err)
	noticed, told := 0, 0
	random := rand.New(rand.NewPCG(2026, 21)) // the same every time
	for range 150 {
		at := random.IntN(f.used(t))
		f.damaged = bytes.Clone(f.whole)
		f.damaged[at] ^= 1 << (at % 8)
		got, err := everything()
		if err != nil {
			require.ErrorContains(t, err, path)
			noticed++
			continue
		}
		for name, value := range got {
			if _, is := value.(error); is {
				told++
				continue
			}
			require.Equal(t, want[name], value, "byte %d", at)
		}
		for name := range want { // one whose key is damaged is told of under another name
			if _, there := got[name]; !there {
				require.Greater(t, told, 0, "%s is gone, byte %d", name, at)
			}
		}
	}
	require.Positive(t, noticed)
	require.Positive(t, told)
}

func TestRestoreTakesARangeThatIsNotThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	whole := batchOf(uuid.UUID{1}, 7, 1)
	whole.LastEvent, whole.LastEnded, whole.LastAct = 90, 80, 70
	require.NoError(t, s.Restore(t.Context(), whole))
	require.ErrorIs(t, s.Restore(t.Context(), whole), store.ErrExists)
	whole.Range = uuid.UUID{2}
	whole.Keys = []lanes.KeptAnswer{{}} // a name that no file can hold
	require.ErrorIs(t, s.Restore(t.Context(), whole), store.ErrRefused)
	require.NoError(t, s.Close())

	s = openAt(t, path)
	there, err := s.Ranges(t.Context())
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{{1}}, there)
	loaded, err := s.Load(t.Context(), uuid.UUID{1})
	require.NoError(t, err)
	require.Equal(t, uint64(90), loaded.LastEvent)
	require.Equal(t, uint64(80), loaded.LastEnded)
	require.Equal(t, uint64(70), loaded.LastAct)
}
