package actors

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/actors/board"
	"rangegate/actors/commit"
	"rangegate/actors/supervised"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

const reportRetry = time.Second // before a report that could not be saved is tried again

// laneActor owns one lane: its session, its timer, and the state that is wanted of its hardware. Its child is
// the connection to that hardware (connection.go), which it supervises (link.go).
//
// Whatever changes the lane, a request of a client or of staff, a report of the hardware, the end of the
// time, goes through process, one at a time, in six steps:
//
//	decide   the rules of package lanes say what the request changes
//	close    a change that closes the fire line is sent to the hardware before it is saved
//	save     the change, its events, its history and its reply go to the store in one write, whose outcome comes as
//	         a message
//	swap     the saved lane is the lane in force: shown on the board, its timer armed
//	open     a change that opens the fire line is sent to the hardware only now
//	answer   the client gets the reply
type laneActor struct {
	r    *Range
	id   uuid.UUID
	self *actor.PID
	now  lanes.Instant // when the present message was taken from the mailbox

	lane      lanes.Lane   // in force
	loaded    bool         // its last saved state is in force
	ready     bool         // the range counts it as ready
	ended     bool         // this life has: see leave
	restarted bool         // an operator ends this life
	parked    bool         // it panicked too often: its hardware is held and it takes nothing
	unparks   time.Time    // when it is tried again
	pending   *pendingSave // the change being saved
	current   *request     // the request being decided
	settled   *saveResult  // whose request is being answered
	ticket    *ticket      // given to a session that is about to move here, or lent
	probed    *probe       // on its way through the connection

	queue        queue // what waits
	storeStalled bool  // the pending change is unresolved: the store is down

	timer      *time.Timer
	timerArmed uint64 // counts the timers; an older one is stale

	work  *board.Work    // for operators: see noteWork
	noted lanes.LaneWork // there
	about any            // what that state is about: the change, or the ticket
	late  *time.Duration // of the newest timer that ended a session in this life

	link laneLink // to its hardware
	// unproven is since when that is not reached, or cannot keep a line open beyond what was sold; nil: it can.
	unproven *lanes.Instant
	heard    []lanes.Heard // since then; there is none while unproven is nil
}

// pendingSave is a change on its way to the store.
type pendingSave struct {
	life    *laneActor // that sent it: after a panic the lane has another
	request *request
	change  lanes.Change
	events  []lanes.Logged
	kept    *lanes.KeptAnswer
	lanes   []lanes.Lane   // of the change: this one, and the destination of a move
	inForce bool           // it closes, and is the lane in force although it is not saved
	shown   bool           // on the board; the committer's
	locked  *lanes.Instant // lockedSince, once it is saved
	write   *commit.Write  // of the change
}

// The messages of a lane besides *request. Others stand with what they are about: link.go, reports.go, move.go,
// together.go, operate.go. life is the instance that a message belongs to: one of an earlier life is stale.
type (
	lastSaved struct {
		life *laneActor
		lane lanes.Lane
	}
	saveResult struct {
		supervised.Taken
		pending *pendingSave
		outcome commit.Outcome
		flush   *commit.FlushSpan // nil: it is in no trace
	}
	timeUp        struct{ timer uint64 }
	rearm         struct{} // timers stood still while the machine was suspended
	replaced      struct{} // its place, or what its range sells, is another
	resumeReports struct{ life *laneActor }
	unpark        struct{ life *laneActor }
)

// Receive takes one message, and then as many waiting requests as can be decided.
func (l *laneActor) Receive(ctx actor.Context, message any) {
	if m, confirmed := message.(*applied); confirmed && !l.ended { // there are many, and they change no lane
		l.link.applied(m, l.r.clock.Now())
		return
	}
	l.now = l.r.clock.Now()
	if l.ended {
		l.refuseLate(ctx, message)
		return
	}
	switch m := message.(type) {
	case *actor.Started:
		l.start(ctx)
	case *actor.Restarting:
		reason := lanes.ErrInternal
		if l.restarted {
			reason = lanes.ErrStarting
		}
		l.bequeath()
		l.leave(reason)
		return
	case *actor.Stopping:
		l.leave(l.stopReason())
		supervised.ResumeMailbox(ctx)
		return
	case *lastSaved:
		if m.life == l && !l.loaded { // a parked lane may be tried again by its timer and by an operator
			l.resume(m.lane)
		}
	case *request:
		l.enqueue(m)
		if m.progress != nil {
			l.link.reportHold(m.progress)
		}
	case *saveResult:
		l.settle(m)
	case *timeUp:
		l.timeUp(m)
	case *rearm:
		l.arm()
	case *resumeReports:
		if m.life == l {
			l.queue.resume()
		}
	case *lookedUp:
		l.lookedUp(m)
	case *unpark:
		if m.life == l {
			l.load()
		}
	case *unparkNow:
		l.unparkNow(m)
	case *restartLane:
		l.restart(m)
	case *inherited:
		l.inherit(m)
	case *linkUp:
		l.linkUp(m)
	case *redial:
		l.link.redial(m, l.now)
	case *reported:
		l.reported(m)
	case *graceOver:
		l.link.graceOver(m, l.now)
	case *contested:
		l.link.contested(m, l.now)
	case *contestOver:
		l.link.contestOver()
	case *renewLink:
		l.link.renew(m, l.now)
	case *holdDecided:
		l.link.holdDecided(l.now)
	case *reconcile:
		if m.life == l && l.loaded {
			l.reconcileHolds()
		}
	case *awaitMove:
		l.awaitMove(m)
	case *movedIn:
		l.movedIn(m)
	case *dropTicket:
		l.dropTicket(m)
	case *returnDelayed:
		l.returnDelayed(m)
	case *returned:
		l.returned(m)
	case *movedAway:
		l.handOn(m.ticket)
	case *closingAhead:
		l.closeFor(m)
	case *closingOver:
		l.queue.endAhead(m.of)
	case *vacate:
		l.vacate(m)
	case *replaced:
		l.replaced()
	case *probe:
		l.probed = m
		l.r.tree.Send(l.link.connection, m)
		return
	case *probePassed:
		l.answerProbe()
		return
	case *atBarrier:
		m.pass()
		return
	default:
		return
	}
	l.processAll()
	l.noteWork()
}

// noteWork shows operators what the lane does now, and what waits for it.
func (l *laneActor) noteWork() {
	work := lanes.LaneWork{State: lanes.StateReady, Late: l.late}
	var about any
	switch {
	case l.parked:
		work.State, work.Until = lanes.StateParked, l.unparks
	case !l.loaded:
		work.State = lanes.StateStarting
	case l.ticket != nil && l.ticket.lent:
		work.State, about = lanes.StateTogether, l.ticket
	case l.ticket != nil:
		work.State, about = lanes.StateMoving, l.ticket
	case l.pending != nil:
		work.State, work.Saving, about = lanes.StateSaving, l.pending.request.name(), l.pending
	}
	work.Waiting, work.Oldest = l.queue.backlog()
	if work.Since = l.now.Wall; work.State == l.noted.State && about == l.about {
		work.Since = l.noted.Since
	}
	if work != l.noted {
		l.noted, l.about = work, about
		l.work.Set(work)
	}
}

// IsEnding implements supervised.Ending.
func (l *laneActor) IsEnding() bool { return l.ended || l.r.life.Err() != nil }

// start begins a life of the lane: the first one, or the one after a panic.
func (l *laneActor) start(ctx actor.Context) {
	l.self, l.id = ctx.Self(), supervised.LaneOf(ctx.Self())
	l.lane, l.work = lanes.Lane{ID: l.id}, l.r.works.Of(l.id)
	started := l.now
	l.unproven = &started
	// An earlier life may have shown something else.
	l.r.board.PublishLocked(l.id, false)
	l.r.board.PublishHardware(l.id, lanes.Hardware{})
	l.link = laneLink{r: l.r, lane: l.id, self: l.self, shown: l.publishLink}
	l.link.start(ctx, l.now)
	if l.r.tree.Recent(l.id, laneKind) > maxPanics {
		l.park()
		return
	}
	l.load()
}

// load asks for the last saved state of the lane.
func (l *laneActor) load() {
	l.r.committer.LastSaved(l.id, func(lane lanes.Lane) { l.r.tree.Send(l.self, &lastSaved{l, lane}) })
}

// resume puts the last saved state in force. A lane that was parked is not any more.
func (l *laneActor) resume(lane lanes.Lane) {
	l.loaded = true
	l.r.parkLocks.Delete(l.id)
	l.swap(lane, nil)
	l.r.purchases.Start(l.lane, lanes.Span{})
	l.reconcileHolds()
	l.recountTurn()
	if l.parked {
		l.parked = false
		l.publishLink()
	}
}

// recountTurn counts the lane's turn anew where the configuration has opened or closed the lane for sale: by a
// reload, or while the gateway was down. What the store does not take now is counted with the lane's next change.
func (l *laneActor) recountTurn() {
	if l.lane.TurnStale() {
		l.enqueue(&request{ctx: context.Background(), command: lanes.CountTurn{}, by: lanes.ByTimer})
	}
}

// replaced shows the lane as it is offered now, and reconciles it with the holds over its place. A change of it may be
// saved, and shown, of which it has not heard yet. A lane that is not loaded yet, or parked, does so when it resumes.
func (l *laneActor) replaced() {
	if !l.loaded {
		return
	}
	l.lane = l.asOffered(l.lane)
	l.r.board.PublishUnsaved(l.lane)
	l.arm()
	l.reconcileHolds()
	l.recountTurn()
}

// park holds the hardware of a lane that panics again and again, and tries it once more after parkedFor.
func (l *laneActor) park() {
	l.parked, l.unparks = true, l.now.Wall.Add(parkedFor)
	l.countReady()
	l.want(lanes.Lane{ID: l.id, Held: true})
	l.publishLink()
	l.r.named.Of(l.r.log.Error(), l.id).Dur("for", parkedFor).
		Msg("lane parked: it panicked too often, its hardware is held")
	time.AfterFunc(parkedFor, func() { l.r.tree.Send(l.self, &unpark{l}) })
}

// countReady lets the range count the lane as ready, once for all its lives.
func (l *laneActor) countReady() {
	if !l.ready {
		l.ready = true
		l.r.unready.remove(l.id)
	}
}

// enqueue puts the request in its queue, or refuses it. A request that closes the fire line reaches the
// hardware at once, also while another change is being saved.
func (l *laneActor) enqueue(q *request) {
	q.arrive(l.now)
	_, creates := q.command.(lanes.Create)
	switch {
	case l.parked && q.progress != nil:
		q.end(true) // its hardware is held, and the lane reconciles with the range's holds when it resumes
	case q.closes():
		l.queue.closing = append(l.queue.closing, q)
		if l.busy() {
			l.closeAhead(q)
		}
		if l.waitsForStore() && l.takesEffect(q) {
			l.answerUnsaved(q)
		}
	case q.releases():
		l.queue.closing = append(l.queue.closing, q)
	case q.reports():
		if l.queue.addReport(q) {
			l.r.named.Of(l.r.log.Warn(), l.id).Int("waiting", len(l.queue.reports)).
				Msg("too many reports of the lane wait for the store: its controller keeps the rest")
		}
	case l.parked:
		l.refuse(q, lanes.ErrLaneNotUsable)
	case l.storeStalled:
		l.refuse(q, lanes.ErrStoreUnavailable)
	case l.ticket != nil && !l.ticket.lent && (creates || q.lends != nil && !l.ticket.used.Load()):
		// Who lends lanes does not wait for a move that is not decided: the session may come from one of those. A move
		// that is decided waits for none of them, and the board may show its session here already.
		l.refuse(q, lanes.ErrLaneOccupied)
	case len(l.queue.waiting) >= maxWaiting:
		l.refuse(q, lanes.ErrOverloaded)
	default:
		l.queue.waiting = append(l.queue.waiting, q)
	}
}

// busy reports whether no further change can be decided now.
func (l *laneActor) busy() bool {
	return !l.loaded || l.pending != nil || l.ticket != nil || l.isOver()
}

// isOver reports whether nothing can be saved any more, as another process has claimed the range, or it has ended. What
// is due would be decided again and again.
func (l *laneActor) isOver() bool { return l.r.committer.IsFenced() || l.r.life.Err() != nil }

// waitsForStore reports whether it is the store, which is away, that no change can be decided for.
func (l *laneActor) waitsForStore() bool {
	return l.storeStalled || !l.loaded && !l.parked && !l.r.committer.Writable()
}

// processAll processes what waits, one after the other, until a change is being saved or nothing waits.
func (l *laneActor) processAll() {
	for !l.busy() {
		q := l.queue.next(l.lane, l.now)
		if q == nil {
			l.open()
			if l.queue.takeUnheard() {
				l.link.hearAgain(l.now)
			}
			l.countReady()
			return
		}
		l.process(q)
	}
	if l.isOver() { // what came before that, and was to be decided, closes all the same
		l.closeAhead(nil)
	}
}

// process is the way of every request through the lane.
func (l *laneActor) process(q *request) {
	if q.lends != nil {
		l.lend(q)
		return
	}
	change, decided := l.decide(q)
	if !decided {
		return
	}
	if !change.Changes(l.lane) && q.claim == nil && len(q.events) == 0 {
		l.current, q.unchanged = nil, true
		l.answer(&pendingSave{request: q, change: change})
		return
	}
	if end, settles := q.command.(lanes.Settle); settles && !l.lane.Requested(end) {
		// The request was not saved, so its event is not in the log and has no outcome there. Who settles did not know:
		// the lane began anew before the outcome of that save.
		q.events = nil
	}
	l.close(q, change)
	l.save(q, change)
}

// decide returns what the rules say that the request changes. decided is false when there is nothing to do:
// the request was refused, or is about a session that is being looked up.
func (l *laneActor) decide(q *request) (change lanes.Change, decided bool) {
	l.current = q // leave refuses it after a panic
	if q.abandoned() && !q.closes() || q.ticket != nil && !q.ticket.take() {
		l.current = nil
		l.refuse(q, lanes.ErrTimeout)
		return change, false
	}
	if s := l.lane.Session; s != nil && q.wasClosed() && q.at.Before(s.Since) { // what was decided since then stands
		q.at = l.now
	}
	q.decided, q.session = l.now.Mono, sessionOn(l.lane)
	change, err := l.lane.Decide(q.at, q.command)
	q.noteDecided()
	if err == nil && q.claim != nil {
		q.kept = q.claim.Answer(change.Answer, q.at)
	}
	switch {
	case errors.Is(err, lanes.ErrElsewhere):
		l.current = nil
		l.lookUp(q)
		return change, false
	case err != nil:
		l.current = nil
		l.refuse(q, err)
		return change, false
	}
	q.session = cmp.Or(q.session, sessionOn(change.Lane))
	return change, true
}

// close sends a change that closes the fire line to the hardware. It does not wait for the store.
func (l *laneActor) close(q *request, change lanes.Change) {
	if !change.Closing {
		return
	}
	closed, _ := l.queue.afterClosings(change.Lane, l.now)
	l.wantFor(q, closed)
	deadline, running := l.lane.Deadline()
	if running && q.by == lanes.ByTimer && !deadline.Before(l.r.since) { // before that no process could stop it
		now := l.r.clock.Now()
		late := now.Since(deadline)
		l.r.metrics.StoppedAtEnd(l.id, late)
		l.r.lateness.Add(now, late)
		l.late = &late
	}
}

// closeAhead closes the fire line while a change is being saved, or the lane loaded, for the requests that wait for
// that. The cause is the request that has made it necessary, nil for the timer.
func (l *laneActor) closeAhead(cause *request) {
	if closed, changed := l.queue.afterClosings(l.closedOn(), l.now); changed {
		l.wantFor(cause, closed)
	}
}

// closedOn returns the lane on which a request that closes and has to wait is decided. That is the lane in force, or
// the pending change if that closes, as the hardware has it already. Any other pending change may never be saved, so
// the hardware must not learn of it. A lane that is not loaded yet is taken as the board shows it, and as held if its
// hardware is to be held, or a hold lies over it.
func (l *laneActor) closedOn() lanes.Lane {
	switch {
	case !l.loaded:
		shown, _ := l.r.board.LaneStatus(l.id)
		place, _ := l.r.settings().place(l.id)
		lane := shown.Lane
		lane.ID = l.id
		// This life may not have heard of a hold over it.
		lane.Held = lane.Held || l.link.line.WantsHold() || l.r.Holds().Over(place)
		return lane
	case l.pending != nil && l.pending.change.Closing:
		return l.pending.change.Lane
	}
	return l.lane
}

// takesEffect reports whether the waiting request, which closes, is in force on the hardware. One that is not is
// answered once it is decided.
func (l *laneActor) takesEffect(q *request) bool { return l.queue.takesEffect(q, l.closedOn(), l.now) }

// save sends the change to the store. The outcome comes twice: first to outcome, in the committer's turn, then as a
// message to settle, in the lane's.
func (l *laneActor) save(q *request, change lanes.Change) {
	p := &pendingSave{life: l, request: q, change: change, kept: q.kept, lanes: []lanes.Lane{change.Lane}}
	if change.Other != nil {
		p.lanes = append(p.lanes, *change.Other)
	}
	change.AskedBy(q.by)
	p.events = make([]lanes.Logged, 0, len(change.Events)+len(q.events))
	for _, event := range change.Events {
		p.events = l.r.delivery.Append(p.events, event, q.traceID(), q.span())
	}
	p.events = append(p.events, q.events...)
	w := &commit.Write{
		Lanes:    p.lanes,
		Events:   p.events,
		Kept:     p.kept,
		Holds:    q.holds,
		Acts:     q.acts(l.lane, change, l.r.settings()),
		MustSave: change.Closing || q.uncharges(), WhenSaved: q.uncharges(),
		Awaited: q.reply != nil,
		Gathers: q.begins(),
		Trace:   q.traceID(),
		Span:    q.span(),
		Done:    p.outcome,
	}
	if change.Ended != nil {
		w.Ended = []lanes.Ended{*change.Ended}
	}
	if q.ticket != nil {
		w.Cancelled = q.ticket.void
	}
	p.write = w
	l.r.committer.Save(w)
	l.pending, l.current = p, nil
}

// outcome is called by the committer, under its lock and in the order of the log, before anybody can read the
// change's events: so the board has the change by then, and events are announced in that order, also those of one
// session that two lanes have. It is called once more after commit.Unresolved, with another outcome.
func (p *pendingSave) outcome(outcome commit.Outcome) {
	r := p.life.r
	r.delivery.Settle(p.events, outcome)
	if outcome == commit.Saved && !p.shown || outcome == commit.Unresolved && p.change.Closing {
		p.shown = true
		r.board.PublishSaved(p.lanes...)
	}
	switch outcome {
	case commit.Saved:
		p.request.saved.Store(true)
		r.delivery.Announce(p.events)
	case commit.Fenced, commit.Lost: // the tree is about to be stopped
		p.request.answer(nil, outcome.Err())
	}
	// After a restart of the tree the lane has another actor.
	r.addresses.sendTo(p.life.id, &saveResult{pending: p, outcome: outcome, flush: p.write.FlushedBy})
}

// settle ends a save, by its outcome and by whether the change closes the fire line. An unresolved save has
// another outcome later.
//
//	            a closing change                     any other change
//	saved       swap, unless it is in force; answer  swap, open, answer
//	unresolved  swap: in force; answer "not saved"   the lane takes closings only
//	rejected    never: it is kept until it is saved  refuse; a report is put back and tried again
//	fenced      refuse: not written                  refuse
//	lost        refuse: perhaps written              refuse
func (l *laneActor) settle(m *saveResult) {
	p := m.pending
	if p.life != l {
		p.settleInherited(l, m.outcome)
		return
	}
	if l.pending == p && (m.outcome != commit.Unresolved || p.change.Closing) {
		l.pending, l.storeStalled = nil, false
	}
	l.settled = m // leave ends its request after a panic
	p.request.noteFlush(m.flush)
	switch m.outcome {
	case commit.Saved:
		if !p.inForce {
			if !p.request.reports() { // a session begins when its customer entered, however late that is known
				p.locked = l.lockedSince(p.request.session, p.request.at)
			}
			l.swap(p.change.Lane, p.change.Other)
			l.uncharge(p.locked)
			l.openFor(p.request)
			l.r.purchases.Start(l.lane, p.request.span())
		}
		l.handOver(p)
		l.answer(p)
	case commit.Unresolved:
		if p.change.Closing {
			p.inForce = true
			l.swap(p.change.Lane, nil)
			l.answerUnsaved(p.request)
		} else {
			l.stallStore()
		}
	case commit.Rejected:
		l.putBack(p.request)
	case commit.Fenced, commit.Lost:
		l.refuse(p.request, m.outcome.Err())
	}
	l.settled = nil
}

// settleInherited ends a save of a life that is over. The lane's next life was loaded with what was saved. What closes
// the session of a move, and has come since, waits at now, which hands it on.
func (p *pendingSave) settleInherited(now *laneActor, outcome commit.Outcome) {
	switch outcome {
	case commit.Saved:
		now.handOver(p)
		p.life.answer(p)
	case commit.Rejected, commit.Fenced, commit.Lost:
		p.life.refuse(p.request, outcome.Err())
	case commit.Unresolved: // another outcome follows
	}
}

// Refuse settles a save whose lane has stopped: it still ends the request that was saved, whose idempotency
// key would be taken until the next start otherwise. It implements supervised.Awaited.
func (m *saveResult) Refuse(error) { m.pending.settleInherited(m.pending.life, m.outcome) }

// swap puts lane in force: its timer armed. The board shows it, with the destination of a move, since it was
// saved; now it also shows what is not saved of a lane.
func (l *laneActor) swap(lane lanes.Lane, other *lanes.Lane) {
	lane = l.asOffered(lane)
	fault := l.lane.Fault
	l.lane = lane
	if other != nil {
		l.r.board.Publish(lane, *other)
	} else {
		l.r.board.Publish(lane)
	}
	if lane.Fault != fault {
		l.publishLink()
	}
	l.arm()
}

// asOffered returns the lane with what is not saved of it, as it is now.
func (l *laneActor) asOffered(lane lanes.Lane) lanes.Lane {
	settings := l.r.settings()
	place, _ := settings.place(l.id)
	lane.Accessible, lane.Purchasing = place.Accessible, settings.Layout.Purchasing
	lane.Terms, lane.Unproven, lane.Heard = settings.Layout.TermsOf(place), l.unproven, l.heard
	lane.Usable, lane.AwaitsMove = l.link.line.NotUsable() == "" && lane.Fault == "", l.ticket != nil && !l.ticket.lent
	return lane
}

// open sends the lane in force to the hardware, unless a request waits that would close it again.
func (l *laneActor) open() {
	if len(l.queue.closing) == 0 && !l.lane.Due(l.now) {
		lane, _ := l.queue.afterClosings(l.lane, l.now)
		l.want(lane)
	}
}

// openFor is open because of the request.
func (l *laneActor) openFor(cause *request) {
	l.link.cause = cause
	l.open()
	l.link.cause = nil
}

// wantFor is want because of the request, nil for none.
func (l *laneActor) wantFor(cause *request, lane lanes.Lane) {
	l.link.cause = cause
	l.want(lane)
	l.link.cause = nil
}

// want makes the lane's state the one that is wanted of the hardware.
func (l *laneActor) want(lane lanes.Lane) {
	state := link.State{Hold: lane.Held, Session: lane.Session}
	if lane.Session != nil {
		state.Purchasing = lane.Session.Purchasing && l.r.settings().Layout.Purchasing
		state.WarnAt = lane.WarnAt()
	}
	l.link.want(state, l.now)
}

// lockedSince returns since when this lane has locked its line for the session while what was decided then was being
// saved: the deadline that it has here, what came to close it, or since it was decided. nil: its start had come, and
// its hardware may have begun it.
func (l *laneActor) lockedSince(session uuid.UUID, decided lanes.Instant) *lanes.Instant {
	if l.lane.StartDue(decided) {
		return nil
	}
	locked := l.queue.firstClosing(session, l.lane.OpenUntil(session, decided))
	if locked.Before(decided) {
		locked = decided
	}
	return &locked
}

// uncharge has the session get the time back that was counted since then, as its line opens only now: the store was
// away meanwhile. What closes it again, and came meanwhile, counts from its arrival. nil: nothing is given back.
func (l *laneActor) uncharge(locked *lanes.Instant) {
	if locked == nil {
		return
	}
	session := sessionOn(l.lane)
	lockedFor := l.lane.LockedFor(*locked, l.queue.firstClosing(session, l.now))
	if lockedFor > commit.SlowAfter {
		l.queue.uncharges = &request{
			ctx: context.Background(), command: lanes.OpenedLate{Session: session, Locked: lockedFor},
			by: lanes.ByTimer, arrived: l.now,
		}
	}
}

// answer ends a request that succeeded: what it changed is saved. Its events were announced when they were.
func (l *laneActor) answer(p *pendingSave) {
	q := p.request
	q.claim.Settle(p.kept)
	q.end(true)
	l.r.metrics.TurnEnded(l.r.id, p.change)
	q.answer(p.change.Answer, nil, p.events...)
	line := logLine(l.r, l.lane, q, nil, p.life != nil).Int("events", len(p.events))
	if p.change.Settled != nil {
		l.r.purchases.Settled(l.id, p.change.Settled, q.by, q.traceID())
	}
	if note := p.change.Note; note != "" {
		l.r.metrics.ReportsIgnored.WithLabelValues(note).Inc()
		line = line.Str("note", note)
	}
	if missing := p.change.Missing; missing > 0 {
		l.r.metrics.ReportsMissing.Add(float64(missing))
		line = line.Uint64("reports_missing", missing)
	}
	line.Msg("command")
}

// answerUnsaved answers a closing request that is in force and not saved yet.
func (l *laneActor) answerUnsaved(q *request) {
	q.inForce = true
	q.claim.NotSaved()
	q.answer(nil, lanes.ErrNotSaved)
	logLine(l.r, l.lane, q, lanes.ErrNotSaved, true).Err(lanes.ErrNotSaved).Msg("command")
}

// refuse ends a request that changed nothing.
func (l *laneActor) refuse(q *request, err error) {
	q.Refuse(err)
	logLine(l.r, l.lane, q, err, true).Err(err).Msg("command")
}

// stallStore: the pending change is not a closing one and stays unresolved while the store is down. Closing
// requests that wait for it are in force on the hardware; those of clients are refused.
func (l *laneActor) stallStore() {
	l.storeStalled = true
	for _, q := range l.queue.closing {
		if q.closes() && l.takesEffect(q) {
			l.answerUnsaved(q)
		}
	}
	for _, q := range l.queue.waiting {
		l.refuse(q, lanes.ErrStoreUnavailable)
	}
	l.queue.waiting = nil
}

// putBack ends a request whose change the store rejected. A report of the hardware is kept and tried again.
func (l *laneActor) putBack(q *request) {
	if !q.reports() {
		l.refuse(q, lanes.ErrStoreUnavailable)
		if q.releases() { // the range's record has no hold any more, so the lane must not either
			time.AfterFunc(reportRetry, func() { l.r.tree.Send(l.self, &reconcile{l}) })
		}
		switch q.command.(type) { // they are still due
		case lanes.Warn, lanes.GoBeyond:
			l.queue.warningsPaused = true
		case lanes.Begin:
			l.queue.startsPaused = true
		default:
			return
		}
		time.AfterFunc(reportRetry, func() { l.r.tree.Send(l.self, &resumeReports{l}) })
		return
	}
	l.queue.putBack(q)
	l.queue.reportsPaused = true
	time.AfterFunc(reportRetry, func() { l.r.tree.Send(l.self, &resumeReports{l}) })
}

// arm sets the timer to the deadline, to a warning before it or the end of what was sold, to the end of the grace
// behind it, to the start of a session that waits, or to the end of a reservation, which makes an older one stale. It
// reads the clock: on a busy machine l.now is tens of ms ago.
func (l *laneActor) arm() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.timerArmed++
	next, found := l.lane.NextStart()
	found = found && l.now.Before(next) // one that is due waits for the lane, not for time; so does a warning
	if expiry, expires := l.lane.NextExpiry(); expires {
		next, found = expiry, true
		for _, tells := range []func() (lanes.Instant, bool){l.lane.NextBeyond, l.lane.NextWarning} {
			if at, found := tells(); found && l.now.Before(at) && at.Before(next) {
				next = at
			}
		}
	}
	if l.lane.ReservedFor(l.now) > 0 { // the board shows its end
		next, found = l.lane.Reservation.End(), true
	}
	if found {
		armed := l.timerArmed
		l.timer = time.AfterFunc(max(0, next.Since(l.r.clock.Now())), func() { l.r.tree.Send(l.self, &timeUp{armed}) })
	}
}

// timeUp closes the fire line when a change is being saved; processAll then lets the session expire, now or
// after that save. When the boot clock says that the deadline is still to come, the timer is armed again.
func (l *laneActor) timeUp(m *timeUp) {
	switch {
	case m.timer != l.timerArmed:
	case !l.lane.Due(l.now):
		if l.lane.Reservation != nil && l.lane.ReservedFor(l.now) == 0 {
			l.r.board.Refresh(l.id)
		}
		l.arm()
	case l.busy():
		l.closeAhead(nil)
	}
}

// leave ends this life of the lane: after a panic another one begins, or the lane stops. What waits is refused.
func (l *laneActor) leave(reason error) {
	l.ended = true
	l.answerProbe()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timerArmed++
	l.link.stop()
	if l.ticket != nil {
		l.ticket.void.Store(true)
	}
	if l.current != nil { // it panicked
		l.refuse(l.current, lanes.ErrInternal)
	}
	if l.pending != nil { // the next life settles it
		l.pending.request.answer(nil, lanes.ErrTimeout, l.pending.events...)
	}
	for q := range l.queue.all() {
		l.refuse(q, reason)
	}
	l.queue.closing = nil // none is handed on
	if l.settled != nil { // it panicked, and what was saved is saved
		l.settled.pending.settleInherited(l, l.settled.outcome)
	}
}

// answerProbe answers the probe that has passed the connection, or never will.
func (l *laneActor) answerProbe() {
	if l.probed != nil {
		l.probed.answer()
		l.probed = nil
	}
}

// refuseLate answers what reaches the lane while it waits for its connection to stop.
func (l *laneActor) refuseLate(ctx actor.Context, message any) {
	switch m := message.(type) {
	case *request:
		l.refuse(m, l.stopReason())
	case *probe:
		m.answer()
	case *actor.Stopping:
		supervised.ResumeMailbox(ctx)
	default:
		supervised.Refuse(message, l.stopReason())
	}
}

// stopReason is the error of requests that wait for a lane that stops: lanes.ErrLaneNotFound if it has left
// the layout, else why the range stops.
func (l *laneActor) stopReason() error {
	if !l.r.settings().has(l.id) {
		return lanes.ErrLaneNotFound
	}
	return cmp.Or(context.Cause(l.r.life), error(lanes.ErrStarting))
}

// inherited is what closes the line of a lane that begins anew: the stops and pauses that waited when an operator had
// it restarted, which its next life decides, and what is decided with other lanes, which it waits for.
type inherited struct {
	supervised.Taken
	closing []*request
	ahead   []*closingAhead
}

// Refuse implements supervised.Awaited: there is no next life.
func (m *inherited) Refuse(reason error) {
	for _, q := range m.closing {
		q.Refuse(reason)
	}
}

// unparkNow tries a parked lane again. It may be asked for it more than once before the lane is loaded.
func (l *laneActor) unparkNow(m *unparkNow) {
	if !l.parked {
		m.reply <- lanes.ErrNotParked
		return
	}
	l.load()
	m.reply <- nil
}

// restart ends this life of the lane. A parked lane goes on being parked.
func (l *laneActor) restart(m *restartLane) {
	if l.parked {
		m.reply <- lanes.ErrLaneParked
		return
	}
	l.restarted = true
	m.reply <- nil
	supervised.BeginAnew()
}

// bequeath sends the next life of the lane what waits and closes a session: the hardware has it already. After a panic
// its own requests are refused, but those of which somebody was told that they are in force. The one that has
// panicked is not among them, nor is any after a panic of the range's actor.
func (l *laneActor) bequeath() {
	m := &inherited{ahead: l.queue.ahead}
	m.closing = l.queue.takeClosings(func(q *request) bool { return l.restarted || q.inForce })
	if len(m.closing) > 0 || len(m.ahead) > 0 {
		l.r.tree.Send(l.self, m)
	}
}

// inherit queues what waited in the life before. It counts from when it arrived there.
func (l *laneActor) inherit(m *inherited) {
	l.follow(m.ahead)
	for _, q := range m.closing {
		q.closed = q.at
		l.enqueue(q)
	}
}
