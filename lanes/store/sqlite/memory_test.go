package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// A load after a claim gives what the claim has read, and after a flush what the file has.
func TestALoadAfterAClaimGivesWhatTheFileHas(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "rangegate.db"))
	b := claimed(t, s)
	b.Lanes = []lanes.Snapshot{{Lane: lanes.Lane{ID: uuid.New(), Fault: "before"}, Boot: "boot"}}
	require.NoError(t, s.Flush(t.Context(), b))
	faultOf := func() string {
		loaded, err := s.Load(t.Context(), store.InAnyEpoch(b.Range))
		require.NoError(t, err)
		return loaded.Lanes[0].Fault
	}
	claim := func() uint64 {
		epoch, err := s.Claim(t.Context(), b.Range, opening)
		require.NoError(t, err)
		return epoch
	}
	claim()
	assert.Equal(t, "before", faultOf())
	assert.Equal(t, "before", faultOf(), "from the file")
	b.Epoch, b.N, b.Lanes[0].Fault = claim(), 1, "flushed"
	require.NoError(t, s.Flush(t.Context(), b))
	assert.Equal(t, "flushed", faultOf(), "the claim before the flush had read another")
}

// The writer's memory keeps nothing of a transaction that failed.
func TestATransactionThatFailsIsNotRemembered(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	id := uuid.UUID{1}
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	for n := uint64(1); n < 12; n++ {
		b := storetest.BatchOf(id, epoch, n)
		rows, err := encodeBatch(b)
		require.NoError(t, err)
		require.ErrorContains(t, s.submit(t.Context(), func(tx *transaction) (rejection, failure error) {
			rejection, failure = tx.flush(b, rows, keepAll)
			require.NoError(t, errors.Join(rejection, failure))
			return nil, errors.New("failed on purpose")
		}), "failed on purpose")
		require.NoError(t, s.Flush(t.Context(), b))
	}
	require.NoError(t, s.Close())
	again := openAt(t, path) // audits the totals
	loaded, err := again.Load(t.Context(), store.InAnyEpoch(id))
	require.NoError(t, err)
	require.Len(t, loaded.Lanes, 7)
	require.Equal(t, uint64(33), loaded.LastEvent)
}

// An event whose attempt has begun is trimmed before the result of the attempt is written.
func TestAnEventThatIsTrimmedBeforeTheResultOfItsAttempt(t *testing.T) {
	t.Parallel()
	for _, keep := range []store.Retention{
		{Events: time.Hour, History: time.Hour, Names: time.Hour, Cap: 1000},
		{Events: 10 * time.Hour, History: time.Hour, Names: time.Hour, Cap: 2},
	} {
		path := filepath.Join(t.TempDir(), "rangegate.db")
		s, err := Open(path, keep)
		require.NoError(t, err)
		b := claimed(t, s)
		for cursor := uint64(2); cursor < 6; cursor++ {
			b.Events = append(b.Events, lanes.Logged{Cursor: cursor, Event: lanes.Event{ID: uuid.New(), At: opening}})
		}
		require.NoError(t, s.Flush(t.Context(), b))
		b.N, b.Now, b.Events = 2, opening.Add(2*time.Hour), b.Events[:1]
		b.Events[0].Attempt = &lanes.Attempt{At: b.Now}
		require.NoError(t, s.Flush(t.Context(), b)) // the mark
		b.N = 3
		b.Events[0].Attempt = &lanes.Attempt{At: b.Now, Status: 204}
		require.NoError(t, s.Flush(t.Context(), b))
		compareMemory(t, s, b.Range)
		require.NoError(t, s.Close())
		openAt(t, path)
	}
}

func TestWhatTheWriterRemembersIsWhatTheFileHas(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		randomBatches(t, seed)
	}
}

// randomBatches flushes random batches, with transactions that fail in between, and compares the writer's
// memory with the file after each flush.
func randomBatches(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	path := filepath.Join(t.TempDir(), "r.db")
	keep := store.Retention{
		Events: 30 * time.Second, History: 40 * time.Second, Names: 10 * time.Second,
		Cap: 20 + r.IntN(200),
	}
	s, err := Open(path, keep)
	require.NoError(t, err)
	id := uuid.UUID{byte(seed)}
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	n, now := uint64(0), opening
	last, lastEnded, lastAct := uint64(0), uint64(0), uint64(0)
	pend := map[uint64]bool{}
	attempted := map[uint64]bool{} // mark given, outcome to come
	for step := range 150 {
		now = now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
		b := store.Batch{Range: id, Epoch: epoch, N: n + 1, Now: now}
		ev := func(c uint64, done bool) lanes.Logged {
			e := lanes.Logged{Cursor: c, Event: lanes.Event{ID: uuid.New(), At: now}}
			if done {
				e.Attempt = &lanes.Attempt{At: now, Status: r.IntN(500)}
			}
			return e
		}
		for range r.IntN(12) {
			last++
			b.Events = append(b.Events, ev(last, r.IntN(3) == 0))
			if b.Events[len(b.Events)-1].Attempt == nil {
				pend[last] = true
			}
		}
		for c := range pend {
			switch r.IntN(3) {
			case 0:
				b.Events = append(b.Events, ev(c, true))
				delete(pend, c)
				attempted[c] = true
			case 1:
				if r.IntN(10) == 0 {
					b.Events = append(b.Events, ev(c, false))
				}
			}
		}
		if seed%2 == 0 { // outcome comes later, maybe when it was trimmed
			for c := range attempted {
				if r.IntN(4) == 0 {
					b.Events = append(b.Events, ev(c, true))
					delete(attempted, c)
				}
			}
		}
		if r.IntN(6) == 0 && last > 3 { // a very old one, written again
			c := 1 + r.Uint64N(last)
			if seed%2 == 0 || !attempted[c] {
				b.Events = append(b.Events, ev(c, true), ev(c, true))
				delete(pend, c)
			}
		}
		for range r.IntN(5) {
			lastEnded++
			b.Ended = append(b.Ended, lanes.Ended{
				Cursor: lastEnded, At: now,
				Session: lanes.Session{ID: uuid.New(), Customer: "Jo"},
			})
			if r.IntN(4) == 0 {
				b.Ended = append(b.Ended, lanes.Ended{
					Cursor: 1 + r.Uint64N(lastEnded), At: now,
					Session: lanes.Session{ID: uuid.New(), Customer: "Jo"},
				})
			}
		}
		for range r.IntN(5) {
			lastAct += 1 + r.Uint64N(2)
			b.Acts = append(b.Acts, lanes.Act{Cursor: lastAct, At: now})
		}
		for range r.IntN(4) {
			b.Keys = append(b.Keys, lanes.KeptAnswer{
				Name: fmt.Sprint(r.IntN(10)),
				Body: fmt.Sprint(step, r.IntN(99)), At: now,
			})
			b.Lanes = append(b.Lanes, lanes.Snapshot{Lane: lanes.Lane{
				ID:    uuid.UUID{byte(r.IntN(6))},
				Fault: fmt.Sprint(step, r.IntN(100)),
			}})
			b.Forget = append(b.Forget, fmt.Sprint(r.IntN(10)))
		}
		if r.IntN(5) == 0 {
			b.Holds = storetest.HoldsAfter(uint64(r.IntN(20)))
		}
		if r.IntN(15) == 0 {
			b.Refill, b.N, b.LastEvent, b.LastEnded = true, b.N+uint64(r.IntN(3)), last, lastEnded
		}
		if r.IntN(10) == 0 {
			last += 5
			b.LastEvent = last
		}
		if r.IntN(4) == 0 { // followed by a transaction that fails
			rows, err := encodeBatch(b)
			require.NoError(t, err)
			require.Error(t, s.submit(t.Context(), func(tx *transaction) (rejection, failure error) {
				rejection, failure = tx.flush(b, rows, keep)
				require.NoError(t, errors.Join(rejection, failure))
				return nil, errors.New("nothing")
			}))
		}
		require.NoError(t, s.Flush(t.Context(), b))
		n = b.N
		if r.IntN(4) == 0 {
			require.NoError(t, s.Flush(t.Context(), b), "repeat")
		}
		if r.IntN(30) == 0 {
			require.NoError(t, s.Close())
			s, err = Open(path, keep)
			require.NoError(t, err)
			epoch, err = s.Claim(t.Context(), id, now)
			require.NoError(t, err)
			n = 0
		}
		compareMemory(t, s, id)
	}
	require.NoError(t, s.Close())
}

// compareMemory compares the writer's memory of the range with the file. No flush runs.
func compareMemory(t *testing.T, s *Store, id uuid.UUID) {
	t.Helper()
	require.Error(t, s.submit(t.Context(), func(tx *transaction) (rejection, failure error) {
		require.NoError(t, auditTotals(tx.writer))
		remembered, err := tx.rangeOf(id)
		require.NoError(t, err)
		delete(tx.ranges, id)
		stored, err := tx.rangeOf(id)
		require.NoError(t, err)
		tx.ranges[id] = remembered
		require.True(t, slices.Equal(stored.queue, remembered.queue))
		require.Equal(t, stored.lanes, remembered.lanes)
		require.Equal(t, stored.checksum, remembered.checksum)
		for cursor, checksum := range remembered.unfinished {
			found, err := number(tx.writer, "SELECT checksum FROM events WHERE range = ? AND position = ?",
				remembered.number, positionOf(cursor))
			require.NoError(t, err)
			require.Equal(t, checksum, found, "event %d", cursor)
		}
		return errors.New("nothing is to be written"), nil
	}))
}
