package actors

import (
	"slices"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// eventQueue gives out events so that those of one lane, and those of one session on whatever lanes, go one after the
// other in the order they were added. Everything else may go side by side.
type eventQueue struct {
	known map[uint64]*queuedEvent
	last  map[uuid.UUID]*queuedEvent // lane or session → its newest event that is not done
	ready []*queuedEvent
	all   []*queuedEvent // in the order they were added; those that are out are dropped in passing, and see tidied
	waits int            // how many wait to be given out
}

type queuedEvent struct {
	event    lanes.Logged
	awaits   int            // events that have to be done first
	followed []*queuedEvent // events that wait for this one
	out      bool           // given out, or dropped
}

func newEventQueue() *eventQueue {
	return &eventQueue{known: map[uint64]*queuedEvent{}, last: map[uuid.UUID]*queuedEvent{}}
}

// add takes an event. One that is queued already is not taken twice.
func (q *eventQueue) add(event lanes.Logged) {
	if _, again := q.known[event.Cursor]; again {
		return
	}
	e := &queuedEvent{event: event}
	q.known[event.Cursor] = e
	q.all = append(q.all, e)
	q.waits++
	for _, id := range [2]uuid.UUID{event.Event.Lane, event.Event.Session} {
		if before := q.last[id]; before != nil {
			before.followed = append(before.followed, e)
			e.awaits++
		}
		q.last[id] = e
	}
	if e.awaits == 0 {
		q.ready = append(q.ready, e)
	}
	q.all, q.ready = q.tidied(q.all), q.tidied(q.ready)
}

// tidied is the events without those that are out, once these are most of them: one that waits for long keeps nothing
// of what passes it.
func (q *eventQueue) tidied(events []*queuedEvent) []*queuedEvent {
	if len(events) <= 2*q.waits+64 {
		return events
	}
	return slices.DeleteFunc(events, func(e *queuedEvent) bool { return e.out })
}

// next gives out an event that waits for no other.
func (q *eventQueue) next() (lanes.Logged, bool) {
	for len(q.ready) > 0 {
		e := q.ready[0]
		q.ready = q.ready[1:]
		if !e.out {
			return q.giveOut(e), true
		}
	}
	return lanes.Logged{}, false
}

// oldest gives out the oldest event that still waits, whatever it waits for. Those that wait for it go on waiting until
// it is done.
func (q *eventQueue) oldest() (lanes.Logged, bool) {
	for len(q.all) > 0 {
		e := q.all[0]
		q.all = q.all[1:]
		if !e.out {
			return q.giveOut(e), true
		}
	}
	return lanes.Logged{}, false
}

func (q *eventQueue) giveOut(e *queuedEvent) lanes.Logged {
	e.out = true
	q.waits--
	for len(q.all) > 0 && q.all[0].out {
		q.all = q.all[1:]
	}
	return e.event
}

// done takes an event that was given out as over, and lets those go that waited for the event.
func (q *eventQueue) done(cursor uint64) {
	e := q.known[cursor]
	if e == nil {
		return
	}
	delete(q.known, cursor)
	for _, id := range [2]uuid.UUID{e.event.Event.Lane, e.event.Event.Session} {
		if q.last[id] == e {
			delete(q.last, id)
		}
	}
	for _, follower := range e.followed {
		if follower.awaits--; follower.awaits == 0 {
			q.ready = append(q.ready, follower)
		}
	}
}
