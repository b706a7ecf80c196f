package actors

import (
	"slices"
	"time"

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
	awaits   [2]*queuedEvent // the one before it on its lane, and the one of its session, until they are done
	followed []*queuedEvent  // events that wait for this one
	out      bool            // given out, or dropped
}

// lines are the two that the event stands in: its lane's and its session's.
func (e *queuedEvent) lines() [2]uuid.UUID {
	return [2]uuid.UUID{e.event.Event.Lane, e.event.Event.Session}
}

func (e *queuedEvent) free() bool { return e.awaits == [2]*queuedEvent{} }

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
	for line, id := range e.lines() {
		e.follow(line, q.last[id])
		q.last[id] = e
	}
	if e.free() {
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

// drop takes the oldest event that still waits out of its lines: those behind it now wait for those before it.
func (q *eventQueue) drop() (lanes.Logged, bool) {
	for len(q.all) > 0 {
		e := q.all[0]
		q.all = q.all[1:]
		if !e.out {
			event := q.giveOut(e)
			q.leave(e)
			return event, true
		}
	}
	return lanes.Logged{}, false
}

// oldest is when the oldest event happened that waits to be given out, nil when none does.
func (q *eventQueue) oldest() *time.Time {
	if q.waits == 0 {
		return nil
	}
	return &q.all[0].event.Event.At
}

func (q *eventQueue) giveOut(e *queuedEvent) lanes.Logged {
	e.out = true
	q.waits--
	for len(q.all) > 0 && q.all[0].out {
		q.all = q.all[1:]
	}
	return e.event
}

// done takes an event that was given out as over, and lets those go that waited for nothing else.
func (q *eventQueue) done(cursor uint64) {
	if e := q.known[cursor]; e != nil {
		q.leave(e)
	}
}

// leave takes the event out of its lines. One that is done has nobody before it any more.
func (q *eventQueue) leave(e *queuedEvent) {
	delete(q.known, e.event.Cursor)
	for line, id := range e.lines() {
		before := e.awaits[line]
		if before != nil {
			before.followed = slices.DeleteFunc(before.followed, func(f *queuedEvent) bool { return f == e })
		}
		switch {
		case q.last[id] != e:
		case before != nil:
			q.last[id] = before
		default:
			delete(q.last, id)
		}
	}
	for _, follower := range e.followed {
		for line, before := range follower.awaits {
			if before == e {
				follower.follow(line, e.awaits[line])
			}
		}
		if follower.free() && !follower.out {
			q.ready = append(q.ready, follower)
		}
	}
	e.followed = nil
}

// follow makes the event wait in that line for the one before it, nil for none.
func (e *queuedEvent) follow(line int, before *queuedEvent) {
	e.awaits[line] = before
	if before != nil {
		before.followed = append(before.followed, e)
	}
}
