package actors

import (
	"context"

	"github.com/google/uuid"

	"rangegate/actors/idempotency"
	"rangegate/lanes"
)

// asker is who asks.
type asker struct {
	by  lanes.By
	who string // of staff
}

var pos = asker{by: lanes.ByPOS}

// Create sells time on a lane of the range.
func (r *Range) Create(ctx context.Context, lane uuid.UUID, command lanes.Create, key *lanes.Key) (*lanes.SessionView, error) {
	return r.create(ctx, pos, lane, command, key)
}

func (r *Range) create(
	ctx context.Context, from asker, lane uuid.UUID, command lanes.Create, key *lanes.Key,
) (*lanes.SessionView, error) {
	return r.once(ctx, key, func(claim *idempotency.Claim) (*lanes.SessionView, error) {
		a := &ask{ctx: ctx, command: command, by: from.by, who: from.who, claim: claim}
		switch {
		case !r.Layout().HasGroup(command.Group):
			return nil, turnAway(a, lanes.ErrGroupNotFound)
		case !r.board.Has(lane):
			return nil, turnAway(a, lanes.ErrLaneNotFound)
		}
		return r.ask(ctx, lane, a)
	})
}

// On gives a command to the lane that the session is on. A stop of one whose end is not saved yet hears that again.
func (r *Range) On(ctx context.Context, session uuid.UUID, command lanes.Command, key *lanes.Key) (*lanes.SessionView, error) {
	return r.on(ctx, pos, session, command, key)
}

func (r *Range) on(
	ctx context.Context, from asker, session uuid.UUID, command lanes.Command, key *lanes.Key,
) (*lanes.SessionView, error) {
	view, err := r.follow(ctx, from, session, key, func(lane uuid.UUID, a *ask) (*lanes.SessionView, error) {
		a.command = command
		return r.ask(ctx, lane, a)
	})
	if _, stop := command.(lanes.Stop); stop && err == lanes.ErrSessionEnded && r.committer.ending(session) {
		return nil, lanes.ErrNotSaved
	}
	return view, err
}

// Move takes the session to another lane of the range.
func (r *Range) Move(ctx context.Context, session, to uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	return r.move(ctx, pos, session, to, key)
}

func (r *Range) move(ctx context.Context, from asker, session, to uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	return r.follow(ctx, from, session, key, func(lane uuid.UUID, a *ask) (*lanes.SessionView, error) {
		switch {
		case !r.board.Has(to):
			return nil, turnAway(a, lanes.ErrLaneNotFound)
		case lane == to:
			return nil, turnAway(a, lanes.ErrLaneOccupied)
		}
		ticket, err := r.reserve(ctx, from.by, to)
		if err != nil {
			return nil, turnAway(a, err)
		}
		a.command, a.ticket = lanes.Move{Session: session, To: ticket.lane}, ticket
		return r.ask(ctx, lane, a)
	})
}

// once has a command done once for its idempotency key; the answer to an earlier one is a *lanes.Repeat.
func (r *Range) once(
	ctx context.Context, key *lanes.Key, do func(*idempotency.Claim) (*lanes.SessionView, error),
) (*lanes.SessionView, error) {
	if err := context.Cause(r.background); err != nil {
		return nil, err
	}
	if key == nil {
		return do(nil)
	}
	claim, err := r.keys.Claim(ctx, *key)
	if err != nil {
		return nil, err
	}
	return do(claim)
}

// follow prepares an ask for the lane that the session is on, and again for the next one if it moved meanwhile.
func (r *Range) follow(
	ctx context.Context, from asker, session uuid.UUID, key *lanes.Key,
	do func(lane uuid.UUID, a *ask) (*lanes.SessionView, error),
) (*lanes.SessionView, error) {
	for {
		var on uuid.UUID
		view, err := r.once(ctx, key, func(claim *idempotency.Claim) (*lanes.SessionView, error) {
			a := &ask{ctx: ctx, by: from.by, who: from.who, claim: claim}
			lane, found := r.board.Find(session)
			if !found {
				_, err := r.Session(ctx, session)
				return nil, turnAway(a, err)
			}
			on = lane.ID
			return do(lane.ID, a)
		})
		if err != lanes.ErrSessionNotFound || on == uuid.Nil || ctx.Err() != nil {
			return view, err
		}
	}
}

// turnAway refuses an ask that no lane has to hear of.
func turnAway(a *ask, err error) error {
	a.claim.Settle(nil)
	return err
}

// ask sends the ask to the lane and waits for the answer, or for the end of ctx.
func (r *Range) ask(ctx context.Context, lane uuid.UUID, a *ask) (*lanes.SessionView, error) {
	a.reply = make(chan result, 1)
	r.sendTo(lane, a)
	select {
	case answer := <-a.reply:
		return answer.view, answer.err
	case <-ctx.Done():
		return nil, lanes.ErrTimeout
	case <-r.background.Done():
		return r.unread(a)
	}
}

// unread is the answer to an ask that nobody may read any more, because the tree stops. By the time that the range is let
// go of, whoever had sent something to the store that was not saved has the answer. What was saved, the lane may not have
// come to say.
func (r *Range) unread(a *ask) (*lanes.SessionView, error) {
	select {
	case answer := <-a.reply:
		return answer.view, answer.err
	default:
	}
	if err := context.Cause(r.background); err == lanes.ErrNotOwner && !a.saved.Load() {
		return nil, err
	}
	return nil, lanes.ErrTimeout
}

func (r *Range) reserve(ctx context.Context, by lanes.By, lane uuid.UUID) (*ticket, error) {
	m := &reserve{reply: make(chan reservation, 1), ctx: ctx, by: by}
	r.sendTo(lane, m)
	select {
	case answer := <-m.reply:
		return answer.ticket, answer.err
	case <-ctx.Done():
		return nil, lanes.ErrTimeout
	case <-r.background.Done():
		return nil, context.Cause(r.background)
	}
}
