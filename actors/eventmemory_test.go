package actors

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What the queue of events keeps is bounded by what waits in it and is under way, not by what went through it.

const passing = 10_000 // events

func eventAt(cursor uint64, lane, session uuid.UUID) lanes.Logged {
	return lanes.Logged{Cursor: cursor, Event: lanes.Event{Lane: lane, Session: session}}
}

func requireSmall(t *testing.T, q *eventQueue, events int) {
	t.Helper()
	require.Len(t, q.byCursor, events)
	require.LessOrEqual(t, len(q.newest), 2*events)
	require.LessOrEqual(t, len(q.added), 2*events+64)
	require.LessOrEqual(t, len(q.ready), 2*events+64)
}

func TestAnEventThatHangsForEverKeepsNothingOfThoseThatPass(t *testing.T) {
	q := newEventQueue()
	stuck, busy, session := uuid.New(), uuid.New(), uuid.New()
	q.add(eventAt(1, stuck, uuid.New()))
	_, hangs := q.next()
	require.True(t, hangs)
	q.add(eventAt(2, stuck, uuid.New())) // waits for it
	for i := range uint64(passing) {
		q.add(eventAt(3+i, busy, session))
		event, any := q.next()
		require.True(t, any)
		q.done(event.Cursor)
	}
	requireSmall(t, q, 2)
}

func TestNothingIsKeptOfWhatWasDropped(t *testing.T) {
	for name, lane := range map[string]func() uuid.UUID{
		"each on a lane of its own": uuid.New, "all on one lane": func() uuid.UUID { return uuid.Max },
	} {
		t.Run(name, func(t *testing.T) {
			q := newEventQueue()
			q.add(eventAt(1, lane(), uuid.New()))
			_, hangs := q.next()
			require.True(t, hangs)
			for i := range uint64(passing) {
				q.add(eventAt(2+i, lane(), uuid.New()))
				if q.waiting > 10 {
					q.dropOldest()
				}
			}
			requireSmall(t, q, 11)
		})
	}
}
