package storetest

import (
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// correlated returns what a POS knows a session by.
func correlated(externalID string) *lanes.Correlation {
	return &lanes.Correlation{
		ExternalID: externalID,
		Metadata:   map[string]string{"till": "3", "<note>": "öl & brot\u2028"},
	}
}

// endedAs returns an ended session with that external id.
func endedAs(cursor uint64, externalID string) lanes.Ended {
	e := ended(cursor, "Jo Smith")
	e.Session.Correlation = correlated(externalID)
	return e
}

// historyOf reads every ended session with that external id.
func (o *owner) historyOf(externalID string) []lanes.Ended {
	o.Helper()
	found, err := o.store.HistoryOf(o.Context(), o.rangeEpoch(), externalID, 0, math.MaxInt32)
	require.NoError(o, err)
	return append([]lanes.Ended{}, found...)
}

// cursorsOf are those of ended sessions.
func cursorsOf(sessions []lanes.Ended) (cursors []uint64) {
	for _, ended := range sessions {
		cursors = append(cursors, ended.Cursor)
	}
	return cursors
}

func correlationsSurvive(s *fixture) {
	o := s.claim(uuid.New())
	lane, event := occupied(uuid.New(), "Ann Lee"), pending(1)
	lane.Session.Correlation, event.Event.Correlation = correlated("receipt 1"), correlated("receipt 1")
	session := ended(1, "Jo Smith")
	session.Session.Correlation = &lanes.Correlation{Metadata: map[string]string{"": "an empty name"}}
	batch := o.batch()
	batch.Lanes, batch.Events, batch.Ended = []lanes.Snapshot{lane}, []lanes.Logged{event}, []lanes.Ended{session}
	o.flush(batch)
	for range 2 {
		assert.Equal(s, batch.Lanes, o.load().Lanes)
		assert.Equal(s, batch.Events, o.events())
		assert.Equal(s, batch.Ended, o.history())
		s.reopen()
	}
}

func historyByExternalID(s *fixture) {
	o, other := s.claim(uuid.New()), s.claim(uuid.New())
	assert.Empty(s, o.historyOf("a"), "no session has one yet")
	ids := []string{"a", "", "a:0", "ab", "a", strings.Repeat("ü", lanes.MaxExternalID), "A", "a"}
	for i, id := range ids {
		batch := o.batch()
		batch.Ended = []lanes.Ended{endedAs(uint64(1+10*i), id)}
		o.flush(batch)
	}
	batch := other.batch()
	batch.Ended = []lanes.Ended{endedAs(1, "a")}
	other.flush(batch)

	all := o.history()
	byA := []lanes.Ended{all[0], all[4], all[7]}
	for range 2 {
		assert.Equal(s, byA, o.historyOf("a"))
		assert.Equal(s, []uint64{51}, cursorsOf(o.historyOf(ids[5])))
		assert.Equal(s, []uint64{1}, cursorsOf(other.historyOf("a")), "of its own range alone")
		assert.Empty(s, o.historyOf("b"))
		for _, page := range []struct {
			after uint64
			limit int
			want  []lanes.Ended
		}{
			{0, 2, byA[:2]},
			{1, 1, byA[1:2]},
			{1, 5, byA[1:]},
			{40, 5, byA[1:]},
			{41, 5, byA[2:]},
			{71, 5, nil},
			{0, 0, nil},
			{math.MaxUint64, 5, nil},
			{0, math.MaxInt, byA},
		} {
			got, err := s.store.HistoryOf(s.Context(), o.rangeEpoch(), "a", page.after, page.limit)
			require.NoError(s, err)
			assert.Equal(s, append([]lanes.Ended{}, page.want...), append([]lanes.Ended{}, got...), fmt.Sprint(page))
		}
		s.reopen()
	}
}

func externalIDsAreTrimmed(s *fixture) {
	s.setRetention(store.Retention{Events: 90 * day, History: 90 * day, Names: 30 * day, Cap: 5})
	o := s.claim(uuid.New())
	for cursor := uint64(1); cursor <= 12; cursor++ {
		batch := o.batch()
		batch.Ended = []lanes.Ended{endedAs(cursor, []string{"even", "odd"}[cursor%2])}
		o.flush(batch)
	}
	o.trim(opening, func() bool { return len(o.history()) <= 5 })
	assert.Equal(s, []uint64{8, 10, 12}, cursorsOf(o.historyOf("even")))
	assert.Equal(s, []uint64{9, 11}, cursorsOf(o.historyOf("odd")))

	o.trim(opening.Add(31*day), func() bool { return o.history()[4].Session.Customer == "" })
	assert.Equal(s, o.history(), append(o.historyOf("even")[:1:1], o.history()[1:]...),
		"it stays as long as the session is on record")
	o.trim(opening.Add(91*day), func() bool { return len(o.history()) == 0 })
	assert.Empty(s, o.historyOf("even"))

	batch := o.batch()
	batch.Refill, batch.Ended = true, []lanes.Ended{endedAs(12, "even")} // a store that has lost it gets it again
	o.flush(batch)
	assert.Equal(s, batch.Ended, o.historyOf("even"))
}
