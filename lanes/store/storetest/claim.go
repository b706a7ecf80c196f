package storetest

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func freshRange(s *fixture) {
	nothing := saved{Recovered: normalize(store.Recovered{})}
	o := &owner{fixture: s, rangeID: uuid.New()}
	for range 2 {
		got := o.saved()
		assert.Equal(s, nothing.Recovered, got.Recovered)
		assert.Empty(s, got.Events)
		assert.Empty(s, got.History)
		assert.Empty(s, got.Acts)
		_, err := s.store.Ended(s.Context(), o.rangeEpoch(), uuid.New())
		require.ErrorIs(s, err, store.ErrNotFound)
		o = s.claim(o.rangeID)
	}
}

func claimRaisesEpoch(s *fixture) {
	rangeID := uuid.New()
	claim := func(now time.Time) uint64 {
		epoch, err := s.store.Claim(s.Context(), rangeID, now)
		require.NoError(s, err)
		return epoch
	}
	first := uint64(opening.UnixMilli())
	assert.Equal(s, first, claim(opening), "the first epoch is the time")
	assert.Equal(s, first+1, claim(opening), "the clock stands still")
	assert.Equal(s, first+2, claim(opening.Add(-30*day)), "the clock was put back")
	assert.Equal(s, first+3, claim(time.Unix(-5, 0)), "the clock is not set")
	s.reopen()
	assert.Equal(s, first+4, claim(opening.Add(time.Millisecond)), "behind the stored one")
	assert.Equal(s, first+1000, claim(opening.Add(time.Second)), "the clock went on")
}

func claimKeepsData(s *fixture) {
	first := s.claim(uuid.New())
	batch := first.batch()
	batch.Checkpoint = &lanes.Checkpoint{At: at(0), Boot: "b"}
	batch.Lanes = []lanes.Snapshot{occupied(uuid.New(), "Jo Smith")}
	batch.Events = []lanes.Logged{pending(1), delivered(pending(2))}
	batch.Ended = []lanes.Ended{ended(1, "Ann Lee")}
	batch.Acts = []lanes.Act{act(1, "sam")}
	batch.Keys = []lanes.KeptAnswer{answer("k")}
	batch.Holds = new(holds("Ann Lee"))
	first.flush(batch)
	before := first.saved()

	second := s.claim(first.rangeID)
	assert.Equal(s, before, second.saved())
	second.flush(second.batch()) // its n starts at 0
	assert.Equal(s, before, second.saved())
}

func endedContext(s *fixture) {
	o := s.claim(uuid.New())
	o.flush(o.batch())
	before := o.saved()
	canceled, cancel := context.WithCancel(s.Context())
	cancel()

	batch := o.batch()
	batch.Lanes = []lanes.Snapshot{occupied(uuid.New(), "Jo Smith")}
	batch.Holds = new(holds("Ann Lee"))
	batch.Acts = []lanes.Act{act(1, "sam")}
	err := s.store.Flush(canceled, batch)
	require.ErrorIs(s, err, store.ErrRefused)
	require.ErrorIs(s, err, context.Canceled)
	_, err = s.store.Claim(canceled, o.rangeID, opening.Add(time.Hour))
	require.ErrorIs(s, err, context.Canceled)
	_, err = s.store.Load(canceled, o.rangeEpoch())
	require.ErrorIs(s, err, context.Canceled)
	require.ErrorIs(s, s.store.Confirm(canceled, o.rangeEpoch()), context.Canceled)
	_, err = s.store.Ended(canceled, o.rangeEpoch(), uuid.New())
	require.ErrorIs(s, err, context.Canceled)
	_, err = s.store.Events(canceled, o.rangeEpoch(), 0, 10)
	require.ErrorIs(s, err, context.Canceled)
	_, err = s.store.History(canceled, o.rangeEpoch(), 0, 10)
	require.ErrorIs(s, err, context.Canceled)
	_, err = s.store.Acts(canceled, o.rangeEpoch(), 0, 10)
	require.ErrorIs(s, err, context.Canceled)

	assert.Equal(s, before, o.saved())
	o.flush(batch) // neither the pair nor the epoch has moved
}
