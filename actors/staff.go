package actors

import (
	"context"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// What staff ask at the control screen, and customers at the screen of their lane. What staff change is on record with who
// it was.

func staff(who string) asker { return asker{lanes.ByStaff, who} }

// StaffCreate sells time on a lane, also on one that is closed for sale.
func (r *Range) StaffCreate(ctx context.Context, who string, lane uuid.UUID, command lanes.Create) (*lanes.SessionView, error) {
	command.ByStaff = true
	return r.create(ctx, staff(who), lane, command, nil)
}

// StaffOn gives a command to the lane that the session is on, as On does.
func (r *Range) StaffOn(ctx context.Context, who string, session uuid.UUID, command lanes.Command) (*lanes.SessionView, error) {
	return r.on(ctx, staff(who), session, command, nil)
}

// StaffMove takes the session to another lane of the range, also to one that is closed for sale.
func (r *Range) StaffMove(ctx context.Context, who string, session, to uuid.UUID) (*lanes.SessionView, error) {
	return r.move(ctx, staff(who), session, to, nil)
}

// StaffLane gives a command to a lane, whatever session is on it.
func (r *Range) StaffLane(ctx context.Context, who string, lane uuid.UUID, command lanes.Command) error {
	_, err := r.at(ctx, staff(who), lane, command)
	return err
}

// LaneOn gives a command to a lane at its own screen. The answer is the session on it, nil when there is none.
func (r *Range) LaneOn(ctx context.Context, lane uuid.UUID, command lanes.Command) (*lanes.SessionView, error) {
	return r.at(ctx, asker{by: lanes.ByLane}, lane, command)
}

// LaneBuy begins a purchase at the lane's own screen. The board shows what becomes of it, in the session. With the same
// id it is the same purchase, however often it is asked for.
func (r *Range) LaneBuy(ctx context.Context, lane, session, purchase uuid.UUID, items []lanes.Item) error {
	_, err := r.LaneOn(ctx, lane, lanes.Buy{Session: session, Purchase: purchase, Items: items, Trace: trace.ID(ctx)})
	return err
}

func (r *Range) at(ctx context.Context, from asker, lane uuid.UUID, command lanes.Command) (*lanes.SessionView, error) {
	switch err := context.Cause(r.background); {
	case err != nil:
		return nil, err
	case !r.board.Has(lane):
		return nil, lanes.ErrLaneNotFound
	}
	return r.ask(ctx, lane, &ask{ctx: ctx, command: command, by: from.by, who: from.who})
}
