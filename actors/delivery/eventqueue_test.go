package delivery

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// queueModel is the specification of an event queue: an event may start once all events that were added
// before it on its lane, or of its session, are done.
type queueModel struct {
	added   []lanes.Logged
	started map[uint64]bool
	done    map[uint64]bool
	cursor  uint64
}

func (m *queueModel) canStart(i int) bool {
	for _, before := range m.added[:i] {
		related := before.Event.Lane == m.added[i].Event.Lane || before.Event.Session == m.added[i].Event.Session
		if related && !m.done[before.Cursor] {
			return false
		}
	}
	return !m.started[m.added[i].Cursor]
}

// startable returns the events that may start now.
func (m *queueModel) startable() (cursors []uint64) {
	for i, event := range m.added {
		if m.canStart(i) {
			cursors = append(cursors, event.Cursor)
		}
	}
	return cursors
}

// oldestWaiting returns the index of the waiting event that was added first, -1 when none waits.
func (m *queueModel) oldestWaiting() int {
	return slices.IndexFunc(m.added, func(e lanes.Logged) bool { return !m.started[e.Cursor] })
}

// waiting returns how many events have not started.
func (m *queueModel) waiting() (n int) {
	for _, event := range m.added {
		if !m.started[event.Cursor] {
			n++
		}
	}
	return n
}

// inProgress returns the events that have started and are not done.
func (m *queueModel) inProgress() (cursors []uint64) {
	for _, event := range m.added {
		if m.started[event.Cursor] && !m.done[event.Cursor] {
			cursors = append(cursors, event.Cursor)
		}
	}
	return cursors
}

func TestEventsGoInOrderPerLaneAndPerSession(t *testing.T) {
	ids := make([]uuid.UUID, 8)
	for i := range ids {
		ids[i] = uuid.New()
	}
	onLane, ofSession := rapid.SampledFrom(ids[:3]), rapid.SampledFrom(ids[3:])
	rapid.Check(t, func(t *rapid.T) {
		queue, model := newEventQueue(), queueModel{started: map[uint64]bool{}, done: map[uint64]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				model.cursor++
				event := lanes.Logged{Cursor: model.cursor, Event: lanes.Event{
					Lane: onLane.Draw(t, "lane"), Session: ofSession.Draw(t, "session"),
				}}
				model.added = append(model.added, event)
				queue.add(event)
			},
			"add again": func(t *rapid.T) {
				if len(model.added) == 0 {
					return // there is no event to repeat
				}
				if event := rapid.SampledFrom(model.added).Draw(t, "event"); !model.done[event.Cursor] {
					queue.add(event)
				}
			},
			"next": func(t *rapid.T) {
				may := model.startable()
				event, found := queue.next()
				require.Equal(t, len(may) > 0, found, "an event that may start is not kept back")
				if found {
					require.Contains(t, may, event.Cursor)
					model.started[event.Cursor] = true
				}
			},
			"drop the oldest": func(t *rapid.T) {
				i := model.oldestWaiting()
				event, found := queue.dropOldest()
				require.Equal(t, i >= 0, found)
				if found {
					require.Equal(t, model.added[i].Cursor, event.Cursor)
					model.started[event.Cursor], model.done[event.Cursor] = true, true
				}
			},
			"done": func(t *rapid.T) {
				under := model.inProgress()
				if len(under) == 0 {
					return // there is no event to end
				}
				cursor := rapid.SampledFrom(under).Draw(t, "cursor")
				model.done[cursor] = true
				queue.done(cursor)
			},
			"": func(t *rapid.T) { require.Equal(t, model.waiting(), queue.waiting) },
		})
		for len(model.done) < len(model.added) { // every event comes to its end
			event, found := queue.next()
			if found {
				model.started[event.Cursor] = true
			}
			require.NotEmpty(t, model.inProgress())
			cursor := model.inProgress()[0]
			model.done[cursor] = true
			queue.done(cursor)
		}
		require.Empty(t, queue.byCursor)
		require.Empty(t, queue.newest, "nothing is kept of events that are done")
	})
}

// The memory of the event queue is bounded by the events that wait and are under way, not by those that
// passed through it.

const eventCount = 10_000 // events

func newEvent(cursor uint64, lane, session uuid.UUID) lanes.Logged {
	return lanes.Logged{Cursor: cursor, Event: lanes.Event{Lane: lane, Session: session}}
}

func requireBounded(t *testing.T, q *eventQueue, events int) {
	t.Helper()
	require.Len(t, q.byCursor, events)
	require.LessOrEqual(t, len(q.newest), 2*events)
	require.LessOrEqual(t, len(q.added), 2*events+64)
	require.LessOrEqual(t, len(q.ready), 2*events+64)
}

func TestAHangingEventDoesNotGrowTheQueue(t *testing.T) {
	q := newEventQueue()
	blocked, busy, session := uuid.New(), uuid.New(), uuid.New()
	q.add(newEvent(1, blocked, uuid.New()))
	_, hangs := q.next()
	require.True(t, hangs)
	q.add(newEvent(2, blocked, uuid.New())) // waits for it
	for i := range uint64(eventCount) {
		q.add(newEvent(3+i, busy, session))
		event, found := q.next()
		require.True(t, found)
		q.done(event.Cursor)
	}
	requireBounded(t, q, 2)
}

func TestDroppedEventsLeaveNothingInTheQueue(t *testing.T) {
	for name, lane := range map[string]func() uuid.UUID{
		"each on a lane of its own": uuid.New, "all on one lane": func() uuid.UUID { return uuid.Max },
	} {
		t.Run(name, func(t *testing.T) {
			q := newEventQueue()
			q.add(newEvent(1, lane(), uuid.New()))
			_, hangs := q.next()
			require.True(t, hangs)
			for i := range uint64(eventCount) {
				q.add(newEvent(2+i, lane(), uuid.New()))
				if q.waiting > 10 {
					q.dropOldest()
				}
			}
			requireBounded(t, q, 11)
		})
	}
}
