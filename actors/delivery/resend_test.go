package delivery

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock/clocktest"
	"rangegate/actors/metrics"
	"rangegate/lanes"
)

// Events that may not go yet keep those behind them that have their lane or their session, and no others.
func TestTheOrderOfWhatIsSentAgain(t *testing.T) {
	laneA, laneB, laneC := uuid.New(), uuid.New(), uuid.New()
	sessionA, sessionB, moved := uuid.New(), uuid.New(), uuid.New()
	q := resendQueue{known: map[uint64]bool{}}
	for i, e := range []lanes.Event{
		{Lane: laneA, Session: sessionA},
		{Lane: laneB, Session: sessionB},
		{Lane: laneA, Session: moved},
		{Lane: laneC, Session: moved},
		{Lane: laneB, Session: sessionB},
	} {
		q.add(lanes.Logged{Cursor: uint64(i + 1), Event: e})
		q.add(lanes.Logged{Cursor: uint64(i + 1), Event: e})
	}
	cursors := func(events []*lanes.Logged) (all []uint64) {
		for _, e := range events {
			all = append(all, e.Cursor)
		}
		return all
	}
	batch := q.take(ResendSize, func(e lanes.Event) bool { return e.Session != sessionA })
	require.Equal(t, []uint64{2, 5}, cursors(batch), "3 is behind 1 on its lane, 4 behind 3 of its session")
	require.Len(t, q.known, 5)
	q.finish(batch)
	require.Len(t, q.known, 3)
	require.Equal(t, []uint64{1, 3, 4}, cursors(q.take(ResendSize, func(lanes.Event) bool { return true })))
	require.Empty(t, q.waiting)
}

// An event that the log does not have when it is due is looked for again, as the store may get it back, and then
// given up: nothing waits for it any more.
func TestARetryWithoutItsRecordIsGivenUp(t *testing.T) {
	registry := prometheus.NewRegistry()
	d := Open(Deps{
		Life: t.Context(), Clock: clocktest.New(), Metrics: metrics.New(registry), Log: zerolog.Nop(),
		Read: func(context.Context, uint64, int) ([]lanes.Logged, error) { return nil, nil },
	}, nil, nil, "")
	box := d.outboxOf("")
	box.retries.addAgain([]uint64{1000}, d.Clock.Now().Wall)
	due := box.retries.take(d.Clock.Now().Wall.Add(time.Second), 10)
	require.Equal(t, []uint64{1000}, due)
	for range maxMissed - 1 {
		events, settled := box.readRetries(due)
		require.Empty(t, events)
		require.Empty(t, settled)
		require.Equal(t, due, box.retries.take(d.Clock.Now().Wall.Add(RetryRead+time.Second), 10))
	}
	events, settled := box.readRetries(due)
	require.Empty(t, events)
	require.Equal(t, due, settled)
	families, err := registry.Gather()
	require.NoError(t, err)
	givenUp := -1.0
	for _, family := range families {
		if family.GetName() == "rangegate_events_given_up_total" {
			givenUp = family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	require.Equal(t, 1.0, givenUp)
	require.Zero(t, box.retries.count())
	require.Empty(t, box.retries.underWay)
	require.Empty(t, box.retries.misses)
}
