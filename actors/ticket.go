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

	moved *returned // nil, or what was saved of the lane that its session has moved to, until it is handed on
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
