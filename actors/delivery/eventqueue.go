package delivery

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// eventQueue orders events for delivery: those of one lane, and those of one session on whatever lanes, go
// one after the other in the order in which they were added. All others may go side by side.
type eventQueue struct {
	byCursor map[uint64]*queuedEvent
	newest   map[uuid.UUID]*queuedEvent // lane or session → its newest event that is not done
	ready    []*queuedEvent             // that wait for no other
	added    []*queuedEvent             // in the order they were added; see compact
	waiting  int                        // events that are not taken out yet
}

type queuedEvent struct {
	event     lanes.Logged
	before    [2]*queuedEvent // the one before it on its lane, and the one of its session, until they are done
	followers []*queuedEvent  // that wait for this one
	taken     bool            // by next or dropOldest
}

// sequences are the two that the event belongs to: its lane's and its session's.
func (e *queuedEvent) sequences() [2]uuid.UUID {
	return [2]uuid.UUID{e.event.Event.Lane, e.event.Event.Session}
}

func (e *queuedEvent) free() bool { return e.before == [2]*queuedEvent{} }

func newEventQueue() *eventQueue {
	return &eventQueue{byCursor: map[uint64]*queuedEvent{}, newest: map[uuid.UUID]*queuedEvent{}}
}

// add queues an event. One that is queued already is ignored.
func (q *eventQueue) add(event lanes.Logged) {
	if _, found := q.byCursor[event.Cursor]; found {
		return
	}
	e := &queuedEvent{event: event}
	q.byCursor[event.Cursor] = e
	q.added = append(q.added, e)
	q.waiting++
	for i, id := range e.sequences() {
		e.follow(i, q.newest[id])
		q.newest[id] = e
	}
	if e.free() {
		q.ready = append(q.ready, e)
	}
	q.added, q.ready = q.compact(q.added), q.compact(q.ready)
}

// hold queues an event as one that next has taken out. Those that are added later wait until it is done.
func (q *eventQueue) hold(cursor uint64, lane, session uuid.UUID) {
	q.add(lanes.Logged{Cursor: cursor, Event: lanes.Event{Lane: lane, Session: session}})
	if e := q.byCursor[cursor]; !e.taken {
		q.take(e)
	}
}

// compact removes the events that are taken once they are most of the list: an event that waits for long must
// not keep all that passed it.
func (q *eventQueue) compact(events []*queuedEvent) []*queuedEvent {
	if len(events) <= 2*q.waiting+64 {
		return events
	}
	return slices.DeleteFunc(events, func(e *queuedEvent) bool { return e.taken })
}

// next takes out an event that waits for no other. done must follow.
func (q *eventQueue) next() (event lanes.Logged, found bool) {
	for len(q.ready) > 0 {
		e := q.ready[0]
		q.ready = q.ready[1:]
		if !e.taken {
			return q.take(e), true
		}
	}
	return lanes.Logged{}, false
}

// dropOldest takes the oldest event that still waits out of its sequences: those behind it now wait for those
// before it.
func (q *eventQueue) dropOldest() (event lanes.Logged, found bool) {
	for len(q.added) > 0 {
		e := q.added[0]
		q.added = q.added[1:]
		if !e.taken {
			event := q.take(e)
			q.unlink(e)
			return event, true
		}
	}
	return lanes.Logged{}, false
}

// oldest returns when the oldest event that waits happened, nil when none waits.
func (q *eventQueue) oldest() *time.Time {
	if q.waiting == 0 {
		return nil
	}
	return &q.added[0].event.Event.At
}

func (q *eventQueue) take(e *queuedEvent) lanes.Logged {
	e.taken = true
	q.waiting--
	for len(q.added) > 0 && q.added[0].taken {
		q.added = q.added[1:]
	}
	return e.event
}

// done ends an event that next took out: those that waited for nothing else are ready.
func (q *eventQueue) done(cursor uint64) {
	if e := q.byCursor[cursor]; e != nil {
		q.unlink(e)
	}
}

// unlink takes the event out of its sequences.
func (q *eventQueue) unlink(e *queuedEvent) {
	delete(q.byCursor, e.event.Cursor)
	for i, id := range e.sequences() {
		before := e.before[i]
		if before != nil {
			before.followers = slices.DeleteFunc(before.followers, func(f *queuedEvent) bool { return f == e })
		}
		switch {
		case q.newest[id] != e:
		case before != nil:
			q.newest[id] = before
		default:
			delete(q.newest, id)
		}
	}
	for _, follower := range e.followers {
		for i, before := range follower.before {
			if before == e {
				follower.follow(i, e.before[i])
			}
		}
		if follower.free() && !follower.taken {
			q.ready = append(q.ready, follower)
		}
	}
	e.followers = nil
}

// follow makes the event wait for the one before it in its i-th sequence, nil for none.
func (e *queuedEvent) follow(i int, before *queuedEvent) {
	e.before[i] = before
	if before != nil {
		before.followers = append(before.followers, e)
	}
}
