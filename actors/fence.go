package actors

import (
	"context"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// fence is what the lane knows of its hardware's fire line, and who waits to hear of it.
type fence struct {
	up     bool        // the link is
	closed bool        // the state in force on the hardware is a held one
	heard  bool        // there is a state in force, of this connection
	locked bool        // it has confirmed to hold, and was told nothing else since
	opened bool        // the newest state that this gateway saw in force there was not a held one
	asking bool        // the controller came up holding, and nobody knows yet whether it may be released
	rolls  []*rollcall // that wait for a confirmation
}

// The messages about it.
type (
	holdDecided struct{}

	heed struct{ of *laneActor } // the range's holds: the lane could not save that one ended
)

// stands takes in that the link came up, or went down: nothing is known to be in force then.
func (f *fence) stands(m *linkStands) {
	f.up, f.heard, f.asking = m.hello != nil, false, false
}

// want gives the hardware the state that is wanted, unless it would release a controller that holds for a reason that is
// not known yet (LINK.md, Safety table).
func (l *laneActor) want() {
	if l.wanted == nil || l.fence.asking && !l.wanted.Hold {
		return
	}
	l.fence.heard = false
	if !l.wanted.Hold { // it may be open before we hear of it
		l.isLocked(false)
	}
	l.link.tell(l.wanted)
}

// askWhyItHolds lets the range decide about a controller that came up holding although the lane is not held. One that
// was open when this gateway last heard of it, and is to hold when it loses the gateway, holds for that; one whose lane
// is parked was told to.
func (l *laneActor) askWhyItHolds(hello *link.Hello) {
	told := l.wanted != nil && l.wanted.Hold
	if hello.Hold && !l.lane.Held && !told && !(l.of.settings().HoldOnLoss && l.fence.opened) {
		l.fence.asking = true
		l.of.send(l.of.root(), &controllerHolds{l.id})
	}
}

func (l *laneActor) holdDecided() {
	if l.fence.asking {
		l.fence.asking = false
		l.want()
	}
}

// heedHolds brings a lane that was brought back in line with the range's holds: a crash may have come between the two.
// One that is held without anybody's knowing of a hold stays held until staff say so.
func (l *laneActor) heedHolds() {
	holds := l.of.Holds()
	place, _ := l.of.settings().place(l.id)
	heed := func(command lanes.Command) {
		l.arrive(&ask{ctx: context.Background(), command: command, by: lanes.ByStaff})
	}
	switch over := holds.Over(place); {
	case over == l.lane.Held:
	case over:
		heed(lanes.Hold{})
	case holds.KnowsOfEnd(place):
		heed(lanes.Release{})
	default:
		l.of.send(l.of.root(), &controllerHolds{l.id})
	}
}

// callRoll answers the call of a hold for this lane: at once what is known, and later what is in force.
func (l *laneActor) callRoll(a *ask) {
	switch f := &l.fence; {
	case a.roll == nil:
	case !f.up:
		a.roll.hears(l.id, notReached)
	case f.heard && f.closed == a.roll.hold:
		a.roll.hears(l.id, confirmed)
	default:
		a.roll.hears(l.id, sent)
		f.rolls = append(f.rolls, a.roll)
	}
}

// inForce takes in that the hardware is as it was last told to be.
func (l *laneActor) inForce(state link.State) {
	f := &l.fence
	f.heard, f.closed, f.opened = true, state.Hold, !state.Hold
	l.isLocked(l.locks(state))
	waiting := f.rolls
	f.rolls = nil
	for _, roll := range waiting {
		if roll.hold == f.closed {
			roll.hears(l.id, confirmed)
		} else {
			f.rolls = append(f.rolls, roll)
		}
	}
}

// locks tells whether the fire line is locked now that the state is in force. One that is not wanted any more says nothing
// of what the hardware has been told since.
func (l *laneActor) locks(state link.State) bool {
	state.Revision = 0
	f := &l.fence
	return state.Hold && (f.locked || f.up && l.wanted != nil && state == *l.wanted)
}

// isLocked takes in whether the fire line is, and shows it when that is another. The board is not asked each time: all lanes
// wait for its lock.
func (l *laneActor) isLocked(locked bool) {
	if locked != l.fence.locked {
		l.fence.locked = locked
		l.of.board.PublishLocked(l.id, locked)
	}
}

// strays is how far a controller's time may be off before somebody is told.
const strays = time.Second

// compare tells how far the controller's time is off. Ours holds.
func (l *laneActor) compare(hello *link.Hello) {
	s := l.lane.Session
	if s == nil || hello.Session != s.ID {
		return
	}
	off := hello.Left - s.Remaining(l.of.clock.Now())
	if off.Abs() > strays {
		l.of.metrics.ClockSkew.Inc()
		l.of.log.Warn().Stringer("lane", l.id).Stringer("session", s.ID).Dur("off", off).Msg("the controller's time is off")
	}
}
