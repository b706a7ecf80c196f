package actors

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/actors/idempotency"
	"rangegate/actors/supervised"
	"rangegate/lanes"
)

// Several lanes change together in four steps:
//
//	lend    each lane, in the order of their ids, keeps still and gives its value with a ticket, once nothing else of it
//	        is being saved
//	decide  the operations are decided on those values, in their order, with what is known of the lines by then
//	save    all changes go to the store in one write
//	return  each lane puts what was saved in force, or goes on as it was
//
// While a lane is lent, what closes its fire line reaches its hardware at once and is decided when it is back. So do
// the operations that close: at their arrival if each is done that can be, else once they are decided. Nothing that
// opens does before it is saved. Where each is done that can be and the write fails, those that close are given to
// their lanes one by one: they are never dropped, as a single command that closes is not. So is one whose lane is
// parked, and cannot be lent.

// together is several operations on their way through these steps.
type together struct {
	r        *Range
	from     requester
	ctx      context.Context // of the client
	requests []*request      // one for each operation, for its record and its log line
	ops      []lanes.Operation
	// plan makes them, and again where a session has left its lane meanwhile. It may wait for the store: until it is
	// through, ops have the lanes that are known. nil: they are complete, and a session that has left refuses them.
	plan func() ([]lanes.Operation, error)
	each bool // each that can be is done, else all or none

	lent    map[uuid.UUID]*ticket
	void    atomic.Bool // one of the lanes panicked meanwhile, and has forgotten that it was lent
	decided []lanes.Decided
	became  map[uuid.UUID]lanes.Lane
	ahead   []closedAhead // by operation, once hardware has closed for any of them
	parked  []int         // the operations that close whose lane is parked: it decides them once it goes on
	closed  closedLanes
	write   *commit.Write
	kept    *lanes.KeptAnswer
	claim   *idempotency.Claim
	ended   chan commit.Outcome // of one
}

// closedLanes are those whose hardware has closed for operations: also lanes that a session has come to from another
// one. Lanes call add, which does not block.
type closedLanes struct {
	mu    sync.Mutex
	lanes []uuid.UUID
	over  bool
}

// add notes the lane, which is to be told when that is over; false: it is.
func (c *closedLanes) add(lane uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.lanes = append(c.lanes, lane)
	}
	return !c.over
}

// end returns the lanes, to which none is added any more.
func (c *closedLanes) end() []uuid.UUID {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	return c.lanes
}

// closedAhead is what a lane whose hardware has closed for an operation was told; zero: none was told for it.
type closedAhead struct {
	lane    uuid.UUID
	request *request
}

// The messages to a lane that is lent.
type (
	returned struct { // what was saved
		supervised.Taken
		ticket  *ticket
		lane    lanes.Lane
		of      *together
		sent    time.Time       // once it was saved
		closing []*request      // that arrived for its session at the lane that this has left
		ahead   []*closingAhead // likewise
		lost    *lanes.Instant  // unprovenSince of that
		locked  *lanes.Instant  // lockedSince of that
	}
	movedAway struct { // the session has moved to another lane
		supervised.Taken
		ticket *ticket
	}
	returnDelayed struct{ ticket *ticket } // the store is down: nobody knows when the lane comes back

	closingAhead struct { // they close the fire line, and are not saved
		of      *together
		closing []*request
	}
	closingOver struct{ of *together } // they are saved, or will not be
)

// Refuse implements supervised.Awaited: a lane that has stopped was saved all the same.
func (m *returned) Refuse(reason error) {
	for _, q := range m.closing {
		q.Refuse(reason)
	}
}

// Refuse implements supervised.Awaited: nothing waits at a lane that has stopped.
func (m *movedAway) Refuse(error) {
	if to := m.ticket.moved; to != nil {
		m.ticket.moved = nil
		to.ticket.r.tree.Send(to.ticket.pid, to)
	}
}

// together carries out the operations, all of them or none. Once they are decided, and before they are saved, it calls
// decided: a claim is answered with what that makes of them. saving tells that they were given to the store, whose
// outcome settles the claim; until then the caller does. Errors: lanes.Refusals, ErrLaneNotFound, ErrLaneNotUsable for
// a lane that is parked, and those that every method of Range may return.
func (r *Range) together(
	ctx context.Context, from requester, ops []lanes.Operation, claim *idempotency.Claim, decided func([]lanes.Decided),
) (saving bool, err error) {
	return r.newTogether(ctx, from, ops, claim).run(decided)
}

func (r *Range) newTogether(ctx context.Context, from requester, ops []lanes.Operation,
	claim *idempotency.Claim,
) *together {
	t := &together{
		r: r, from: from, ctx: ctx, ops: slices.Clone(ops), claim: claim,
		ended: make(chan commit.Outcome, 1),
	}
	now := r.clock.Now()
	for _, op := range ops {
		q := &request{ctx: ctx, command: op.Command, by: from.by, who: from.who}
		q.arrive(now)
		q.beginTogether(r.metrics.Tracer)
		t.requests = append(t.requests, q)
	}
	return t
}

// errLeft means that a session was not on its lane any more.
var errLeft = errors.New("a session has left its lane meanwhile")

func (t *together) run(decided func([]lanes.Decided)) (saving bool, err error) {
	ended := false
	defer func() {
		if !ended && t.write == nil { // a panic: the lanes must not stay as they were lent
			_ = t.refused(lanes.ErrInternal)
		}
	}()
	saving, err = t.lendAndSave(decided)
	ended = true
	return saving, err
}

// lendAndSave is run but for panics.
func (t *together) lendAndSave(decided func([]lanes.Decided)) (saving bool, err error) {
	if t.each {
		t.closeAhead()
	}
	for {
		err := t.planned()
		if err == nil {
			err = t.lend()
		}
		if err == nil {
			err = t.decide()
		}
		switch {
		case err == nil:
			decided(t.decided)
			return true, t.save()
		case !errors.Is(err, lanes.ErrDue) && !errors.Is(err, errLeft):
			return false, t.refused(err)
		case t.ctx.Err() != nil:
			return false, t.refused(lanes.ErrTimeout)
		}
		t.takeBack() // a session expires as soon as its lane is back
	}
}

// planned makes the operations where they have to be looked up.
func (t *together) planned() error {
	if t.plan == nil {
		return nil
	}
	ops, err := t.plan()
	if err != nil {
		return err
	}
	t.ops = ops
	if t.each {
		t.closeAhead()
	}
	return nil
}

// lend has every lane lend itself, one after the other: two that want the same lanes wait for each other, and never
// both. A lane that cannot be lent refuses all, or the operations that are about it. One that cannot be lent just now
// refuses none: nothing is decided then.
func (t *together) lend() error {
	t.lent, t.parked = map[uuid.UUID]*ticket{}, nil
	var ids []uuid.UUID
	for _, op := range t.ops {
		if op.Refusal == nil {
			ids = append(ids, op.Lane)
			if op.To != uuid.Nil {
				ids = append(ids, op.To)
			}
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	for _, id := range slices.Compact(ids) {
		q := &request{ctx: t.ctx, by: t.from.by, lends: t, reply: make(chan reply, 1), lent: make(chan *ticket, 1)}
		q.begin(t.r.metrics.Tracer)
		t.r.addresses.sendTo(id, q)
		select {
		case ticket := <-q.lent:
			t.lent[id] = ticket
		case answer := <-q.reply:
			switch {
			case isPassing(answer.err):
				return answer.err
			case !t.each:
				return &lanes.OnLane{Lane: id, Err: answer.err}
			}
			for i, op := range t.ops {
				if op.Refusal == nil && (op.Lane == id || op.To == id) {
					t.ops[i].Refusal = answer.err
					if op.Lane == id && t.hasClosedFor(i) && errors.Is(answer.err, lanes.ErrLaneNotUsable) {
						t.ops[i].Refusal, t.parked = lanes.ErrNotSaved, append(t.parked, i)
					}
				}
			}
		case <-t.ctx.Done():
			return lanes.ErrTimeout
		case <-t.r.life.Done():
			return context.Cause(t.r.life)
		}
	}
	return nil
}

func (t *together) decide() error {
	on := make(map[uuid.UUID]lanes.Lane, len(t.lent))
	for id, ticket := range t.lent {
		if !ticket.take() { // the client has gone
			return lanes.ErrTimeout
		}
		on[id] = ticket.lentLane()
	}
	for i, closed := range t.ahead {
		if closed.request != nil && closed.request.closes() {
			t.ops[i].Closed = closed.request.at
		}
	}
	now := t.r.clock.Now()
	decided, became, err := lanes.DecideTogether(now, on, t.ops)
	if err != nil {
		return err
	}
	for i, op := range t.ops {
		if t.plan != nil && op.Refusal == nil && errors.Is(decided[i].Err, lanes.ErrSessionNotFound) {
			return errLeft
		}
	}
	refused := make(lanes.Refusals, len(decided))
	for i, d := range decided {
		refused[i] = d.Err
		q := t.requests[i]
		q.at, q.decided = now, now.Mono
		q.noteDecided()
		q.session = cmp.Or(t.ops[i].Session, sessionOn(d.Before), sessionOn(d.Change.Lane))
	}
	if refused.First() != nil && !t.each {
		return refused
	}
	t.decided, t.became = decided, became
	t.closeAhead()
	return nil
}

// closeAhead closes the hardware for the operations that close, each at the lane that has its session by now: that may
// have moved since another lane was told. A lane whose start is taken back begins nothing from then on.
func (t *together) closeAhead() {
	if t.ahead == nil {
		t.ahead = make([]closedAhead, len(t.ops))
	}
	tell := map[uuid.UUID]*closingAhead{}
	for i, op := range t.ops {
		q := &request{ctx: t.ctx, command: op.Command, by: t.from.by, at: t.requests[0].at}
		if op.Refusal != nil || op.Lane == t.ahead[i].lane || !q.closes() && !q.takesStart() {
			continue
		}
		q.beginTogether(t.r.metrics.Tracer)
		t.ahead[i] = closedAhead{op.Lane, q}
		if tell[op.Lane] == nil {
			tell[op.Lane] = &closingAhead{of: t}
		}
		tell[op.Lane].closing = append(tell[op.Lane].closing, q)
	}
	for lane, m := range tell {
		t.closed.add(lane)
		t.r.addresses.sendTo(lane, m)
	}
}

// endAhead lets the hardware be as its lanes are.
func (t *together) endAhead() {
	for _, lane := range t.closed.end() {
		t.r.addresses.sendTo(lane, &closingOver{t})
	}
}

// hasClosedFor reports whether hardware has closed for the operation, which closes a line.
func (t *together) hasClosedFor(i int) bool {
	return t.ahead != nil && t.ahead[i].request != nil && t.ahead[i].request.closes()
}

// closeAlone gives those that close to their lanes one by one, where each was to be done that can be: all of them where
// the write was not made, else those of parked lanes. Nobody waits for them; what becomes of each is in the log.
func (t *together) closeAlone(saved bool) {
	defer t.endAhead()
	if !t.each {
		return
	}
	for i, closed := range t.ahead {
		if closed.request == nil || saved && !slices.Contains(t.parked, i) {
			continue
		}
		q := closed.request
		if lane, found := t.r.board.Find(q.closesSession()); found {
			alone := &request{
				ctx: context.WithoutCancel(t.ctx), command: q.command, by: t.from.by, who: t.from.who, closed: q.at,
				inForce: true,
			}
			alone.begin(t.r.metrics.Tracer)
			t.r.addresses.sendTo(lane.ID, alone)
		}
	}
}

// ofClosed returns what the client hears where the operations were not done and hardware has closed for some: those are
// carried out all the same, unless the range has ended.
func (t *together) ofClosed(err error) error {
	closed := slices.ContainsFunc(t.ahead, func(c closedAhead) bool { return c.request != nil })
	switch {
	case !t.each || !closed:
		return err
	case errors.Is(err, lanes.ErrNotOwner):
		return lanes.ErrNotOwnerClosed
	case t.r.life.Err() == nil && isPassing(err) && !errors.Is(err, lanes.ErrTimeout):
		return lanes.ErrNotSaved
	}
	return err
}

// save saves all changes in one write, and waits for its outcome.
func (t *together) save() error {
	w := &commit.Write{
		Awaited:   true,
		Cancelled: &t.void,
		Trace:     t.requests[0].traceID(),
		Span:      t.requests[0].span(),
		Done:      t.outcome,
	}
	settings := t.r.settings()
	for i, d := range t.decided {
		q := t.requests[i]
		if d.Err != nil {
			t.logRefusal(i, d.Err)
			continue
		}
		d.Change.AskedBy(q.by)
		for _, event := range d.Change.Events {
			w.Events = t.r.delivery.Append(w.Events, event, q.traceID(), q.span())
		}
		if d.Change.Ended != nil {
			w.Ended = append(w.Ended, *d.Change.Ended)
		}
		if d.Change.Changes(d.Before) {
			w.Acts = append(w.Acts, q.acts(d.Before, d.Change, settings)...)
		}
	}
	for _, lane := range t.became {
		w.Lanes = append(w.Lanes, lane)
	}
	t.kept = t.claim.Answer(nil, t.requests[0].at)
	w.Kept, t.write = t.kept, w
	t.r.committer.Save(w)
	select {
	case outcome := <-t.ended:
		return outcome.Err()
	case <-t.ctx.Done():
		return lanes.ErrTimeout
	case <-t.r.life.Done():
		return t.lastOutcome()
	}
}

// lastOutcome returns, while the range stops, what the client hears: see Range.lastReply.
func (t *together) lastOutcome() error {
	select {
	case outcome := <-t.ended:
		return outcome.Err()
	default:
	}
	if err := context.Cause(t.r.life); errors.Is(err, lanes.ErrNotOwner) {
		return err
	}
	return lanes.ErrTimeout
}

// outcome is called by the committer, under its lock and in the order of the log: see pendingSave.outcome.
func (t *together) outcome(outcome commit.Outcome) {
	t.r.delivery.Settle(t.write.Events, outcome)
	switch outcome {
	case commit.Unresolved:
		for _, ticket := range t.lent {
			t.r.tree.Send(ticket.pid, &returnDelayed{ticket})
		}
		return
	case commit.Saved:
		for _, q := range t.requests {
			q.noteFlush(t.write.FlushedBy)
		}
		t.r.board.PublishSaved(t.write.Lanes...)
		t.r.delivery.Announce(t.write.Events)
		t.giveBack()
		t.closeAlone(true)
		t.claim.Settle(t.kept)
	case commit.Rejected:
		t.takeBack()
		t.closeAlone(false)
		t.claim.Settle(nil)
		t.recordFailed(outcome)
	case commit.Fenced, commit.Lost: // the tree is about to be stopped
		t.takeBack()
		t.claim.Settle(nil)
		t.recordFailed(outcome)
	}
	t.ended <- outcome
}

// recordFailed records the decisions that were not saved, beside the committer, who has others to tell.
func (t *together) recordFailed(outcome commit.Outcome) {
	if t.r.metrics.Tracer == nil {
		return
	}
	result := code(outcome.Err())
	go func() {
		for i, d := range t.decided {
			if d.Err == nil {
				t.requests[i].record(t.r, lanes.Lane{ID: d.Before.ID}, result, true)
			}
		}
	}()
}

// giveBack sends each lane what was saved. Where its session has moved there, that goes by way of the lane that it has
// left, whose waiting requests follow: such a lane hands them on before it takes what was saved of itself.
func (t *together) giveBack() {
	var left []*ticket
	var back []*returned
	for _, lane := range t.write.Lanes {
		m := &returned{ticket: t.lent[lane.ID], lane: lane, of: t}
		if t.r.metrics.Tracer != nil {
			m.sent = time.Now()
		}
		if from := t.leftFor(lane); from != nil {
			from.moved, left = m, append(left, from)
		} else {
			back = append(back, m)
		}
	}
	for _, from := range left {
		t.r.tree.Send(from.pid, &movedAway{ticket: from})
	}
	for _, m := range back {
		t.r.tree.Send(m.ticket.pid, m)
	}
}

// leftFor returns the lane that the session on this one has left; nil: it was here, or there is none.
func (t *together) leftFor(lane lanes.Lane) *ticket {
	if session := sessionOn(lane); session != uuid.Nil {
		for id, from := range t.lent {
			if id != lane.ID && sessionOn(from.lane) == session {
				return from
			}
		}
	}
	return nil
}

// takeBack lets the lanes go on as they were.
func (t *together) takeBack() {
	for _, ticket := range t.lent {
		ticket.drop()
	}
}

// refused ends the operations, none of which has happened, and returns why: one log line for each that was refused.
func (t *together) refused(err error) error {
	t.takeBack()
	t.closeAlone(false)
	var each lanes.Refusals
	if !errors.As(err, &each) {
		return err
	}
	for i, why := range each {
		if why != nil {
			t.logRefusal(i, why)
		}
	}
	return err
}

// logRefusal writes the log line of an operation that its lane has refused.
func (t *together) logRefusal(i int, why error) {
	if op := t.ops[i]; op.Refusal == nil {
		logLine(t.r, lanes.Lane{ID: op.Lane}, t.requests[i], why, false).Err(why).Msg("command")
	}
}

// lend keeps the lane as it is until it comes back, at the end of the client's wait if nothing is decided by then.
func (l *laneActor) lend(q *request) {
	if q.ctx.Err() != nil {
		l.refuse(q, lanes.ErrTimeout)
		return
	}
	t := l.giveTicket(q.ctx)
	t.void, t.lent = &q.lends.void, true
	q.recordLent(l.r, l.id)
	q.lent <- t
}

// newestFor returns the last operation that has changed the lane, nil if none has.
func (t *together) newestFor(lane uuid.UUID) *request {
	for i, d := range slices.Backward(t.decided) {
		if d.Err == nil && (d.Before.ID == lane || t.ops[i].To == lane) {
			return t.requests[i]
		}
	}
	return nil
}

// returnDelayed is stallStore for a lane that is lent.
func (l *laneActor) returnDelayed(m *returnDelayed) {
	if l.ticket == m.ticket {
		l.stallStore()
	}
}

// handOn sends the lane that the session has moved to what was saved of it, with what waits here to close its fire
// line, before anything opens there.
func (l *laneActor) handOn(t *ticket) {
	m := t.moved
	if m == nil {
		return
	}
	t.moved = nil
	session, decided := sessionOn(m.lane), m.of.requests[0].at
	m.closing, m.ahead = l.queue.takeFollowing(session), l.queue.aheadOf(session)
	m.lost = l.unprovenSince(decided)
	if l.ticket == t { // else the lane has begun anew, and does not know
		m.locked = l.lockedSince(session, decided)
	}
	l.r.tree.Send(m.ticket.pid, m)
}

// returned puts in force what was saved.
func (l *laneActor) returned(m *returned) {
	l.handOn(m.ticket)
	l.queue.closing = append(m.closing, l.queue.closing...)
	l.follow(m.ahead)
	if l.ticket != m.ticket {
		return // the lane panicked meanwhile and was loaded with it
	}
	l.ticket, l.storeStalled = nil, false
	if m.of.leftFor(m.lane) == nil { // its session was here, or is new
		m.locked = l.lockedSince(sessionOn(m.lane), m.of.requests[0].at)
	}
	l.swap(m.lane.UnprovenSince(m.lost), nil)
	l.uncharge(m.locked)
	l.arrive(m.lost)
	l.openFor(m.of.newestFor(l.id))
	l.r.purchases.Start(l.lane, lanes.Span{})
	for i, d := range m.of.decided {
		if d.Err == nil && m.of.ops[i].To == l.id {
			m.of.requests[i].recordArrival(l.r, l.lane, m.sent)
		}
		if d.Err != nil || d.Before.ID != l.id {
			continue
		}
		l.r.metrics.TurnEnded(l.r.id, d.Change)
		if d.Change.Settled != nil {
			l.r.purchases.Settled(l.id, d.Change.Settled, m.of.requests[i].by, m.of.requests[i].traceID())
		}
		logLine(l.r, l.lane, m.of.requests[i], nil, true).Int("events", len(d.Change.Events)).Msg("command")
	}
}

// closeFor closes the fire line for operations that other lanes are decided with.
func (l *laneActor) closeFor(m *closingAhead) {
	l.queue.ahead = append(l.queue.ahead, m)
	cause := m.closing[len(m.closing)-1]
	if l.busy() {
		l.closeAhead(cause)
	} else {
		l.openFor(cause)
	}
}

// follow keeps the fire line closed for operations for which the lane that a session has left had closed.
func (l *laneActor) follow(ahead []*closingAhead) {
	for _, m := range ahead {
		if m.of.closed.add(l.id) {
			l.queue.ahead = append(l.queue.ahead, m)
		}
	}
}
