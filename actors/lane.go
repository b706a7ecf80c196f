package actors

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/actors/hardware"
	"rangegate/actors/supervised"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

const (
	maxWaiting  = 64          // requests of clients that may wait for a lane
	reportRetry = time.Second // before a report that could not be saved is tried again
)

// laneActor owns one lane: its session, its timer, and the state that is wanted of its hardware. Its child is
// the connection to that hardware (connection.go), which it supervises (link.go).
//
// Whatever changes the lane, a request of a client or of staff, a report of the hardware, the end of the
// time, goes through process, one at a time, in six steps:
//
//	decide   the rules of package lanes say what the request changes
//	close    a change that closes the fire line is sent to the hardware before it is saved
//	save     the change, its events, its history and its reply go to the store in one write, whose outcome comes as a message
//	swap     the saved lane is the lane in force: shown on the board, its timer armed
//	open     a change that opens the fire line is sent to the hardware only now
//	answer   the client gets the reply
type laneActor struct {
	r    *Range
	id   uuid.UUID
	self *actor.PID
	now  lanes.Instant // when the present message was taken from the mailbox

	lane    lanes.Lane   // in force
	loaded  bool         // its last saved state is in force
	ready   bool         // the range counts it as ready
	ended   bool         // this life has: see leave
	parked  bool         // it panicked too often: its hardware is held and it takes nothing
	pending *pendingSave // the change being saved
	current *request     // the request being decided
	settled *saveResult  // whose request is being answered
	ticket  *ticket      // reserved for a session that is about to move here
	probed  *probe       // on its way through the connection

	closing           []*request // these four: see nextRequest
	reports           []*request
	waiting           []*request
	reportsPaused     bool // reports wait for the store, or for a lookup
	reportsOverflowed bool // some did not fit and were dropped; see reports.go
	storeStalled      bool // the pending change is unresolved: the store is down

	timer      *time.Timer
	timerArmed uint64 // counts the timers; an older one is stale

	hardware hardware.Line // what is known of it, and wanted of it
	link     laneLink      // how it is reached
}

// pendingSave is a change on its way to the store.
type pendingSave struct {
	life    *laneActor // that sent it: after a panic the lane has another
	request *request
	change  lanes.Change
	events  []lanes.Logged
	kept    *lanes.KeptAnswer
	inForce bool // it closes, and is the lane in force although it is not saved
}

// The messages of a lane besides *request. Others stand with what they are about: link.go, reports.go,
// move.go, reload.go. life is the instance that a message belongs to: one of an earlier life is
// stale.
type (
	lastSaved struct {
		life *laneActor
		lane lanes.Lane
	}
	saveResult struct {
		supervised.Taken
		pending *pendingSave
		outcome commit.Outcome
	}
	timeUp        struct{ timer uint64 }
	rearm         struct{} // timers stood still while the machine was suspended
	resumeReports struct{ life *laneActor }
	unpark        struct{ life *laneActor }
)

// Receive takes one message, and then as many waiting requests as can be decided.
func (l *laneActor) Receive(ctx actor.Context, message any) {
	if m, confirmed := message.(*applied); confirmed && !l.ended { // there are many, and they change no lane
		l.applied(m)
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
		l.leave(lanes.ErrInternal)
		return
	case *actor.Stopping:
		l.leave(l.stopReason())
		supervised.ResumeMailbox(ctx)
		return
	case *lastSaved:
		if m.life == l {
			l.resume(m.lane)
		}
	case *request:
		l.enqueue(m)
		l.reportHold(m)
	case *saveResult:
		l.settle(m)
	case *timeUp:
		l.timeUp(m)
	case *rearm:
		l.arm()
	case *resumeReports:
		if m.life == l {
			l.reportsPaused = false
		}
	case *lookedUp:
		l.lookedUp(m)
	case *unpark:
		if m.life == l {
			l.load()
		}
	case *linkUp:
		l.linkUp(m)
	case *redial:
		l.redial(m)
	case *reported:
		l.reported(m)
	case *graceOver:
		l.graceOver(m)
	case *contested:
		l.contested(m)
	case *contestOver:
		l.contestOver()
	case *renewLink:
		l.renewLink()
	case *holdDecided:
		l.holdDecided()
	case *reconcile:
		if m.life == l && l.loaded {
			l.reconcileHolds()
		}
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
	case *probe:
		l.probed = m
		l.r.tree.Send(l.link.connection, m)
		return
	case *probePassed:
		l.answerProbe()
		return
	default:
		return
	}
	l.processAll()
}

// IsEnding implements supervised.Ending.
func (l *laneActor) IsEnding() bool { return l.ended || l.r.life.Err() != nil }

// start begins a life of the lane: the first one, or the one after a panic.
func (l *laneActor) start(ctx actor.Context) {
	l.self, l.id = ctx.Self(), supervised.LaneOf(ctx.Self())
	l.lane = lanes.Lane{ID: l.id}
	l.r.board.PublishLocked(l.id, false) // an earlier life may have shown it as locked
	l.startLink(ctx)
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
	l.swap(lane, nil)
	l.r.purchases.Start(l.lane)
	l.reconcileHolds()
	if l.parked {
		l.parked = false
		l.publishLink()
	}
}

// park holds the hardware of a lane that panics again and again, and tries it once more after parkedFor.
func (l *laneActor) park() {
	l.parked = true
	l.countReady()
	l.want(lanes.Lane{ID: l.id, Held: true})
	l.publishLink()
	l.r.log.Error().Stringer("lane_id", l.id).Dur("for", parkedFor).
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
		l.closing = append(l.closing, q)
		if l.busy() {
			l.closeAhead()
		}
		if l.storeStalled {
			l.answerUnsaved(q)
		}
	case q.releases():
		l.closing = append(l.closing, q)
	case q.reports():
		l.enqueueReport(q)
	case l.parked:
		l.refuse(q, lanes.ErrLaneNotUsable)
	case l.storeStalled:
		l.refuse(q, lanes.ErrStoreUnavailable)
	case creates && l.ticket != nil:
		l.refuse(q, lanes.ErrLaneOccupied)
	case len(l.waiting) >= maxWaiting:
		l.refuse(q, lanes.ErrOverloaded)
	default:
		l.waiting = append(l.waiting, q)
	}
}

// busy reports whether no further change can be decided now.
func (l *laneActor) busy() bool { return !l.loaded || l.pending != nil || l.ticket != nil }

// processAll processes what waits, one after the other, until a change is being saved or nothing waits.
func (l *laneActor) processAll() {
	for !l.busy() {
		q := l.nextRequest()
		if q == nil {
			l.want(l.lane)
			l.hearAgain()
			l.countReady()
			return
		}
		l.process(q)
	}
}

// nextRequest takes the next request from the queues, nil when all are empty. In this order:
//
//	closing   stop, pause, hold, and the release of a hold: those that arrived before the session's time was over
//	expiry    the session's time is over
//	closing   those that arrived after it
//	reports   of the hardware, in their order, unless they are paused
//	waiting   requests of clients and staff
func (l *laneActor) nextRequest() *request {
	if len(l.closing) > 0 && l.closing[0].releases() {
		l.closing[0].at = l.now
	}
	switch due := l.lane.Due(l.now); {
	case len(l.closing) > 0 && (!due || !l.lane.Due(l.closing[0].at)):
		return pop(&l.closing)
	case due:
		return l.expiry()
	case len(l.reports) > 0 && !l.reportsPaused:
		return pop(&l.reports)
	case len(l.waiting) > 0:
		q := pop(&l.waiting)
		q.at = l.now
		return q
	}
	return nil
}

func pop(queue *[]*request) *request {
	first := (*queue)[0]
	if *queue = (*queue)[1:]; len(*queue) == 0 {
		*queue = nil // an idle lane keeps no request
	}
	return first
}

// process is the way of every request through the lane.
func (l *laneActor) process(q *request) {
	change, decided := l.decide(q)
	if !decided {
		return
	}
	if !change.Changes(l.lane) && q.claim == nil && len(q.events) == 0 {
		l.current = nil
		l.answer(&pendingSave{request: q, change: change})
		return
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
	q.decided, q.session = l.now.Mono, sessionOn(l.lane)
	change, err := l.lane.Decide(q.at, q.command)
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
	closed, _ := l.afterClosings(change.Lane)
	l.want(closed)
	if deadline, running := l.lane.Deadline(); running && q.by == lanes.ByTimer {
		now := l.r.clock.Now()
		l.r.metrics.TimerLateness.Observe(now.Since(deadline).Seconds())
		l.r.lateness.Add(now, now.Since(deadline))
	}
}

// closeAhead closes the fire line while a change is being saved, for the requests that wait for that save.
// They are decided on the lane in force. They are decided on the pending change only if that closes: the
// hardware has it already. Any other pending change may never be saved, so the hardware must not learn of it.
func (l *laneActor) closeAhead() {
	lane := l.lane
	switch {
	case !l.loaded: // nothing is known of the lane but what its hardware was sent in this life
		lane.Held = l.hardware.WantsHold()
	case l.pending != nil && l.pending.change.Closing:
		lane = l.pending.change.Lane
	}
	if closed, changed := l.afterClosings(lane); changed {
		l.want(closed)
	}
}

// afterClosings returns the lane after all waiting requests that close, each decided in its turn, and after
// the end of the session's time if that is over. A request that the rules refuse changes nothing. The release
// of a hold is left out: it opens, so the hardware hears of it only once it is saved.
func (l *laneActor) afterClosings(lane lanes.Lane) (closed lanes.Lane, changed bool) {
	decide := func(at lanes.Instant, command lanes.Command) {
		if change, err := lane.Decide(at, command); err == nil {
			lane, changed = change.Lane, true
		}
	}
	for _, q := range l.closing {
		if !q.closes() {
			continue
		}
		if lane.Due(q.at) {
			decide(q.at, lanes.Expire{})
		}
		decide(q.at, q.command)
	}
	if lane.Due(l.now) {
		decide(l.now, lanes.Expire{})
	}
	return lane, changed
}

// save sends the change to the store. The outcome comes in a later turn: see settle. The events of a saved
// change are announced before that, by the committer, in the order of the log.
func (l *laneActor) save(q *request, change lanes.Change) {
	p := &pendingSave{life: l, request: q, change: change, kept: q.kept}
	p.events = make([]lanes.Logged, 0, len(change.Events)+len(q.events))
	for _, event := range change.Events {
		p.events = l.r.delivery.Append(p.events, event, q.traceID())
	}
	p.events = append(p.events, q.events...)
	shown := false // Done is called under the committer's lock
	var w *commit.Write
	w = &commit.Write{
		Lanes: []lanes.Lane{change.Lane}, Events: p.events, Ended: change.Ended, Acts: l.acts(q, change), Kept: p.kept, Holds: q.holds,
		MustSave: change.Closing, Awaited: q.reply != nil, Trace: q.traceID(),
		Done: func(outcome commit.Outcome) {
			l.r.delivery.Settle(p.events, outcome)
			// Before anybody can read its events.
			if outcome == commit.Saved && !shown || outcome == commit.Unresolved && change.Closing {
				shown = true
				l.r.board.PublishSaved(w.Lanes...)
			}
			switch outcome {
			case commit.Saved:
				q.saved.Store(true)
				// Here, in the order of the log: two lanes may have events of one session.
				l.r.delivery.Announce(p.events)
			case commit.Fenced, commit.Lost: // the tree is about to be stopped
				q.answer(nil, outcome.Err())
			}
			// After a restart of the tree the lane has another actor.
			l.r.addresses.sendTo(l.id, &saveResult{pending: p, outcome: outcome})
		},
	}
	if q.ticket != nil {
		w.Cancelled = &q.ticket.void
	}
	if change.Other != nil {
		w.Lanes = append(w.Lanes, *change.Other)
	}
	l.r.committer.Save(w)
	l.pending, l.current = p, nil
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
		l.settleInherited(p, m.outcome)
		return
	}
	if l.pending == p && (m.outcome != commit.Unresolved || p.change.Closing) {
		l.pending, l.storeStalled = nil, false
	}
	l.settled = m // leave ends its request after a panic
	switch m.outcome {
	case commit.Saved:
		if !p.inForce {
			l.swap(p.change.Lane, p.change.Other)
			l.open()
			l.r.purchases.Start(l.lane)
		}
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

// settleInherited ends a save that this lane sent before it panicked. The lane itself was loaded with what was saved.
func (l *laneActor) settleInherited(p *pendingSave, outcome commit.Outcome) {
	switch outcome {
	case commit.Saved:
		l.answer(p)
	case commit.Rejected, commit.Fenced, commit.Lost:
		l.refuse(p.request, outcome.Err())
	case commit.Unresolved: // another outcome follows
	}
}

// Refuse settles a save whose lane has stopped: it still ends the request that was saved, whose idempotency
// key would be taken until the next start otherwise. It implements supervised.Awaited.
func (m *saveResult) Refuse(error) { m.pending.life.settleInherited(m.pending, m.outcome) }

// swap puts lane in force: its timer armed. The board shows it, with the destination of a move, since it was
// saved; now it also shows what is not saved of a lane.
func (l *laneActor) swap(lane lanes.Lane, other *lanes.Lane) {
	settings := l.r.settings()
	place, _ := settings.place(l.id)
	lane.Accessible, lane.Purchasing = place.Accessible, settings.Layout.Purchasing
	lane.ClearAfter, lane.ClearFirst = settings.Layout.ClearAfter, settings.Layout.ClearFirst
	lane.Usable, lane.Reserved = l.hardware.NotUsable() == "" && lane.Fault == "", l.ticket != nil
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

// open sends the lane in force to the hardware, unless a request waits that would close it again.
func (l *laneActor) open() {
	if len(l.closing) == 0 && !l.lane.Due(l.now) {
		l.want(l.lane)
	}
}

// want makes the lane's state the one that is wanted of the hardware.
func (l *laneActor) want(lane lanes.Lane) {
	state := link.State{Hold: lane.Held, Session: lane.Session}
	if lane.Session != nil {
		state.Purchasing = lane.Session.Purchasing && l.r.settings().Layout.Purchasing
	}
	l.carryOut(l.hardware.Want(state, l.moment()))
}

// answer ends a request that succeeded: what it changed is saved. Its events were announced when they were.
func (l *laneActor) answer(p *pendingSave) {
	q := p.request
	q.claim.Settle(p.kept)
	if q.ticket != nil {
		l.handOver(q.ticket, *p.change.Other)
	}
	q.end(true)
	q.answer(p.change.Answer, nil, p.events...)
	line := l.logLine(q, nil, p.life != nil).Int("events", len(p.events))
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
	q.claim.NotSaved()
	q.answer(nil, lanes.ErrNotSaved)
	l.logLine(q, lanes.ErrNotSaved, true).Err(lanes.ErrNotSaved).Msg("command")
}

// refuse ends a request that changed nothing.
func (l *laneActor) refuse(q *request, err error) {
	q.Refuse(err)
	l.logLine(q, err, true).Err(err).Msg("command")
}

// stallStore: the pending change is not a closing one and stays unresolved while the store is down. Closing
// requests that wait for it are in force on the hardware; those of clients are refused.
func (l *laneActor) stallStore() {
	l.storeStalled = true
	for _, q := range l.closing {
		if q.closes() {
			l.answerUnsaved(q)
		}
	}
	for _, q := range l.waiting {
		l.refuse(q, lanes.ErrStoreUnavailable)
	}
	l.waiting = nil
}

// putBack ends a request whose change the store rejected. A report of the hardware is kept and tried again.
func (l *laneActor) putBack(q *request) {
	if !q.reports() {
		l.refuse(q, lanes.ErrStoreUnavailable)
		if q.releases() { // the range's record has no hold any more, so the lane must not either
			time.AfterFunc(reportRetry, func() { l.r.tree.Send(l.self, &reconcile{l}) })
		}
		return
	}
	l.reports = append([]*request{q}, l.reports...)
	l.reportsPaused = true
	time.AfterFunc(reportRetry, func() { l.r.tree.Send(l.self, &resumeReports{l}) })
}

// arm sets the timer to the deadline, which makes an older one stale. It reads the clock: on a busy machine
// l.now is tens of ms ago.
func (l *laneActor) arm() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.timerArmed++
	if deadline, running := l.lane.Deadline(); running {
		armed := l.timerArmed
		l.timer = time.AfterFunc(max(0, deadline.Since(l.r.clock.Now())), func() { l.r.tree.Send(l.self, &timeUp{armed}) })
	}
}

// timeUp closes the fire line when a change is being saved; processAll then lets the session expire, now or
// after that save. When the boot clock says that the deadline is still to come, the timer is armed again.
func (l *laneActor) timeUp(m *timeUp) {
	switch {
	case m.timer != l.timerArmed:
	case !l.lane.Due(l.now):
		l.arm()
	case l.busy():
		l.closeAhead()
	}
}

// expiry is the request of the timer.
func (l *laneActor) expiry() *request {
	return &request{ctx: context.Background(), command: lanes.Expire{}, by: lanes.ByTimer, at: l.now, arrived: l.now}
}

// leave ends this life of the lane: after a panic another one begins, or the lane stops. What waits is refused.
func (l *laneActor) leave(reason error) {
	l.ended = true
	l.answerProbe()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timerArmed++
	l.stopLink()
	if l.ticket != nil {
		l.ticket.void.Store(true)
	}
	if l.current != nil { // it panicked
		l.refuse(l.current, lanes.ErrInternal)
	}
	if l.pending != nil { // the next life settles it
		l.pending.request.answer(nil, lanes.ErrTimeout, l.pending.events...)
	}
	for _, queue := range [][]*request{l.closing, l.reports, l.waiting} {
		for _, q := range queue {
			l.refuse(q, reason)
		}
	}
	if l.settled != nil { // it panicked, and what was saved is saved
		l.settleInherited(l.settled.pending, l.settled.outcome)
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
