package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// The month of a large range.
const (
	monthLanes    = 50
	monthDays     = 30
	monthSessions = 4 // of a lane, each day
	monthEvents   = 6 // of a session
	monthFlushes  = 2 // each day, with many records, so that the test is short
)

// Growth flushes a month of a large range. It checks after every flush that the store has no more records
// than its retention allows, and that its size in bytes is stable in the last third, when as many records
// come as are trimmed. Run does not include it: some benches are too slow.
func Growth(t *testing.T, bench Bench, size func() int64) {
	s := &fixture{T: t, bench: bench, retention: store.Retention{
		Events: 3 * day, History: 30 * day, Names: 10 * day,
		// more than the events of their term, less than the history
		Cap: monthLanes * monthSessions * monthDays * 2 / 3,
	}}
	s.store = bench.Open(t, s.retention)
	t.Cleanup(func() { _ = s.store.Close() })
	m := month{owner: s.claim(uuid.New())}
	for range monthLanes {
		m.lanes = append(m.lanes, uuid.New())
	}

	var settled int64
	for today := range monthDays {
		for part := range monthFlushes {
			m.flushPart(opening.Add(time.Duration(today)*day + time.Duration(part+1)*day/monthFlushes))
			m.requireBounded()
		}
		if today == monthDays*2/3 {
			settled = size()
		}
	}
	require.LessOrEqual(t, size(), settled+settled/5, "after %d days, and %d before", monthDays, settled)

	events, history := m.events(), m.history()
	require.GreaterOrEqual(t, len(events), 3*monthLanes*monthSessions*monthEvents,
		"and no fewer than the retention allows")
	require.Len(t, history, s.retention.Cap)
	require.Len(t, m.acts(), s.retention.Cap)
	named := slices.IndexFunc(history, func(e lanes.Ended) bool { return e.Session.Customer != "" })
	require.Positive(t, named)
	require.False(t, history[named].At.Before(m.now.Add(-10*day-day/monthFlushes)), "names have a shorter term")
	require.Len(t, m.load().Lanes, monthLanes)
}

// month is the range during the month.
type month struct {
	*owner
	lanes                []uuid.UUID
	now                  time.Time
	lastEvent, lastEnded uint64
	lastAct              uint64
}

// flushPart flushes the records since the last flush.
func (m *month) flushPart(now time.Time) {
	m.now = now
	batch := m.batch()
	batch.Now = now
	for i, lane := range m.lanes {
		snapshot := occupied(lane, "Jo Smith")
		batch.Lanes = append(batch.Lanes, snapshot)
		for range monthSessions / monthFlushes {
			for range monthEvents {
				m.lastEvent++
				event := delivered(pending(m.lastEvent))
				event.Event.Lane, event.Event.At = lane, now
				batch.Events = append(batch.Events, event)
			}
			m.lastEnded++
			session := ended(m.lastEnded, "Jo Smith")
			session.Lane, session.At = m.lanes[i], now
			batch.Ended = append(batch.Ended, session)
			m.lastAct++
			done := act(m.lastAct, "sam")
			done.Lane, done.At = lane, now
			batch.Acts = append(batch.Acts, done)
		}
	}
	m.flush(batch)
}

// requireBounded requires that no record is over its term or over the cap. Cursors have no gaps.
func (m *month) requireBounded() {
	m.Helper()
	events, err := m.store.Events(m.Context(), m.rangeEpoch(), 0, 1)
	require.NoError(m, err)
	require.False(m, events[0].Event.At.Before(m.now.Add(-m.retention.Events)), "the oldest event")
	require.LessOrEqual(m, m.lastEvent-events[0].Cursor+1, uint64(m.retention.Cap))
	history, err := m.store.History(m.Context(), m.rangeEpoch(), 0, 1)
	require.NoError(m, err)
	require.False(m, history[0].At.Before(m.now.Add(-m.retention.History)), "the oldest session")
	require.LessOrEqual(m, m.lastEnded-history[0].Cursor+1, uint64(m.retention.Cap))
	acts, err := m.store.Acts(m.Context(), m.rangeEpoch(), 0, 1)
	require.NoError(m, err)
	require.False(m, acts[0].At.Before(m.now.Add(-m.retention.History)), "the oldest act")
	require.LessOrEqual(m, m.lastAct-acts[0].Cursor+1, uint64(m.retention.Cap))
}
