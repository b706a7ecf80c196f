// Package v1 is version 1 of the range POS API (SPEC.md 4.3, WIRE.md): the rules of version 2 in older shapes.
package v1

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// Endpoints returns every path of version 1 below its prefix. The handlers of version 2 carry them out.
func Endpoints(h v2.Handlers) []endpoint.Endpoint {
	change := func(ctx context.Context, p patch, key *lanes.Key) (*lanes.SessionView, error) {
		view, err := h.On(ctx, p.session, p.command(), key)
		return view, closingAs("duration_out_of_range", err)
	}
	create := func(ctx context.Context, sale v2.Sale, key *lanes.Key) (*lanes.SessionView, error) {
		view, err := h.Create(ctx, sale, key)
		return view, reservedAs("lane_occupied", closingAs("lane_not_accessible", err))
	}
	return slices.Concat(
		endpoint.Group("Range information", "What the range is made of.",
			endpoint.Handle("GET", "/bays", 200, "The range's bays, in display order",
				endpoint.NoInput, v2.List(h, v2.Bays, viewOfBay), "starting", "not_owner"),
			endpoint.Handle("GET", "/lanes", 200, "The range's lanes, in display order, not grouped by bay",
				endpoint.NoInput, v2.List(h, v2.Range.Lanes, viewOfLane), "starting", "not_owner"),
			endpoint.Handle("GET", "/groups", 200, "The range's access groups",
				endpoint.NoInput, v2.List(h, v2.Groups, v2.ViewOfGroup), "starting", "not_owner"),
		),
		endpoint.Group("Sessions", "Sell lane time, change it, end it.",
			endpoint.Handle("GET", "/sessions", 200, "The active sessions, in the display order of their lanes",
				v2.ReadExternalID, v2.Sessions(h, appendViews), "starting", "not_owner").
				Describe("Sessions made at the control screen are among them."),
			endpoint.Command("POST", "/sessions", 201, "Sell time on a free lane", v2.ReadSale("name"), create,
				sold, v2.SaleCodes()...),
			endpoint.Command("PATCH", "/sessions", 200, "Set a session's duration, or end it", readPatch, change,
				patch.response,
				v2.SessionCodes("duration_out_of_range", "no_time_left")...).
				Describe("A `duration` above 0 is the session's new total, which must leave it some time; "+
					"0 ends the session."),
		),
	)
}

// closingAs returns a refusal of minutes after the range's closing under a code that this version has: its clients may
// know no other. Any other error stays as it is.
func closingAs(code string, err error) error {
	if errors.Is(err, lanes.ErrAfterClosing) {
		return endpoint.Refuse(code, err.Error(), 0)
	}
	return err
}

// reservedAs returns the refusal of a lane that is reserved under a code that this version has. Any other error stays
// as it is.
func reservedAs(code string, err error) error {
	if errors.Is(err, lanes.ErrLaneReserved) {
		return endpoint.Refuse(code, err.Error(), 0)
	}
	return err
}

// SessionView has, like the other views, the keys of version 2 after an id that repeats one of them (WIRE.md, Views).
type SessionView struct {
	RepeatedID uuid.UUID `json:"id" doc:"The same as session_id"`
	v2.SessionKeys
}

// BayView is a bay: it groups lanes.
type BayView struct {
	RepeatedID uuid.UUID `json:"id" doc:"The same as bay_id" example:"55555555-5555-4555-8555-000000000001"`
	v2.BayView
}

// LaneView is a lane.
type LaneView struct {
	RepeatedID uuid.UUID `json:"id" doc:"The same as lane_id" example:"44444444-4444-4444-8444-000000000001"`
	v2.LaneView
}

func viewOfBay(bay lanes.Bay) BayView { return BayView{bay.ID, v2.ViewOfBay(bay)} }

func viewOfLane(lane lanes.LaneStatus) LaneView { return LaneView{lane.ID, v2.ViewOfLane(lane)} }

// appendSession appends the SessionView of the session.
func appendSession(buffer []byte, s *lanes.SessionView) []byte {
	buffer = append(v2.AppendID(append(buffer, `{"id":`...), s.ID), ',')
	return append(v2.AppendKeys(buffer, s), '}')
}

func appendViews(sessions []*lanes.SessionView) endpoint.Appender[[]SessionView] {
	return func(buffer []byte) []byte { return v2.AppendList(buffer, sessions, appendSession) }
}

func sold(_ v2.Sale, s *lanes.SessionView) endpoint.Appender[SessionView] {
	return func(buffer []byte) []byte { return appendSession(buffer, s) }
}

// patch is a new duration for a session, or its end.
type patch struct {
	session uuid.UUID
	minutes int // the total; 0 ends the session
}

func readPatch(in *endpoint.Input) patch {
	return patch{
		session: in.ID("id", "The session", endpoint.ExampleID),
		minutes: in.Integer("duration", 0, lanes.MaxMinutes, "Minutes in all; 0 ends the session", 90),
	}
}

// Closes reports whether the session ends, and its fire line is closed (endpoint.API.Admit).
func (p patch) Closes() bool { return p.minutes == 0 }

// Closes reports the same of the body of a PATCH, for whoever has not read it as one.
func Closes(body []byte) bool {
	var given struct{ Duration *float64 }
	return json.Unmarshal(body, &given) == nil && given.Duration != nil && *given.Duration == 0
}

func (p patch) command() lanes.Command {
	if p.minutes == 0 {
		return lanes.Stop{Session: p.session, By: lanes.ByPOS}
	}
	return lanes.SetDuration{Session: p.session, Minutes: p.minutes}
}

// Changed is the response for a session with a new duration.
type Changed struct {
	ID       uuid.UUID `json:"id"`
	Duration int       `json:"duration" doc:"Minutes sold in all" example:"90" min:"1" max:"480"`
}

// Stopped is the response for a session that was ended.
type Stopped struct {
	ID      uuid.UUID `json:"id"`
	Message string    `json:"message" example:"session stopped"`
}

func (p patch) response(view *lanes.SessionView) endpoint.Either[Changed, Stopped] {
	if p.minutes == 0 {
		return endpoint.Second[Changed](Stopped{view.ID, "session stopped"})
	}
	return endpoint.First[Changed, Stopped](Changed{view.ID, view.Minutes})
}
