package actors

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/actors/idempotency"
	"rangegate/actors/supervised"
	"rangegate/lanes"
)

// Several lanes change together in four steps:
//
//	lend    each lane, in the order of their ids, keeps still and gives its value with a ticket, once nothing else of it is being saved
//	decide  the operations are decided on those values, in their order
//	save    all changes go to the store in one write
//	return  each lane puts what was saved in force, or goes on as it was
//
// While a lane is lent, what closes its fire line reaches its hardware at once and is decided when it is back. A change
// that closes is sent to the hardware only with the return, unlike that of a single command: until it is saved, none
// of the operations has happened.

// together is several operations on their way through these steps.
type together struct {
	r        *Range
	requests []*request // one for each operation, for its record and its log line
	ops      []lanes.Operation

	lent    map[uuid.UUID]*ticket
	void    atomic.Bool    // one of the lanes panicked meanwhile, and has forgotten that it was lent
	changes []lanes.Change // one for each operation
	write   *commit.Write
	kept    *lanes.KeptAnswer
	claim   *idempotency.Claim
	ended   chan commit.Outcome // of one
}

// The messages to a lane that is lent.
type (
	returned struct { // what was saved
		supervised.Taken
		ticket *ticket
		lane   lanes.Lane
		of     *together
	}
	returnDelayed struct{ ticket *ticket } // the store is down: nobody knows when the lane comes back
)

// Refuse implements supervised.Awaited: a lane that has stopped was saved all the same.
func (*returned) Refuse(error) {}

// refusals are why operations that are decided together were refused, in their order; nil for one that was not.
type refusals []error

func (r refusals) Error() string {
	return "none of the operations was done: " + errors.Join(r...).Error()
}

// first returns the first refusal.
func (r refusals) first() error {
	for _, err := range r {
		if err != nil {
			return err
		}
	}
	return nil
}

// together carries out the operations, all of them or none. Once they are decided, and before they are saved, it calls
// decided with their changes: a claim is answered with what that makes of them. saving tells that they were given to
// the store, whose outcome settles the claim; until then the caller does. Errors: refusals, ErrLaneNotFound,
// ErrLaneNotUsable for a lane that is parked, and those that every method of Range may return.
func (r *Range) together(
	ctx context.Context, from requester, ops []lanes.Operation, claim *idempotency.Claim, decided func([]lanes.Change),
) (saving bool, err error) {
	for {
		t := &together{r: r, ops: ops, lent: map[uuid.UUID]*ticket{}, claim: claim, ended: make(chan commit.Outcome, 1)}
		for _, op := range ops {
			q := &request{ctx: ctx, command: op.Command, by: from.by, who: from.who}
			q.arrive(r.clock.Now())
			t.requests = append(t.requests, q)
		}
		err := t.lend(ctx)
		if err == nil {
			err = t.decide()
		}
		switch {
		case err == nil:
			decided(t.changes)
			return true, t.save(ctx)
		case !errors.Is(err, lanes.ErrDue):
			return false, t.refused(err)
		case ctx.Err() != nil:
			return false, t.refused(lanes.ErrTimeout)
		}
		t.takeBack() // a session expires as soon as its lane is back
	}
}

// lend has every lane lend itself, one after the other: two that want the same lanes wait for each other, and never
// both.
func (t *together) lend(ctx context.Context) error {
	var ids []uuid.UUID
	for _, op := range t.ops {
		ids = append(ids, op.Lane)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	for _, id := range slices.Compact(ids) {
		q := &request{ctx: ctx, by: lanes.ByPOS, lends: t, reply: make(chan reply, 1), lent: make(chan *ticket, 1)}
		t.r.addresses.sendTo(id, q)
		select {
		case ticket := <-q.lent:
			t.lent[id] = ticket
		case answer := <-q.reply:
			return answer.err
		case <-ctx.Done():
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
		on[id] = ticket.lane
	}
	now := t.r.clock.Now()
	changes, refused, err := lanes.DecideTogether(now, on, t.ops)
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(refused, func(err error) bool { return err != nil }):
		return refusals(refused)
	}
	for i, q := range t.requests {
		q.at, q.decided = now, now.Mono
		q.session = cmp.Or(sessionOn(on[t.ops[i].Lane]), sessionOn(changes[i].Lane))
	}
	t.changes = changes
	return nil
}

// save saves all changes in one write, and waits for its outcome.
func (t *together) save(ctx context.Context) error {
	w := &commit.Write{Awaited: true, Cancelled: &t.void, Trace: t.requests[0].traceID(), Done: t.outcome}
	became, settings := map[uuid.UUID]lanes.Lane{}, t.r.settings()
	for id, ticket := range t.lent {
		became[id] = ticket.lane
	}
	for i, change := range t.changes {
		op, q, before := t.ops[i], t.requests[i], became[t.ops[i].Lane]
		change.AskedBy(q.by)
		for _, event := range change.Events {
			w.Events = t.r.delivery.Append(w.Events, event, q.traceID())
		}
		if change.Ended != nil {
			w.Ended = append(w.Ended, *change.Ended)
		}
		if change.Changes(before) {
			w.Acts = append(w.Acts, q.acts(before, change, settings)...)
		}
		became[op.Lane] = change.Lane
	}
	for _, lane := range became {
		w.Lanes = append(w.Lanes, lane)
	}
	t.kept = t.claim.Answer(nil, t.requests[0].at)
	w.Kept, t.write = t.kept, w
	t.r.committer.Save(w)
	select {
	case outcome := <-t.ended:
		return outcome.Err()
	case <-ctx.Done():
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
		t.r.board.PublishSaved(t.write.Lanes...)
		t.r.delivery.Announce(t.write.Events)
		for _, lane := range t.write.Lanes {
			ticket := t.lent[lane.ID]
			t.r.tree.Send(ticket.pid, &returned{ticket: ticket, lane: lane, of: t})
		}
		t.claim.Settle(t.kept)
	case commit.Rejected, commit.Fenced, commit.Lost:
		t.takeBack()
		t.claim.Settle(nil)
	}
	t.ended <- outcome
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
	var each refusals
	if !errors.As(err, &each) {
		return err
	}
	for i, why := range each {
		if why != nil {
			q := t.requests[i]
			logLine(t.r, t.lent[t.ops[i].Lane].lane, q, why, false).Err(why).Msg("command")
		}
	}
	return err
}

// lend keeps the lane as it is until it comes back, at the end of the client's wait if nothing is decided by then.
func (l *laneActor) lend(q *request) {
	if q.ctx.Err() != nil {
		l.refuse(q, lanes.ErrTimeout)
		return
	}
	t := l.giveTicket(q.ctx)
	t.void, t.lent = &q.lends.void, true
	q.lent <- t
}

// returnDelayed is stallStore for a lane that is lent.
func (l *laneActor) returnDelayed(m *returnDelayed) {
	if l.ticket == m.ticket {
		l.stallStore()
	}
}

// returned puts in force what was saved.
func (l *laneActor) returned(m *returned) {
	if l.ticket != m.ticket {
		return // the lane panicked meanwhile and was loaded with it
	}
	l.ticket, l.storeStalled = nil, false
	l.swap(m.lane, nil)
	l.open()
	l.r.purchases.Start(l.lane)
	for i, op := range m.of.ops {
		if op.Lane != l.id {
			continue
		}
		q, change := m.of.requests[i], m.of.changes[i]
		l.r.observeTurn(change)
		logLine(l.r, l.lane, q, nil, true).Int("events", len(change.Events)).Msg("command")
	}
}
