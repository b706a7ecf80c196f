package actors

import (
	"cmp"
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

const (
	maxWaiting  = 64          // commands of clients that may wait for a lane
	reportRetry = time.Second // before a report that could not be saved is tried again
)

// laneActor owns one lane: its session, its timer and its link. Whatever changes the lane goes through take.
//
// One change is saved at a time. What arrives meanwhile waits: closings in front of everything else, then reports of
// the hardware, then the commands of clients.
type laneActor struct {
	of   *Range
	id   uuid.UUID
	self *actor.PID

	lane     lanes.Lane // in force
	past     *past      // its lives so far
	recalled bool       // its last saved state is known
	parked   bool       // it panicked too often: its hardware is held
	ready    bool       // told to the range
	flight   *flight    // the change being saved
	taking   *ask       // the ask under decision, should it panic
	stuck    bool       // the flight takes longer than it should: the store is away
	ticket   *ticket    // reserved for a session that is about to move here

	closings []*ask
	reports  []*ask
	waiting  []*ask
	resting  bool // reports wait for the store to come back
	deaf     bool // reports that did not fit were not heard

	timer *time.Timer
	armed uint64 // generation of the timer

	link   laneLink
	wanted *link.State // as last given to the link, nil before the first
	usable usability
	fence  fence
}

// The messages of a lane, besides *ask and those of links and moves.
type (
	recalled struct {
		of   *laneActor
		lane lanes.Lane
	}
	landed struct {
		flight  *flight
		outcome outcome
	}
	timeUp     struct{ generation uint64 }
	rearm      struct{} // the timers stood still while the machine was suspended
	tryReports struct{ of *laneActor }
	unpark     struct{ of *laneActor }
)

func (l *laneActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		l.start(ctx)
	case *recalled:
		if m.of == l {
			l.goOn(m.lane)
		}
	case *ask:
		l.arrive(m)
		l.callRoll(m)
	case *landed:
		l.land(m)
	case *timeUp:
		l.timeUp(m)
	case *rearm:
		l.arm()
	case *tryReports:
		if m.of == l {
			l.resting = false
		}
	case *heed:
		if m.of == l && l.recalled {
			l.heedHolds()
		}
	case *dialled:
		l.link.dialled(m)
	case *broken:
		l.link.broke(m)
	case *connect:
		l.link.tryAgain(m)
	case *arrived:
		l.link.report(m)
	case *appliedAt:
		l.link.applied(m)
	case *graceOver:
		l.graceOver(m)
	case *lookedUp:
		l.lookedUp(m)
	case *holdDecided:
		l.holdDecided()
	case *reserve:
		l.reserve(m)
	case *movedIn:
		l.movedIn(m)
	case *unreserve:
		l.unreserve(m)
	case *vacate:
		l.vacate(m)
	case *replaced:
		l.replaced()
	case *renewLink:
		l.link.renew()
	case *unpark:
		if m.of == l {
			l.recall()
		}
	case *probe:
		m.answer()
		return
	case *actor.Restarting:
		l.past.panicked(l.of.clock.Now())
		l.leave(lanes.ErrInternal)
		return
	case *actor.Stopping:
		l.leave(l.gone())
		return
	default:
		return
	}
	l.next()
}

// start begins a life of the lane: the first one, or the one after a panic.
func (l *laneActor) start(ctx actor.Context) {
	l.self = ctx.Self()
	l.link.lane = l
	l.of.board.PublishLocked(l.id, false) // whatever a life before has shown
	l.linkStands(&linkStands{state: lanes.LinkDown, since: l.of.clock.Now()})
	l.link.connect()
	l.lane = lanes.Lane{ID: l.id}
	if l.past.tooMany(l.of.clock.Now()) {
		l.park()
		return
	}
	l.recall()
}

func (l *laneActor) recall() {
	l.of.committer.recall(l.id, func(lane lanes.Lane) { l.of.send(l.self, &recalled{l, lane}) })
}

// arrive puts the ask in its queue. What closes the fire line goes to the hardware at once, also while another change
// is being saved.
func (l *laneActor) arrive(a *ask) {
	a.arrives(l.of.clock.Now())
	_, creates := a.command.(lanes.Create)
	switch {
	case l.parked && a.roll != nil:
		a.then(true) // it is held, and heeds the range's record when it is taken up again
	case a.closing():
		if l.busy() {
			l.closeAhead(a)
		}
		l.closings = append(l.closings, a)
		if l.stuck {
			l.stand(a)
		}
	case a.releasing():
		l.closings = append(l.closings, a)
	case a.reported():
		l.hear(a)
	case l.parked:
		l.refuse(a, lanes.ErrLaneNotUsable)
	case l.stuck:
		l.refuse(a, lanes.ErrStoreUnavailable)
	case creates && l.ticket != nil:
		l.refuse(a, lanes.ErrLaneOccupied)
	case len(l.waiting) >= maxWaiting:
		l.refuse(a, lanes.ErrOverloaded)
	default:
		l.waiting = append(l.waiting, a)
	}
}

// busy: no further change can be decided now.
func (l *laneActor) busy() bool { return !l.recalled || l.flight != nil || l.ticket != nil }

// next takes what waits, one after the other, until a change is being saved or nothing waits.
func (l *laneActor) next() {
	for !l.busy() {
		switch now := l.of.clock.Now(); {
		case len(l.closings) > 0:
			l.take(pop(&l.closings), now)
		case l.lane.Due(now):
			l.take(l.expiry(now), now)
		case len(l.reports) > 0 && !l.resting:
			l.take(pop(&l.reports), now)
		case len(l.waiting) > 0:
			l.take(pop(&l.waiting), now)
		default:
			l.tell(l.lane)
			l.hearAgain()
			if !l.ready {
				l.ready = true
				l.past.broughtBack(l.of)
			}
			return
		}
	}
}

func pop(queue *[]*ask) *ask {
	first := (*queue)[0]
	if *queue = (*queue)[1:]; len(*queue) == 0 {
		*queue = nil // an idle lane keeps no ask
	}
	return first
}

func (l *laneActor) expiry(now lanes.Instant) *ask {
	return &ask{ctx: context.Background(), command: lanes.Expire{}, by: lanes.ByTimer, at: now, came: now}
}

// take is the way of every command, report and timer through the lane.
func (l *laneActor) take(a *ask, now lanes.Instant) {
	if !a.closing() && !a.reported() {
		a.at = now
	}
	if l.lane.Due(a.at) && a.by != lanes.ByTimer {
		l.closings = append([]*ask{l.expiry(now), a}, l.closings...)
		return
	}
	if a.givenUp() && !a.closing() || a.ticket != nil && !a.ticket.take() {
		l.refuse(a, lanes.ErrTimeout)
		return
	}

	l.taking = a // until it is answered, or on its way to the store
	a.taken, a.session = now.Mono, sessionOn(l.lane)
	change, err := l.lane.Decide(a.at, a.command) // decide
	if err == lanes.ErrElsewhere {
		l.taking = nil
		l.lookUp(a)
		return
	}
	if err != nil {
		l.taking = nil
		l.refuse(a, err)
		return
	}
	a.session = cmp.Or(a.session, sessionOn(change.Lane))
	if !change.Changes(l.lane) && a.claim == nil && len(a.with) == 0 {
		l.taking = nil
		l.finish(&flight{ask: a, change: change})
		return
	}
	if change.Closing { // close
		l.tell(change.Lane)
		l.observeLateness(a)
	}
	stood := false
	l.save(a, change, func(f *flight, became outcome) { // save
		switch became {
		case refused:
			l.putBack(a)
		case disowned, forsaken:
			l.refuse(a, became.err())
		case standing:
			if stood = change.Closing; !stood {
				l.standStill()
				return
			}
			l.swap(change.Lane, nil)
			l.stand(a)
		case saved:
			if !stood {
				l.swap(change.Lane, change.Other) // swap
				l.open()                          // open
			}
			l.finish(f) // answer; what happened was announced when it was saved
		}
	})
}

// swap makes lane the lane in force: shown on the board, together with the destination of a move, its timer armed.
func (l *laneActor) swap(lane lanes.Lane, other *lanes.Lane) {
	is := l.of.settings()
	place, _ := is.place(l.id)
	lane.Accessible, lane.Purchasing = place.Accessible, is.Layout.Purchasing
	lane.Usable, lane.Reserved = l.usable.now() && lane.Fault == "", l.ticket != nil
	fault := l.lane.Fault
	l.lane = lane
	if other != nil {
		l.of.board.Publish(lane, *other)
	} else {
		l.of.board.Publish(lane)
	}
	if lane.Fault != fault {
		l.publishLink()
	}
	l.arm()
	l.of.buy(lane)
}

// arm sets the timer to the deadline, and makes whatever an older one says stale.
func (l *laneActor) arm() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.armed++
	if deadline, running := l.lane.Deadline(); running {
		generation := l.armed
		wait := max(0, deadline.Since(l.of.clock.Now()))
		l.timer = time.AfterFunc(wait, func() { l.of.send(l.self, &timeUp{generation}) })
	}
}

// timeUp lets the session expire. By the boot clock its deadline may be a moment off yet: the timer is armed again.
func (l *laneActor) timeUp(m *timeUp) {
	switch now := l.of.clock.Now(); {
	case m.generation != l.armed:
	case l.lane.Due(now):
		l.arrive(l.expiry(now))
	default:
		l.arm()
	}
}

// open lets the hardware have what the change opened, unless a closing waits that would close it again.
func (l *laneActor) open() {
	if len(l.closings) == 0 {
		l.tell(l.lane)
	}
}

// tell gives the link the state that is wanted of the hardware.
func (l *laneActor) tell(lane lanes.Lane) {
	state := link.State{Hold: lane.Held, Session: lane.Session}
	if lane.Session != nil {
		state.Purchasing = lane.Session.Purchasing && l.of.settings().Layout.Purchasing
	}
	if l.wanted == nil || state != *l.wanted {
		l.wanted = &state
		l.want()
	}
}

// closeAhead closes the fire line for a closing that has to wait until the change under way is saved. Which of the
// two states it will meet is not known yet, so the first that accepts it says what closed looks like.
func (l *laneActor) closeAhead(a *ask) {
	candidates := []lanes.Lane{l.lane}
	if l.flight != nil {
		candidates = []lanes.Lane{l.flight.change.Lane, l.lane}
	}
	for _, lane := range candidates {
		if change, err := lane.Decide(a.at, a.command); err == nil {
			l.tell(change.Lane)
			return
		}
	}
}

func (l *laneActor) observeLateness(a *ask) {
	if deadline, running := l.lane.Deadline(); running && a.by == lanes.ByTimer {
		now := l.of.clock.Now()
		l.of.metrics.TimerLateness.Observe(now.Since(deadline).Seconds())
		l.of.late.add(now, now.Since(deadline))
	}
}
