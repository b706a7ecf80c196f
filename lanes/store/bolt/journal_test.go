package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// A crash leaves the file as it was between any two transactions: whatever of the journal had come to its bucket by then,
// the records are those of the last flush, and so they stay when it is folded on.
func TestAFileIsWholeBetweenAnyTwoTransactions(t *testing.T) {
	t.Parallel()
	for name, p := range paces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			s, err := openAtPace(filepath.Join(folder, "rangegate.db"), keepAll, p)
			require.NoError(t, err)
			defer s.Close()
			f := &sample{ranges: []uuid.UUID{{1}, {2}}}
			var epochs [2]uint64
			for i, id := range f.ranges {
				epochs[i], err = s.Claim(t.Context(), id, opening)
				require.NoError(t, err)
			}
			for n := uint64(1); n <= 40; n++ {
				for i, id := range f.ranges {
					require.NoError(t, s.Flush(t.Context(), batchOf(id, epochs[i], n)))
				}
				want := f.read(t, s)
				left := crashed(t, s)
				path := filepath.Join(folder, fmt.Sprint("crashed-", n))
				require.NoError(t, os.WriteFile(path, left, 0o600))
				again, err := openAtPace(path, keepAll, paces["folding"])
				require.NoError(t, err)
				require.Equal(t, want, f.read(t, again), "after flush %d", n)
				again = foldedWhole(t, again)
				require.Equal(t, want, f.read(t, again), "after flush %d, and folded", n)
				require.NoError(t, again.Close())
			}
		})
	}
}

// crashed is the file as a crash would leave it now. The writer is held meanwhile.
func crashed(t *testing.T, s *Store) (left []byte) {
	t.Helper()
	require.ErrorIs(t, s.submit(t.Context(), func(*fileTx) (verdict, failure error) {
		left, verdict = os.ReadFile(s.path)
		return errors.Join(verdict, store.ErrRefused), nil
	}), store.ErrRefused)
	require.NotEmpty(t, left)
	return left
}

// Folding is how the file gets along with little: everything comes to its bucket in the end, and the journal is gone.
func TestWhatIsFoldedIsInItsBucket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s, err := openAtPace(path, keepAll, paces["folding"])
	require.NoError(t, err)
	id := uuid.UUID{1}
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	for n := uint64(1); n <= 40; n++ {
		require.NoError(t, s.Flush(t.Context(), batchOf(id, epoch, n)))
	}
	f := &sample{ranges: []uuid.UUID{id}}
	want := f.read(t, s)
	require.NoError(t, s.Close())

	s = foldedWhole(t, openAt(t, path))
	assert.Empty(t, s.file.journal.layers)
	assert.Equal(t, want, f.read(t, s))
	require.NoError(t, s.file.db.View(func(tx *bbolt.Tx) error {
		for _, generation := range s.file.journal.Generations {
			assert.Zero(t, generation.Changes)
		}
		assert.Equal(t, 120, findRange(tx, id).stored(eventsBucket).Stats().KeyN)
		return nil
	}))
}

// foldedWhole is the store opened anew with everything in its bucket.
func foldedWhole(t *testing.T, s *Store) *Store {
	t.Helper()
	require.NoError(t, s.Close())
	s, err := openAtPace(s.path, keepAll, paces["folded"])
	require.NoError(t, err)
	require.NoError(t, s.submit(t.Context(), func(*fileTx) (verdict, failure error) { return nil, nil }))
	require.NoError(t, s.Close())
	return openAt(t, s.path)
}

// An idle store folds what is to be folded, and a journal that is small stays.
func TestAnIdleStoreFolds(t *testing.T) {
	t.Parallel()
	s, err := openAtPace(filepath.Join(t.TempDir(), "rangegate.db"), keepAll, pace{at: 20_000, step: 10})
	require.NoError(t, err)
	defer s.Close()
	b := claimed(t, s)
	for i := range 200 {
		b.Lanes = append(b.Lanes, lanes.Snapshot{Lane: lanes.Lane{ID: uuid.UUID{1: byte(i)}}, Boot: "boot"})
	}
	require.NoError(t, s.Flush(t.Context(), b))
	require.Eventually(t, func() bool {
		s.file.journal.mu.RLock()
		defer s.file.journal.mu.RUnlock()
		return len(s.file.journal.layers) == 0
	}, time.Minute, time.Millisecond)
}

// A bucket that is lost while the gateway runs is found when it is written to, and nothing is written on.
func TestABucketThatIsLostStopsTheWriting(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "rangegate.db"))
	b, other := claimed(t, s), claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	require.NoError(t, s.submit(t.Context(), func(tx *fileTx) (verdict, failure error) {
		return nil, tx.Bucket(rangeKey(b.Range)).DeleteBucket([]byte(eventsBucket)) // a defect no audit lets through
	}))
	_, err := s.Events(t.Context(), b.Range, 0, 10)
	require.ErrorContains(t, err, "are gone", "it does not look like a log without events")
	require.ErrorIs(t, s.submit(t.Context(), func(tx *fileTx) (verdict, failure error) {
		tx.journal.pace = paces["folded"]
		return nil, nil
	}), store.ErrRefused, "what is in the journal does not come to its bucket")
	err = s.Flush(t.Context(), other)
	require.ErrorIs(t, err, store.ErrRefused)
	require.ErrorContains(t, err, "the file is damaged")
}

// An idle fold that cannot begin is no more than a file that has to be looked at.
func TestAFoldThatCannotBeginIsNotTheEnd(t *testing.T) {
	t.Parallel()
	s, err := openAtPace(filepath.Join(t.TempDir(), "rangegate.db"), keepAll, pace{at: 20_000, step: 1})
	require.NoError(t, err)
	b := claimed(t, s)
	for i := range 200 {
		b.Lanes = append(b.Lanes, lanes.Snapshot{Lane: lanes.Lane{ID: uuid.UUID{1: byte(i)}}, Boot: "boot"})
	}
	require.NoError(t, s.Flush(t.Context(), b))
	flipEvery(t, s.path, `"ranges":`)
	require.Eventually(t, func() bool {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.broken != nil
	}, time.Minute, time.Millisecond)
	b.N++
	require.ErrorIs(t, s.Flush(t.Context(), b), store.ErrRefused)
	require.NoError(t, s.Close())
}

// An older version goes through the file in order, and knows by a range's record of itself, in its own bucket, that a newer
// one has written: before it could take for damage what is different from then on.
func TestWhatIsNewInARangeStandsBehindItsOwnRecord(t *testing.T) {
	t.Parallel()
	older := storetest.Written(3)
	s, err := openAtPace(olderFile(t, "version-3.db"), keepAll, paces["not folded"])
	require.NoError(t, err)
	defer s.Close()
	check := func() {
		t.Helper()
		require.NoError(t, s.file.db.View(func(tx *bbolt.Tx) error {
			ids, err := rangesIn(tx)
			for _, id := range ids {
				r := findRange(tx, id)
				says := bytes.Contains(r.b.Get(metaKey), fmt.Appendf(nil, `{"v":%d,`, store.Version))
				asItWas := id == older.Range && r.stored(lanesBucket).Stats().KeyN == len(older.Lanes)
				require.True(t, says || asItWas, "range %s", id)
			}
			return err
		}))
	}
	require.NoError(t, s.Restore(t.Context(), batchOf(uuid.UUID{9}, 7, 1)))
	check()
	first := batchOf(uuid.UUID{9}, 7, 2) // whose changes are folded first
	for i := range 60 {
		first.Lanes = append(first.Lanes, lanes.Snapshot{Lane: lanes.Lane{ID: uuid.UUID{1: byte(i)}}, Boot: "boot"})
	}
	require.NoError(t, s.Flush(t.Context(), first))
	b := batchOf(older.Range, older.Epoch, 2) // as after an older copy was put back under a running gateway
	b.Refill, b.Events, b.Ended, b.Acts, b.Lanes = true, nil, nil, nil, first.Lanes
	require.NoError(t, s.Flush(t.Context(), b))
	require.ErrorIs(t, s.submit(t.Context(), func(tx *fileTx) (verdict, failure error) {
		tx.journal.pace = paces["folding"]
		return store.ErrRefused, nil
	}), store.ErrRefused)
	for b = (store.Batch{Range: b.Range, Epoch: b.Epoch, N: 3, Now: b.Now}); b.N < 80; b.N++ {
		require.NoError(t, s.Flush(t.Context(), b))
		check()
	}
}

// flipEvery flips a bit of the text wherever the file has it.
func flipEvery(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	all, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := range all {
		if bytes.HasPrefix(all[at:], []byte(text)) {
			_, err := file.WriteAt([]byte{all[at] ^ 1}, int64(at))
			require.NoError(t, err)
		}
	}
}

// Whoever reads a bucket sees what lies over it, the newest of all.
func TestWhatLiesOverABucket(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "rangegate.db"))
	number := 0
	rapid.Check(t, func(t *rapid.T) {
		number++
		id := uuid.NewSHA1(uuid.Nil, fmt.Append(nil, number))
		bucket := rapid.SampledFrom([]string{lanesBucket, eventsBucket}).Draw(t, "bucket")
		model := map[string]string{}
		draw := func(put func(key string, value []byte)) {
			for range rapid.IntRange(0, 12).Draw(t, "changes") {
				key, value := string(cursorKey(rapid.Uint64Range(1, 9).Draw(t, "key"))), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "value")
				if value == "" {
					delete(model, key)
					put(key, nil)
					continue
				}
				model[key] = value
				put(key, []byte(value))
			}
		}
		err := s.submit(context.Background(), func(tx *fileTx) (verdict, failure error) {
			if _, err := tx.makeRange(id); err != nil {
				return nil, err
			}
			older, newer := layers{}, layers{}
			r := findRange(tx.Tx, id, newer, older)
			draw(func(key string, value []byte) { require.NoError(t, write(r.stored(bucket), []byte(key), value)) })
			for _, over := range []layers{older, newer} {
				draw(func(key string, value []byte) { over.put(place{id, bucket}, key, change{value: value}) })
			}
			first := string(cursorKey(rapid.Uint64Range(0, 9).Draw(t, "from")))
			var want, found []string
			for _, key := range slices.Sorted(maps.Keys(model)) {
				require.Equal(t, model[key], string(r.get(bucket, []byte(key))))
				if key >= first {
					want = append(want, key, model[key])
				}
			}
			for key, value := range r.from(bucket, []byte(first)) {
				found = append(found, string(key), string(value))
			}
			require.Equal(t, want, found)
			return store.ErrRefused, nil
		})
		require.ErrorIs(t, err, store.ErrRefused)
	})
}
