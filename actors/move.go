package actors

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"rangegate/lanes"
)

// A session moves in three steps. The destination reserves itself and gives a ticket; the source decides the move and
// saves both lanes in one write; then the destination takes over what was saved. A move that comes to nothing drops
// the ticket.

// ticket is a lane that keeps itself free for a session.
type ticket struct {
	lane lanes.Lane // as it stood when it was reserved
	pid  *actor.PID
	of   *Range
	used atomic.Bool // the source has it, or nobody will
	void atomic.Bool // the lane panicked meanwhile and knows of no reservation
}

func (t *ticket) drop() { t.of.send(t.pid, &unreserve{t}) }

type (
	reserve struct {
		ctx   context.Context
		by    lanes.By
		reply chan reservation // of one
	}
	unreserve struct{ ticket *ticket }
	movedIn   struct {
		ticket   *ticket
		lane     lanes.Lane
		closings []*ask // that arrived for the session at the lane it left
	}
	reservation struct {
		ticket *ticket
		err    error
	}
)

// reserve keeps the lane for a session that is about to move here. A lane that is changing is no destination.
func (l *laneActor) reserve(m *reserve) {
	lane, err := l.lane.Reserve(m.by)
	switch {
	case l.parked:
		err = lanes.ErrLaneNotUsable
	case !l.recalled:
		err = lanes.ErrStarting
	case err == nil && l.busy():
		err = lanes.ErrLaneOccupied
	}
	if err != nil {
		m.reply <- reservation{nil, err}
		return
	}
	l.lane = lane
	l.ticket = &ticket{lane: lane, pid: l.self, of: l.of}
	m.reply <- reservation{l.ticket, nil}
	context.AfterFunc(m.ctx, l.ticket.expire)
}

// take is true for the first one who takes the ticket: the source that decides the move, or expire.
func (t *ticket) take() bool { return t.used.CompareAndSwap(false, true) }

// expire drops a ticket whose request has ended before the source could decide the move.
func (t *ticket) expire() {
	if t.take() {
		t.drop()
	}
}

func (l *laneActor) unreserve(m *unreserve) {
	if l.ticket == m.ticket {
		l.ticket, l.lane.Reserved = nil, false
	}
}

// handOver gives the destination what was saved, with the closings for the session that wait here.
func (l *laneActor) handOver(t *ticket, lane lanes.Lane) {
	follow := &movedIn{ticket: t, lane: lane}
	l.closings = slices.DeleteFunc(l.closings, func(a *ask) bool {
		var follows bool
		switch command := a.command.(type) {
		case lanes.Stop:
			follows = command.Session == lane.Session.ID
		case lanes.Pause:
			follows = command.Session == lane.Session.ID
		}
		if follows {
			follow.closings = append(follow.closings, a)
		}
		return follows
	})
	l.of.send(t.pid, follow)
}

// movedIn takes over the session. Both lanes are shown together, so that no reader sees the session twice or not at
// all; a hold that came meanwhile waits here and is next.
func (l *laneActor) movedIn(m *movedIn) {
	l.closings = append(m.closings, l.closings...)
	if l.ticket != m.ticket {
		return // a panic came between; the lane was recalled with the session
	}
	l.ticket = nil
	l.swap(m.lane, nil)
	l.open()
}
