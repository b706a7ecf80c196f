package storetest

import (
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func attempted(s *fixture) {
	o := s.claim(uuid.New())
	batch := o.batch()
	batch.Events = []lanes.Logged{pending(1), pending(2), pending(3)}
	o.flush(batch)
	first, second, third := batch.Events[0], batch.Events[1], batch.Events[2]
	require.Equal(s, []lanes.Logged{first, second, third}, o.load().Pending)

	begun := delivered(second)
	begun.Attempt.Status, begun.Attempt.Error = 0, lanes.Interrupted
	batch = o.batch()
	batch.Events = []lanes.Logged{begun, pending(4)}
	fourth := batch.Events[1]
	o.flush(batch)
	assert.Equal(s, []lanes.Logged{first, third, fourth}, o.load().Pending)
	assert.Equal(s, []lanes.Logged{first, begun, third, fourth}, o.events())

	batch = o.batch()
	batch.Events = []lanes.Logged{delivered(second), delivered(first)}
	o.flush(batch)
	s.reopen()
	assert.Equal(s, []lanes.Logged{third, fourth}, o.load().Pending)
	assert.Equal(s, []lanes.Logged{delivered(first), delivered(second), third, fourth}, o.events())
	assert.Equal(s, uint64(4), o.load().LastEvent)

	again := delivered(first)
	again.Again = true
	batch = o.batch()
	batch.Events = []lanes.Logged{again}
	o.flush(batch)
	s.reopen()
	assert.Equal(s, []lanes.Logged{again, third, fourth}, o.load().Pending,
		"one that is to be sent again is pending once more")

	batch = o.batch()
	batch.Events = []lanes.Logged{delivered(again.Reopened())}
	o.flush(batch)
	s.reopen()
	assert.Equal(s, []lanes.Logged{third, fourth}, o.load().Pending)
	assert.Equal(s, []lanes.Attempt{*again.Attempt}, o.events()[0].Earlier)

	failed := delivered(second)
	failed.Attempt = &lanes.Attempt{
		At: second.Event.At, Status: 503, Error: lanes.Refused,
		RetryAt: second.Event.At.Add(5 * time.Minute),
	}
	batch = o.batch()
	batch.Events = []lanes.Logged{failed}
	o.flush(batch)
	s.reopen()
	assert.Equal(s, []lanes.Logged{failed, third, fourth}, o.load().Pending, "so is one that awaits its retry")

	failed.Attempt = &lanes.Attempt{At: second.Event.At, Status: 503, Error: lanes.Refused, GivenUp: true}
	batch = o.batch()
	batch.Events = []lanes.Logged{failed}
	o.flush(batch)
	s.reopen()
	assert.Equal(s, []lanes.Logged{third, fourth}, o.load().Pending, "until it is given up")
	assert.Equal(s, failed, o.events()[1])
}

// cursors have gaps, and need one or more bytes.
var cursors = []uint64{1, 2, 3, 9, 10, 100, 255, 256, 65_536, 1 << 40}

// pages reads a log of these cursors after each cursor and with many limits.
func pages[T any](s *fixture, records []T, read func(after uint64, limit int) ([]T, error)) {
	for i, cursor := range append([]uint64{0}, cursors...) {
		after := records[i:]
		for _, limit := range []int{1, 2, len(after) - 1, len(after), len(after) + 1, 1000, math.MaxInt} {
			got, err := read(cursor, limit)
			require.NoError(s, err)
			want := after[:min(max(limit, 0), len(after))]
			if len(want) == 0 {
				assert.Empty(s, got, "after %d, limit %d", cursor, limit)
				continue
			}
			assert.Equal(s, want, got, "after %d, limit %d", cursor, limit)
		}
	}
	inGap, err := read(4, 2) // no record has this cursor
	require.NoError(s, err)
	assert.Equal(s, records[3:5], inGap)
	for _, limit := range []int{0, -1} {
		none, err := read(0, limit)
		require.NoError(s, err)
		assert.Empty(s, none)
	}
	tail, err := read(math.MaxUint64, 10)
	require.NoError(s, err)
	assert.Empty(s, tail)
}

func pagesOfEvents(s *fixture) {
	o := s.claim(uuid.New())
	var records []lanes.Logged
	for _, cursor := range cursors {
		batch := o.batch()
		batch.Events = []lanes.Logged{pending(cursor)}
		o.flush(batch)
		records = append(records, batch.Events...)
	}
	read := func(after uint64, limit int) ([]lanes.Logged, error) {
		return s.store.Events(s.Context(), o.rangeEpoch(), after, limit)
	}
	pages(s, records, read)
	s.reopen()
	pages(s, records, read)
}

func pagesOfHistory(s *fixture) {
	o := s.claim(uuid.New())
	batch := o.batch()
	for _, cursor := range cursors {
		batch.Ended = append(batch.Ended, ended(cursor, fmt.Sprint("customer ", cursor)))
	}
	o.flush(batch)
	read := func(after uint64, limit int) ([]lanes.Ended, error) {
		return s.store.History(s.Context(), o.rangeEpoch(), after, limit)
	}
	pages(s, batch.Ended, read)
	s.reopen()
	pages(s, batch.Ended, read)
}

func endedByID(s *fixture) {
	o, other := s.claim(uuid.New()), s.claim(uuid.New())
	batch := o.batch()
	batch.Ended = []lanes.Ended{ended(1, "Jo Smith"), ended(2, "Ann Lee")}
	o.flush(batch)
	for range 2 {
		for _, want := range batch.Ended {
			got, err := s.store.Ended(s.Context(), o.rangeEpoch(), want.Session.ID)
			require.NoError(s, err)
			assert.Equal(s, want, got)
			_, err = s.store.Ended(s.Context(), other.rangeEpoch(), want.Session.ID)
			require.ErrorIs(s, err, store.ErrNotFound)
		}
		_, err := s.store.Ended(s.Context(), o.rangeEpoch(), uuid.New())
		require.ErrorIs(s, err, store.ErrNotFound)
		s.reopen()
	}
}
