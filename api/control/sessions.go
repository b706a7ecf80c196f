package control

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// changing are the codes that every command may have.
var changing = append([]string{"store_unavailable", "overloaded", "not_saved"}, notRunning...)

func (c *screen) sessionEndpoints() []endpoint.Endpoint {
	codes := func(own ...string) []string {
		return append(append([]string{"session_not_found", "session_ended"}, own...), changing...)
	}
	return []endpoint.Endpoint{
		endpoint.Handle("POST", "/sessions", 201, "Sell time on a lane", readSale, c.create,
			append([]string{"lane_not_found", "group_not_found", "lane_occupied", "lane_not_usable"}, changing...)...),
		endpoint.Handle("POST", "/sessions/{id}/start", 204, "Start now", readSession, on(c, func(id uuid.UUID) lanes.Command {
			return lanes.Enter{Session: id}
		}), codes("not_waiting")...),
		endpoint.Handle("POST", "/sessions/{id}/pause", 204, "Pause", readSession, on(c, func(id uuid.UUID) lanes.Command {
			return lanes.Pause{Session: id}
		}), codes("not_running")...),
		endpoint.Handle("POST", "/sessions/{id}/resume", 204, "Resume", readSession, on(c, func(id uuid.UUID) lanes.Command {
			return lanes.Resume{Session: id}
		}), codes("not_paused", "ceasefire")...),
		endpoint.Handle("POST", "/sessions/{id}/stop", 204, "Stop", readSession, on(c, func(id uuid.UUID) lanes.Command {
			return lanes.Stop{Session: id, By: lanes.ByStaff}
		}), codes()...),
		endpoint.Handle("POST", "/sessions/{id}/modify", 204, "Add minutes or take them away", readModify, c.modify,
			codes("duration_out_of_range", "no_time_left")...),
		endpoint.Handle("POST", "/sessions/{id}/make-up", 204, "Settle the time that ran while the gateway was down", readMakeUp, c.makeUp,
			codes("duration_out_of_range")...),
		endpoint.Handle("POST", "/sessions/{id}/move", 204, "Move to another lane", readMove, c.move,
			codes("lane_not_found", "lane_occupied", "lane_not_accessible", "lane_not_usable")...),
	}
}

type sale struct {
	lane    uuid.UUID
	command lanes.Create
}

func readSale(in *endpoint.Input) sale {
	return sale{
		lane: in.ID("lane_id", "The lane", exampleID),
		command: lanes.Create{
			Customer:   in.Text("customer_name", 1, 200, "Name of the customer", "Jo Smith"),
			Group:      in.ID("group_id", "Access group", exampleID),
			Minutes:    in.Integer("duration", lanes.MinMinutes, lanes.MaxMinutes, "Minutes", 60),
			Purchasing: in.Flag("enable_purchasing", false, "Enables lane purchasing, if the range supports it"),
			AutoStart:  in.Flag("auto_start", true, "If false, the time runs from when the customer enters the lane"),
			ByStaff:    true,
		},
	}
}

const exampleID = "44444444-4444-4444-8444-000000000001"

func (c *screen) create(ctx context.Context, s sale) (v2.SessionView, error) {
	r, who, err := c.staffed(ctx)
	if err != nil {
		return v2.SessionView{}, err
	}
	s.command.Session = uuid.New()
	created, err := r.StaffCreate(ctx, who, s.lane, s.command)
	if err != nil {
		return v2.SessionView{}, err
	}
	return v2.ViewOf(created), nil
}

func readSession(in *endpoint.Input) uuid.UUID { return in.PathID("id", "The session") }

// on is an endpoint's work that is one command to a session.
func on(c *screen, command func(uuid.UUID) lanes.Command) func(context.Context, uuid.UUID) (endpoint.Empty, error) {
	return func(ctx context.Context, id uuid.UUID) (endpoint.Empty, error) { return c.on(ctx, id, command(id)) }
}

func (c *screen) on(ctx context.Context, session uuid.UUID, command lanes.Command) (endpoint.Empty, error) {
	r, who, err := c.staffed(ctx)
	if err != nil {
		return endpoint.Empty{}, err
	}
	_, err = r.StaffOn(ctx, who, session, command)
	return endpoint.Empty{}, err
}

func readModify(in *endpoint.Input) lanes.Modify {
	return lanes.Modify{
		Session: readSession(in),
		Minutes: in.Integer("minutes", -lanes.MaxMinutes, lanes.MaxMinutes, "Minutes to add, or with a minus to take away; not 0", 15),
	}
}

func (c *screen) modify(ctx context.Context, m lanes.Modify) (endpoint.Empty, error) {
	if m.Minutes == 0 {
		return endpoint.Empty{}, endpoint.Faults{"minutes": "must not be 0"}
	}
	return c.on(ctx, m.Session, m)
}

func readMakeUp(in *endpoint.Input) lanes.MakeUp {
	return lanes.MakeUp{Session: readSession(in), Give: in.YesOrNo("give", "Whether the time is given back")}
}

func (c *screen) makeUp(ctx context.Context, m lanes.MakeUp) (endpoint.Empty, error) {
	return c.on(ctx, m.Session, m)
}

type move struct{ session, lane uuid.UUID }

func readMove(in *endpoint.Input) move {
	return move{session: readSession(in), lane: in.ID("lane_id", "The lane to go on in", exampleID)}
}

func (c *screen) move(ctx context.Context, m move) (endpoint.Empty, error) {
	r, who, err := c.staffed(ctx)
	if err != nil {
		return endpoint.Empty{}, err
	}
	_, err = r.StaffMove(ctx, who, m.session, m.lane)
	return endpoint.Empty{}, err
}
