package actors

import (
	"sync/atomic"

	"rangegate/actors/supervised"
)

// barrier is sent to the range and its lanes behind all other messages: who takes it has taken those.
type barrier struct {
	ahead  atomic.Int64  // how many have not come to it
	passed chan struct{} // closed once there is none
}

// atBarrier is the message of a barrier to one actor.
type atBarrier struct {
	supervised.Taken
	*barrier
}

func (b *barrier) pass() {
	if b.ahead.Add(-1) == 0 {
		close(b.passed)
	}
}

// Refuse implements supervised.Awaited: an actor that stops takes nothing any more.
func (b *barrier) Refuse(error) { b.pass() }

// probe goes the way that a hold goes, from the range through each lane to its connection, and changes nothing.
type probe struct {
	unanswered atomic.Int64  // of the range and its lanes
	done       chan struct{} // closed when all have answered
}

// probePassed tells the lane that its connection has taken the newest probe.
type probePassed struct{}

func (p *probe) answer() {
	if p.unanswered.Add(-1) == 0 {
		close(p.done)
	}
}
