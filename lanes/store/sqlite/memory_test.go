package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What a claim has read is given to the load behind it, and to nobody once anything was flushed.
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

// What a transaction that came to nothing has counted, numbered and queued is not remembered.
func TestATransactionThatFailsIsNotRemembered(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	id := uuid.UUID{1}
	epoch, err := s.Claim(t.Context(), id, opening)
	require.NoError(t, err)
	for n := uint64(1); n < 12; n++ {
		b := batchOf(id, epoch, n)
		encoded, err := recordsOf(b)
		require.NoError(t, err)
		require.ErrorContains(t, s.submit(t.Context(), func(tx *transaction) (verdict, failure error) {
			verdict, failure = tx.flush(b, encoded, keepAll)
			require.NoError(t, errors.Join(verdict, failure))
			return nil, errors.New("came to nothing")
		}), "came to nothing")
		require.NoError(t, s.Flush(t.Context(), b))
	}
	require.NoError(t, s.Close())
	again := openAt(t, path) // audits what was counted
	loaded, err := again.Load(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, loaded.Lanes, 7)
	require.Equal(t, uint64(33), loaded.LastEvent)
}
