package storetest

import (
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func rangesAreSeparate(s *fixture) {
	first, second := s.claim(uuid.New()), s.claim(uuid.New())
	first.flush(first.filled(1))
	first.flush(first.filled(2))
	want := first.saved()
	assert.Empty(s, second.load().Lanes)
	assert.Zero(s, second.load().Holds)

	// The same ids and cursors in another range are other records.
	batch := second.batch()
	batch.Lanes = []lanes.Snapshot{free(want.Recovered.Lanes[0].ID)}
	batch.Events = []lanes.Logged{delivered(pending(1))}
	batch.Ended = []lanes.Ended{want.History[0]}
	batch.Ended[0].Cursor = 7
	batch.Acts = []lanes.Act{act(1, "kim")}
	batch.Keys = want.Recovered.Keys
	batch.Holds = new(want.Recovered.Holds.Lift(lanes.Scope{Kind: lanes.OverRange}, opening))
	batch.Forget = []string{want.Recovered.Keys[0].Name}
	second.flush(batch)
	third := s.claim(second.rangeID)

	s.reopen()
	assert.Equal(s, want, first.saved())
	assert.Equal(s, batch.Lanes, third.load().Lanes)
	assert.Equal(s, *batch.Holds, third.load().Holds)
	assert.Equal(s, batch.Acts, third.acts())
	first.flush(first.filled(3)) // the claim of another range does not fence it
	require.ErrorIs(s, second.try(second.batch()), store.ErrFenced)
}

func concurrentFlushes(s *fixture) {
	const ranges, flushes = 64, 8
	want := make([]saved, ranges)
	owners := make([]*owner, ranges)
	failures := make(chan error, ranges*flushes*2)
	var working sync.WaitGroup
	for i := range ranges {
		owners[i] = s.claim(uuid.New())
		lane := uuid.New()
		working.Go(func() {
			o := owners[i]
			for n := uint64(1); n <= flushes; n++ {
				batch := o.filled(n)
				batch.N = n
				batch.Lanes = []lanes.Snapshot{occupied(lane, fmt.Sprint("customer ", i, " ", n))}
				want[i].Recovered.Lanes, want[i].Recovered.Holds = batch.Lanes, *batch.Holds
				want[i].Recovered.Keys = append(want[i].Recovered.Keys, batch.Keys...)
				want[i].Events = append(want[i].Events, batch.Events...)
				want[i].History = append(want[i].History, batch.Ended...)
				want[i].Acts = append(want[i].Acts, batch.Acts...)
				failures <- o.try(batch)
				_, err := s.store.Load(s.Context(), o.rangeEpoch())
				failures <- err
			}
		})
	}
	working.Wait()
	close(failures)
	for err := range failures {
		require.NoError(s, err)
	}
	s.reopen()
	for i, o := range owners {
		want[i].Recovered.Pending = want[i].Events
		want[i].Recovered.LastEvent, want[i].Recovered.LastEnded = flushes, flushes
		want[i].Recovered.LastAct = flushes
		want[i].Recovered = normalize(want[i].Recovered)
		assert.Equal(s, want[i], o.saved())
	}
}
