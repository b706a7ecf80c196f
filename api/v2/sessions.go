package v2

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Sale is an order to sell time on a lane.
type Sale struct {
	lane    uuid.UUID
	command lanes.Create
}

// ReadSale reads a sale. The customer's name is the one key that the versions call by different names.
func ReadSale(customer string) func(*endpoint.Input) Sale {
	return func(in *endpoint.Input) Sale {
		return Sale{
			command: lanes.Create{
				Customer: in.Text(customer, 1, 200, "Name of the customer; it is trimmed, and has no control characters", "Jo Smith"),
				Group:    in.ID("group_id", "Access group", exampleGroup),
				Minutes:  in.Integer("duration", lanes.MinMinutes, lanes.MaxMinutes, "Minutes", 60),
				Purchasing: in.Flag("enable_purchasing", false,
					"Enables lane purchasing, if the range supports it"),
				AutoStart: in.Flag("auto_start", true,
					"If false, the time does not count down until the customer enters the lane"),
			},
			lane: in.ID("lane_id", "Lane for the session", exampleLane),
		}
	}
}

// The first lane and the first group of the playground, so that what the document shows can be tried there.
const (
	exampleLane  = "44444444-4444-4444-8444-000000000001"
	exampleGroup = "33333333-3333-4333-8333-000000000001"
)

func readID(in *endpoint.Input) uuid.UUID { return in.PathID("id", "The session") }

type modify struct {
	session uuid.UUID
	minutes int
}

// wellFormedMinutes bounds what modify reads as a number at all. Whether so many can be added is the lane's to say.
const wellFormedMinutes = 1_000_000

func readModify(in *endpoint.Input) modify {
	return modify{
		session: in.PathID("id", "The session"),
		minutes: in.QuerySigned("time", wellFormedMinutes, "Minutes to add, or with a minus to take away", 15),
	}
}

type move struct{ session, lane uuid.UUID }

func readMove(in *endpoint.Input) move {
	return move{
		session: in.PathID("id", "The session"),
		lane:    in.QueryID("lane_id", "Lane to go on in: free, accessible and usable", "44444444-4444-4444-8444-000000000002"),
	}
}

// Sessions is the active sessions, as shown.
func Sessions[Out any](h Handlers, show func([]*lanes.SessionView) Out) func(context.Context, endpoint.Empty) (Out, error) {
	return func(ctx context.Context, _ endpoint.Empty) (out Out, err error) {
		r, err := h.RangeOf(ctx)
		if err != nil {
			return out, err
		}
		return show(r.Sessions()), nil
	}
}

func (h Handlers) get(ctx context.Context, id uuid.UUID) (endpoint.Appender[SessionView], error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	session, err := r.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return written(session), nil
}

// Create sells the time. The session gets an id of its own.
func (h Handlers) Create(ctx context.Context, sale Sale, key *lanes.Key) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	sale.command.Session = uuid.New()
	return r.Create(ctx, sale.lane, sale.command, key)
}

func sold(_ Sale, session *lanes.SessionView) endpoint.Appender[SessionView] { return written(session) }

func (h Handlers) modify(ctx context.Context, m modify, key *lanes.Key) (*lanes.SessionView, error) {
	return h.On(ctx, m.session, lanes.Modify{Session: m.session, Minutes: m.minutes}, key)
}

func (h Handlers) stop(ctx context.Context, id uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	return h.On(ctx, id, lanes.Stop{Session: id, By: lanes.ByPOS}, key)
}

func (h Handlers) pause(ctx context.Context, id uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	return h.On(ctx, id, lanes.Pause{Session: id}, key)
}

func (h Handlers) resume(ctx context.Context, id uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	return h.On(ctx, id, lanes.Resume{Session: id}, key)
}

func (h Handlers) move(ctx context.Context, m move, key *lanes.Key) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	return r.Move(ctx, m.session, m.lane, key)
}

// On gives a command to an active session.
func (h Handlers) On(
	ctx context.Context, session uuid.UUID, command lanes.Command, key *lanes.Key,
) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	return r.On(ctx, session, command, key)
}
