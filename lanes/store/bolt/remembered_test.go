package bolt

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// What a claim has read is given to the load behind it, and to nobody once anything was written.
func TestALoadBehindAClaimIsWhatTheFileHas(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "rangegate.db"))
	b := claimed(t, s)
	b.Lanes = []lanes.Snapshot{{Lane: lanes.Lane{ID: uuid.New(), Fault: "before"}, Boot: "boot"}}
	require.NoError(t, s.Flush(t.Context(), b))
	faultOf := func() string {
		loaded, err := s.Load(t.Context(), b.Range)
		require.NoError(t, err)
		return loaded.Lanes[0].Fault
	}
	claim := func() (epoch uint64) {
		epoch, err := s.Claim(t.Context(), b.Range, opening)
		require.NoError(t, err)
		return epoch
	}
	b.Epoch = claim()
	assert.Equal(t, "before", faultOf())
	claimedAgain := claim()
	require.ErrorIs(t, s.Flush(t.Context(), b), store.ErrFenced)
	b.Epoch, b.N, b.Lanes[0].Fault = claimedAgain, 1, "flushed"
	require.NoError(t, s.Flush(t.Context(), b))
	assert.Equal(t, "flushed", faultOf(), "the claim before the flush had read another")

	claim()
	value, err := encode(b.Lanes[0].ID[:], lanes.Snapshot{Lane: lanes.Lane{ID: b.Lanes[0].ID, Fault: "refilled"}, Boot: "boot"})
	require.NoError(t, err)
	require.NoError(t, s.submit(t.Context(), func(tx *fileTx) (verdict, failure error) { // as a batch that was on its way
		r, err := tx.open(b.Range)
		require.NoError(t, err)
		r.meta.N++
		r.put(lanesBucket, b.Lanes[0].ID[:], value)
		return nil, tx.save(r)
	}))
	assert.Equal(t, "refilled", faultOf(), "something was written behind the claim")
}

// What a transaction that came to nothing has counted is not remembered.
func TestATransactionThatFailsIsNotRemembered(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	for _, save := range []func(*fileTx, *rangeTx) error{
		func(*fileTx, *rangeTx) error { return nil }, // it failed before that
		(*fileTx).save,
	} {
		require.ErrorIs(t, s.submit(t.Context(), func(tx *fileTx) (verdict, failure error) {
			r, err := tx.open(b.Range)
			require.NoError(t, err)
			r.put(lanesBucket, make([]byte, 16), seal(make([]byte, 16), []byte("{}")))
			r.meta.N = 77
			require.NoError(t, save(tx, r))
			return nil, assert.AnError
		}), assert.AnError)
		b.N++
		b.Events[0].Cursor++
		require.NoError(t, s.Flush(t.Context(), b))
		loaded, err := s.Load(t.Context(), b.Range)
		require.NoError(t, err)
		require.Equal(t, b.Events[0].Cursor, loaded.LastEvent, "the flush behind it was written")
	}
	require.NoError(t, s.Close())
	openAt(t, path) // its audit counts the records
}

// An age that is remembered is looked at with every flush, and is that of the record that lies there now.
func TestARememberedRecordGoesWhenItsTermIsOver(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	s, err := Open(filepath.Join(t.TempDir(), "rangegate.db"), store.Retention{Events: 3 * day, History: day, Names: day, Cap: 10})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	b := claimed(t, s)
	b.Events[0].Attempt = &lanes.Attempt{At: opening, Status: 200}
	next := func(now time.Time) (left int) {
		b.Now = now
		require.NoError(t, s.Flush(t.Context(), b))
		b.N, b.Events = b.N+1, nil
		events, err := s.Events(t.Context(), b.Range, 0, 10)
		require.NoError(t, err)
		return len(events)
	}
	older := b.Events[0]
	older.Event.At = opening.Add(-day)
	assert.Equal(t, 1, next(opening))
	assert.Equal(t, 1, next(opening.Add(3*day)), "its term ends now")
	b.Events = []lanes.Logged{older}
	assert.Equal(t, 1, next(opening.Add(2*day)), "another record under the same cursor")
	assert.Equal(t, 0, next(opening.Add(2*day+1)), "the other one's term is over")
}
