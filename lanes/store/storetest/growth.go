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

// A range and its month.
const (
	monthLanes    = 100
	monthDays     = 30
	monthSessions = 4 // of a lane, each day
	monthEvents   = 6 // of a session
	monthFlushes  = 2 // each day: many at once, or the month would take one
)

// Growth lives a month of a large range on the bench, and checks after every flush that the store keeps no more than it
// was told to, and in the last third, when all that leaves is made up for by what comes, that its size stays. The size
// is in bytes, wherever the store has them. (Run does not tell this one: not every bench is fast enough.)
func Growth(t *testing.T, bench Bench, size func() int64) {
	s := &stage{T: t, bench: bench, retention: store.Retention{
		Events: 3 * day, History: 30 * day, Names: 10 * day,
		Cap: monthLanes * monthSessions * monthDays * 2 / 3, // more than the events of their term, less than the history
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
			m.live(opening.Add(time.Duration(today)*day + time.Duration(part+1)*day/monthFlushes))
			m.bounded()
		}
		if today == monthDays*2/3 {
			settled = size()
		}
	}
	require.LessOrEqual(t, size(), settled+settled/5, "after %d days, and %d before", monthDays, settled)

	events, history := m.events(), m.history()
	require.GreaterOrEqual(t, len(events), 3*monthLanes*monthSessions*monthEvents, "and no less than it was told to")
	require.Len(t, history, s.retention.Cap)
	require.Len(t, m.acts(), s.retention.Cap)
	named := slices.IndexFunc(history, func(e lanes.Ended) bool { return e.Session.Customer != "" })
	require.Positive(t, named)
	require.False(t, history[named].At.Before(m.now.Add(-10*day-day/monthFlushes)), "names have a shorter term")
	require.Len(t, m.load().Lanes, monthLanes)
}

// month is what happens on the range.
type month struct {
	*owner
	lanes                []uuid.UUID
	now                  time.Time
	lastEvent, lastEnded uint64
	lastAct              uint64
}

// live flushes what has happened up to now since the last time.
func (m *month) live(now time.Time) {
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

// bounded checks that nothing is kept over its term, nor over the cap. Cursors have no gaps here.
func (m *month) bounded() {
	m.Helper()
	events, err := m.store.Events(m.Context(), m.rangeID, 0, 1)
	require.NoError(m, err)
	require.False(m, events[0].Event.At.Before(m.now.Add(-m.retention.Events)), "the oldest event")
	require.LessOrEqual(m, m.lastEvent-events[0].Cursor+1, uint64(m.retention.Cap))
	history, err := m.store.History(m.Context(), m.rangeID, 0, 1)
	require.NoError(m, err)
	require.False(m, history[0].At.Before(m.now.Add(-m.retention.History)), "the oldest session")
	require.LessOrEqual(m, m.lastEnded-history[0].Cursor+1, uint64(m.retention.Cap))
	acts, err := m.store.Acts(m.Context(), m.rangeID, 0, 1)
	require.NoError(m, err)
	require.False(m, acts[0].At.Before(m.now.Add(-m.retention.History)), "the oldest act")
	require.LessOrEqual(m, m.lastAct-acts[0].Cursor+1, uint64(m.retention.Cap))
}
