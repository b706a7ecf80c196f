package actors

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"rangegate/lanes"
)

// ticket is a lane that keeps itself free for a session.
type ticket struct {
	r    *Range
	lane lanes.Lane // as it awaits the session, or was lent
	pid  *actor.PID
	used atomic.Bool  // whoever decides has it, or nobody will
	void *atomic.Bool // the lane panicked meanwhile and has forgotten the ticket
	lent bool         // for several operations: see together.go

	line atomic.Pointer[knownLine] // what is known of its line since then; nil: no more than lane says

	moved *returned // nil, or what was saved of the lane that its session has moved to, until it is handed on
}

// knownLine is what is known of the line of a lane: see lanes.Lane. Nobody changes it.
type knownLine struct {
	unproven *lanes.Instant
	heard    []lanes.Heard
}

// lentLane returns the lane as it was lent, with what is known of its line by now.
func (t *ticket) lentLane() lanes.Lane {
	lane := t.lane
	if line := t.line.Load(); line != nil {
		lane.Unproven, lane.Heard = line.unproven, line.heard
	}
	return lane
}

// take returns true to the first caller: the source that decides the move, or expire.
func (t *ticket) take() bool { return t.used.CompareAndSwap(false, true) }

// drop frees the lane.
func (t *ticket) drop() { t.r.tree.Send(t.pid, &dropTicket{t}) }

// expire drops a ticket whose request ended before the source could decide the move.
func (t *ticket) expire() {
	if t.take() {
		t.drop()
	}
}
