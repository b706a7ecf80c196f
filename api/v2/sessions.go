package v2

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

type create struct {
	lane    uuid.UUID
	command lanes.Create
}

func readCreate(in *endpoint.Input) create {
	return create{
		command: lanes.Create{
			Customer: in.Text("customer_name", 1, 200, "Name of the customer", "Jo Smith"),
			Group:    in.ID("group_id", "Access group"),
			Minutes:  in.Integer("duration", lanes.MinMinutes, lanes.MaxMinutes, "Minutes", 60),
			Purchasing: in.Flag("enable_purchasing", false,
				"Enables lane purchasing, if the range supports it"),
			AutoStart: in.Flag("auto_start", true,
				"If false, the time does not count down until the customer enters the lane"),
		},
		lane: in.ID("lane_id", "Lane for the session"),
	}
}

func readID(in *endpoint.Input) uuid.UUID { return in.PathID("id", "Session") }

type modify struct {
	session uuid.UUID
	minutes int
}

// wellFormedMinutes bounds what modify reads as a number at all. Whether so many can be added is the lane's to say.
const wellFormedMinutes = 1_000_000

func readModify(in *endpoint.Input) modify {
	return modify{
		session: in.PathID("id", "Session"),
		minutes: in.QuerySigned("time", wellFormedMinutes, "Minutes to add, or with a minus to take away", 15),
	}
}

type move struct{ session, lane uuid.UUID }

func readMove(in *endpoint.Input) move {
	return move{
		session: in.PathID("id", "Session"),
		lane:    in.QueryID("lane_id", "Lane to go on in: free, accessible and usable"),
	}
}

func (h Handlers) list(ctx context.Context, _ endpoint.Empty) ([]SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	active := r.Sessions()
	views := make([]SessionView, len(active))
	for i, session := range active {
		views[i] = viewOf(session)
	}
	return views, nil
}

func (h Handlers) get(ctx context.Context, id uuid.UUID) (SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return SessionView{}, err
	}
	session, err := r.Session(ctx, id)
	if err != nil {
		return SessionView{}, err
	}
	return viewOf(session), nil
}

func (h Handlers) create(ctx context.Context, c create, key *lanes.Key) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	c.command.Session = uuid.New()
	return r.Create(ctx, c.lane, c.command, key)
}

func (h Handlers) modify(ctx context.Context, m modify, key *lanes.Key) (*lanes.SessionView, error) {
	return h.on(ctx, m.session, lanes.Modify{Session: m.session, Minutes: m.minutes}, key)
}

func (h Handlers) stop(ctx context.Context, id uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	return h.on(ctx, id, lanes.Stop{Session: id, By: lanes.ByPOS}, key)
}

func (h Handlers) pause(ctx context.Context, id uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	return h.on(ctx, id, lanes.Pause{Session: id}, key)
}

func (h Handlers) resume(ctx context.Context, id uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	return h.on(ctx, id, lanes.Resume{Session: id}, key)
}

func (h Handlers) move(ctx context.Context, m move, key *lanes.Key) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	return r.Move(ctx, m.session, m.lane, key)
}

func (h Handlers) on(
	ctx context.Context, session uuid.UUID, command lanes.Command, key *lanes.Key,
) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	return r.On(ctx, session, command, key)
}
