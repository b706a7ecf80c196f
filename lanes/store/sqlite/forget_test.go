package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

func TestForget(t *testing.T) {
	storetest.RunForget(t, func(t *testing.T) storetest.Bench {
		return benchAt(filepath.Join(t.TempDir(), "rangegate.db"))
	})
}

// filledWith gives the batch new records with the name in each of them.
func filledWith(b store.Batch, name string) store.Batch {
	b.Checkpoint = &lanes.Checkpoint{Boot: name}
	b.Holds = new(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, name, opening))
	b.Lanes, b.Events, b.Ended, b.Acts, b.Keys = nil, nil, nil, nil, nil
	for i := range uint64(20) {
		session := lanes.Session{
			ID: uuid.New(), Customer: name, Correlation: &lanes.Correlation{ExternalID: name + " again"},
		}
		cursor := 20*b.N + i
		b.Lanes = append(b.Lanes, lanes.Snapshot{Lane: lanes.Lane{ID: uuid.UUID{byte(i)}, Session: &session}})
		b.Events = append(b.Events, lanes.Logged{
			Cursor: cursor, Event: lanes.Event{ID: uuid.New(), At: opening},
			Delivery: lanes.Delivery{Attempt: &lanes.Attempt{At: opening, Error: name}},
		})
		b.Ended = append(b.Ended, lanes.Ended{Cursor: cursor, At: opening, Session: session})
		b.Acts = append(b.Acts, lanes.Act{Cursor: cursor, At: opening, Who: name})
		b.Keys = append(b.Keys, lanes.KeptAnswer{Name: fmt.Sprint(name, cursor), Body: name, At: opening})
	}
	return b
}

// Nothing of a forgotten range is found by whoever reads the bytes of the folder: not what was removed now,
// nor what its flushes had removed before. It is so, too, once a command was run again that was killed before
// it had overwritten that.
func TestNoBytesOfAForgottenRangeStayInTheFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	left, kept := claimed(t, s), claimed(t, s)
	for range 60 {
		require.NoError(t, s.Flush(t.Context(), filledWith(left, "Jo Smith")))
		require.NoError(t, s.Flush(t.Context(), filledWith(kept, "Ann Lee")))
		left.N++
		kept.N++
	}
	require.NoError(t, s.Close())
	count := func(text string) (found int) {
		t.Helper()
		all, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		for _, entry := range all {
			content, err := os.ReadFile(filepath.Join(filepath.Dir(path), entry.Name()))
			require.NoError(t, err)
			found += bytes.Count(content, []byte(text))
		}
		return found
	}
	require.Greater(t, count("Jo Smith"), 60*20*4)
	require.Greater(t, count("Ann Lee"), 60*20*4)
	trimming, err := Open(path, store.Retention{Cap: 100})
	require.NoError(t, err)
	for range 30 {
		left.Events, left.Now = nil, opening.Add(time.Hour)
		require.NoError(t, trimming.Flush(t.Context(), left))
		left.N++
	}

	as := store.RangeMeta{Epoch: left.Epoch, N: left.N - 1}
	require.NoError(t, trimming.Forget(t.Context(), left.Range, as, opening))
	trimming.forgot = false // the process is killed
	require.NoError(t, trimming.Close())
	require.Positive(t, count("Jo Smith"), "this test sees what is not overwritten")

	s = openAt(t, path)
	require.NoError(t, s.Forget(t.Context(), left.Range, store.RangeMeta{}, opening))
	require.NoError(t, s.Close())
	require.Zero(t, count("Jo Smith"))
	require.Equal(t, 3, count(left.Range.String()), "its epoch stays: a row, its record, and the index of ids")
	require.Greater(t, count("Ann Lee"), 60*20*4)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no WAL and no temporary file")

	r, err := OpenReader(path)
	require.NoError(t, err, "the file is whole")
	defer func() { require.NoError(t, r.Close()) }()
	ids, err := r.Ranges(t.Context())
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{kept.Range}, ids)
	_, err = r.Meta(t.Context(), left.Range)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorIs(t, r.Read(t.Context(), left.Range, nil), store.ErrNotFound)
}

// A reader keeps the WAL, and with it the pages of before: that is an error, and the command is run again.
func TestWhatAReaderKeepsIsNotOverwritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), filledWith(b, "Jo Smith")))
	reader, err := s.Beside()
	require.NoError(t, err)
	require.NoError(t, execute(reader.conn, "BEGIN"))
	_, err = reader.Ranges(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Forget(t.Context(), b.Range, store.RangeMeta{Epoch: b.Epoch, N: b.N}, opening))
	require.ErrorIs(t, s.Close(), errReading)
	require.NoError(t, reader.Close())

	s = openAt(t, path)
	require.NoError(t, s.Forget(t.Context(), b.Range, store.RangeMeta{}, opening))
	require.NoError(t, s.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Zero(t, bytes.Count(content, []byte("Jo Smith")))
}
