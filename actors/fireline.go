package actors

import (
	"context"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// fireLine is what a lane knows of its hardware's lock, and who waits to hear of it.
type fireLine struct {
	linkUp     bool
	applied    bool            // a state is in force that this connection was sent
	held       bool            // that state is a held one
	locked     bool            // the hardware has confirmed that it is locked, and was sent nothing else since
	sawOpen    bool            // the newest state that this gateway saw in force was not a held one
	deciding   bool            // the controller came up locked, and the range decides whether it may be released
	unfinished []*holdProgress // that wait for a confirmation
}

type (
	holdDecided struct{}                  // of the range; see askWhyHeld
	reconcile   struct{ life *laneActor } // the lane could not save the end of a hold
)

// linkChanged: nothing is known to be in force on a connection that has just come up, or has just failed.
func (f *fireLine) linkChanged(up bool) { f.linkUp, f.applied, f.deciding = up, false, false }

// sendWanted sends the state that is wanted, unless it would release a controller that is locked for a reason
// that is not known yet (LINK.md, Safety table).
func (l *laneActor) sendWanted() {
	if l.wanted == nil || l.fireLine.deciding && !l.wanted.Hold || l.r.committer.IsFenced() && l.opens(l.wanted) {
		return
	}
	l.fireLine.applied = false
	if !l.wanted.Hold { // the fire line may be open before the confirmation comes
		l.setLocked(false)
	}
	l.sendState(l.wanted)
}

// opens reports whether the state would open the fire line, or release the controller from a hold. Only the
// owner of the range may do so: what closed the lane for a change that was refused here stays.
func (l *laneActor) opens(wanted *link.State) bool {
	return wanted.Open(l.now) || l.link.sent != nil && l.link.sent.Hold && !wanted.Hold
}

// askWhyHeld lets the range decide about a controller that came up locked although the lane is not held.
// There is no question when it was told so (a parked lane), or locked itself because it lost the gateway and
// was last seen open.
func (l *laneActor) askWhyHeld(hello *link.Hello) {
	wantedHeld := l.wanted != nil && l.wanted.Hold
	lockedOnLoss := l.r.settings().HoldOnLoss && l.fireLine.sawOpen
	if hello.Hold && !l.lane.Held && !wantedHeld && !lockedOnLoss {
		l.fireLine.deciding = true
		l.r.sendRoot(&controllerHolds{l.id})
	}
}

func (l *laneActor) holdDecided() {
	if l.fireLine.deciding {
		l.fireLine.deciding = false
		l.sendWanted()
	}
}

// reconcileHolds brings a lane that was loaded in line with the range's holds: a crash may have come between
// their writes. A lane that is held although no hold is known stays held until staff lift it.
func (l *laneActor) reconcileHolds() {
	holds := l.r.Holds()
	place, _ := l.r.settings().place(l.id)
	request := func(command lanes.Command) *request {
		return &request{ctx: context.Background(), command: command, by: lanes.ByStaff}
	}
	switch held := holds.Over(place); {
	case held == l.lane.Held:
	case held:
		l.enqueue(request(lanes.Hold{}))
	case holds.KnowsOfEnd(place):
		l.enqueue(request(lanes.Release{}))
	default:
		l.r.sendRoot(&controllerHolds{l.id})
	}
}

// reportHold tells the progress of a hold what is known of this lane now, and later what is in force.
func (l *laneActor) reportHold(q *request) {
	switch f := &l.fireLine; {
	case q.progress == nil:
	case !f.linkUp:
		q.progress.report(l.id, notReached)
	case f.applied && f.held == q.progress.hold:
		q.progress.report(l.id, confirmed)
	default:
		q.progress.report(l.id, sent)
		f.unfinished = append(f.unfinished, q.progress)
	}
}

// stateApplied records that the newest state is in force on the hardware.
func (l *laneActor) stateApplied(state link.State) {
	f := &l.fireLine
	f.applied, f.held, f.sawOpen = true, state.Hold, !state.Hold
	state.Revision = 0
	// A held state that is not wanted any more says nothing of what the hardware has been sent since.
	l.setLocked(state.Hold && (f.locked || f.linkUp && l.wanted != nil && state == *l.wanted))
	if holds := l.r.Holds(); !state.Hold && len(holds.Lifted) > 0 && l.wanted != nil && !l.wanted.Hold {
		if place, found := l.r.settings().place(l.id); found && holds.KnowsOfEnd(place) {
			l.r.sendRoot(&releaseConfirmed{l.id})
		}
	}
	unfinished := f.unfinished
	f.unfinished = nil
	for _, progress := range unfinished {
		if progress.hold == f.held {
			progress.report(l.id, confirmed)
		} else {
			f.unfinished = append(f.unfinished, progress)
		}
	}
}

// setLocked shows whether the fire line is locked, if that is new: all lanes of the range share the board's lock.
func (l *laneActor) setLocked(locked bool) {
	if locked != l.fireLine.locked {
		l.fireLine.locked = locked
		l.r.board.PublishLocked(l.id, locked)
	}
}
