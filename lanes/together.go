package lanes

import (
	"errors"

	"github.com/google/uuid"
)

// Operation is a command to a lane, or to a session, one of several that are decided together.
type Operation struct {
	Lane    uuid.UUID // that it is about; of a command to a session the one that has it before all operations
	Session uuid.UUID // that it is about, wherever operations before it have moved it; uuid.Nil: the lane
	To      uuid.UUID // the destination of a move, else uuid.Nil
	Command Command   // of a move: without its destination
	By      By
	Closed  Instant // when the hardware has closed for it, from when it counts if it closes; zero: from the decision on
	Refusal error   // it is refused already, as its lane or its session was not found; nil: it is to be decided
}

// Decided is what one of several operations comes to.
type Decided struct {
	Before Lane   // the lane that it is decided on, as the operations before it have left it
	Change Change // of a move, the lane that it leaves may have another session already
	Err    error  // why it is refused; then there is no change
}

// DecideTogether decides the operations in their order, each on what those before it have made of its lane. Moves of
// different sessions that stand one after the other are made at once: each may go to a lane that another one leaves. on
// has every lane that they are about, and is left as it was; became has those lanes as all operations leave them. Where
// one is refused, those behind it are decided without it, so that every refusal is found. Errors: ErrDue if the session
// on one of the lanes has to expire first.
func DecideTogether(
	now Instant, on map[uuid.UUID]Lane, operations []Operation,
) (decided []Decided, became map[uuid.UUID]Lane, err error) {
	t := together{
		now: now, ops: operations, became: make(map[uuid.UUID]Lane, len(on)),
		moved: map[uuid.UUID]uuid.UUID{}, ended: map[uuid.UUID]bool{},
	}
	t.decided = make([]Decided, len(operations))
	for id, lane := range on {
		if lane.Due(now) {
			return nil, nil, ErrDue
		}
		t.became[id] = lane
	}
	for i := 0; i < len(operations); {
		if behind := t.behindMoves(i); behind > i {
			t.move(i, behind)
			i = behind
			continue
		}
		t.decide(i)
		i++
	}
	return t.decided, t.became, nil
}

// together is several operations while they are decided.
type together struct {
	now     Instant
	ops     []Operation
	decided []Decided
	became  map[uuid.UUID]Lane
	moved   map[uuid.UUID]uuid.UUID // session → the lane that an operation has moved it to
	ended   map[uuid.UUID]bool      // sessions that an operation has ended
}

// laneOf returns the lane that the operation is about by now.
func (t *together) laneOf(op Operation) Lane {
	if lane, moved := t.moved[op.Session]; moved && op.Session != uuid.Nil {
		return t.became[lane]
	}
	return t.became[op.Lane]
}

func (t *together) decide(i int) {
	op := t.ops[i]
	d := Decided{Before: t.laneOf(op), Err: t.refusal(op)}
	if d.Err == nil {
		d.Change, d.Err = d.Before.Decide(op.at(d.Before, t.now), op.Command)
	}
	if d.Err == nil {
		t.became[d.Before.ID] = d.Change.Lane
		t.ended[op.Session] = d.Change.Ended != nil
	}
	t.decided[i] = d
}

// at returns from when the operation counts: the hardware may have closed for it before now, but what was decided on
// the session since then stands.
func (op Operation) at(lane Lane, now Instant) Instant {
	if op.Closed.Wall.IsZero() || lane.Session == nil || op.Closed.Before(lane.Session.Since) {
		return now
	}
	return op.Closed
}

// refusal is why the operation cannot be decided, nil if it can.
func (t *together) refusal(op Operation) error {
	if op.Refusal == nil && op.Session != uuid.Nil && t.ended[op.Session] {
		return ErrSessionEnded
	}
	return op.Refusal
}

// behindMoves returns the first operation from i on that is no move, or moves a session once more.
func (t *together) behindMoves(i int) int {
	moving := map[uuid.UUID]bool{}
	for i < len(t.ops) && t.ops[i].To != uuid.Nil && !moving[t.ops[i].Session] {
		moving[t.ops[i].Session] = true
		i++
	}
	return i
}

// move decides the moves from first up to behind, at once. A session whose move is refused stays on its lane, which may
// make another move to that lane fail.
func (t *together) move(first, behind int) {
	goes := map[int]bool{}
	for i := first; i < behind; i++ {
		op := t.ops[i]
		d := &t.decided[i]
		d.Before, d.Err = t.laneOf(op), t.refusal(op)
		if on := d.Before.Session; d.Err == nil && (on == nil || on.ID != op.Session) {
			d.Err = ErrSessionNotFound
		}
		goes[i] = d.Err == nil
	}
	for anew := true; anew; {
		anew = false
		free := t.vacated(goes)
		for i := first; i < behind; i++ {
			if !goes[i] {
				continue
			}
			if err := t.moveTo(i, free); err != nil { // its lane is not free for others, as was thought
				t.decided[i].Err, goes[i], anew = err, false, true
			}
		}
	}
	for i := first; i < behind; i++ {
		if goes[i] {
			t.became[t.decided[i].Before.ID] = t.decided[i].Change.Lane
		} else {
			t.decided[i].Change = Change{}
		}
	}
	for i := first; i < behind; i++ {
		if goes[i] {
			t.became[t.ops[i].To], t.moved[t.ops[i].Session] = *t.decided[i].Change.Other, t.ops[i].To
		}
	}
}

// vacated returns the lanes without the sessions that go.
func (t *together) vacated(goes map[int]bool) map[uuid.UUID]Lane {
	free := make(map[uuid.UUID]Lane, len(t.became))
	for id, lane := range t.became {
		free[id] = lane
	}
	for i, going := range goes {
		if going {
			lane := t.decided[i].Before
			free[lane.ID] = lane.vacated(t.now)
		}
	}
	return free
}

// moveTo decides a move to a lane that is free. For the moves behind it the lane is taken.
func (t *together) moveTo(i int, free map[uuid.UUID]Lane) error {
	op, before := t.ops[i], t.decided[i].Before
	if op.To == before.ID {
		return ErrLaneOccupied
	}
	to, err := free[op.To].AwaitMove(t.now, op.By)
	if err != nil {
		return err
	}
	free[op.To] = to
	change, err := before.Decide(t.now, Move{Session: op.Session, To: to})
	t.decided[i].Change = change
	return err
}

// Refusals are why operations that are decided together were refused, in their order; nil for one that was not. It is
// the error of those of which one refuses all.
type Refusals []error

func (r Refusals) Error() string {
	return "none of the operations was done: " + errors.Join(r...).Error()
}

// Code is batch_refused.
func (Refusals) Code() string { return "batch_refused" }

// Each returns them.
func (r Refusals) Each() []error { return r }

// First returns the first refusal, nil for none.
func (r Refusals) First() error {
	for _, err := range r {
		if err != nil {
			return err
		}
	}
	return nil
}

// OfStart returns why a start of several sessions is refused: the first refusal, or where that is that a session would
// end after closing, one that names all of those. There has to be one.
func (r Refusals) OfStart() error {
	first := r.First()
	late, refused := errors.AsType[*StartAfterClosing](first)
	if !refused {
		return first
	}
	all := &StartAfterClosing{Closes: late.Closes}
	for _, refusal := range r {
		if late, refused := errors.AsType[*StartAfterClosing](refusal); refused {
			all.Closes = earlier(all.Closes, late.Closes)
			all.Sessions = append(all.Sessions, late.Sessions...)
		}
	}
	return all
}

// Batch is several operations of a POS, in their order.
type Batch struct {
	Operations []Operation // a sale names its lane, every other one its session
	Atomic     bool        // all of them or none; else each that can be
}

// BatchResult is what one operation of a batch came to.
type BatchResult struct {
	Err     error        // why it was refused, nil if it was done
	Session *SessionView // after it; nil if it was refused or has ended the session
}
