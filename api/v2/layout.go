package v2

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// BayView is a bay: it groups lanes.
type BayView struct {
	ID   uuid.UUID `json:"bay_id" example:"55555555-5555-4555-8555-000000000001"`
	Name string    `json:"name" example:"Bay A"`
}

// GroupView is an access group. Its key is id in both versions.
type GroupView struct {
	ID   uuid.UUID `json:"id" example:"33333333-3333-4333-8333-000000000001"`
	Name string    `json:"name" example:"Public"`
}

// LaneView is a lane.
type LaneView struct {
	ID         uuid.UUID `json:"lane_id" example:"44444444-4444-4444-8444-000000000001"`
	Bay        uuid.UUID `json:"bay_id" example:"55555555-5555-4555-8555-000000000001"`
	Name       string    `json:"readable_name" example:"Lane 1"`
	Accessible bool      `json:"is_accessible" doc:"Open for sale to the POS" example:"true"`
	Usable     bool      `json:"is_usable" doc:"The lane's hardware is in working order" example:"true"`
}

// LaneStatus is the state of a lane.
type LaneStatus struct {
	ID        uuid.UUID  `json:"lane_id" example:"44444444-4444-4444-8444-000000000001"`
	Session   *uuid.UUID `json:"session_id" doc:"Null while the lane is free"`
	Phase     string     `json:"phase" enum:"free,waiting,running,paused" doc:"Waiting: the customer has not entered yet" example:"running"`
	Hold      bool       `json:"hold" doc:"A hold locks the fire line"`
	Link      string     `json:"link" enum:"up,down,faulty" doc:"The connection to the lane's hardware" example:"up"`
	LinkSince string     `json:"link_since" format:"date-time" example:"2026-05-01T09:00:00.000Z"`
	NotUsable *string    `json:"not_usable_because" doc:"Null while the lane is usable" example:"null"`
	Reserved  *string    `json:"reserved_until,omitempty" format:"date-time" doc:"Until when the lane is reserved for a POS whose customer pays; only while it is" example:"2026-05-01T10:03:00.000Z"`
	OpenEnd   bool       `json:"open_end,omitempty" doc:"Its controller is there and can keep the line open beyond what was sold: a session with an open end can be sold here, and move here; only where it can" example:"true"`
	// GraceEndsAt is that of the SessionView. No example: such a session is paused.
	GraceEndsAt *string `json:"grace_ends_at,omitempty" format:"date-time" doc:"The time of its session is used up: it is on the lane until then, paused with nothing left, unless minutes are added; only in a grace"`
}

// Bays returns the range's bays.
func Bays(r Range) []lanes.Bay { return r.Layout().Bays }

// Groups returns the range's access groups.
func Groups(r Range) []lanes.Group { return r.Layout().Groups }

// ViewOfBay returns a bay as version 2 shows it.
func ViewOfBay(bay lanes.Bay) BayView { return BayView{bay.ID, bay.Name} }

// ViewOfGroup returns a group as both versions show it.
func ViewOfGroup(group lanes.Group) GroupView { return GroupView{group.ID, group.Name} }

// ViewOfLane returns a lane as version 2 shows it.
func ViewOfLane(lane lanes.LaneStatus) LaneView {
	return LaneView{lane.ID, lane.Bay, lane.Name, lane.Lane.ForSale(), lane.NotUsable == ""}
}

func statuses(_ context.Context, r Range, _ endpoint.Empty) ([]LaneStatus, error) {
	now := r.Now()
	return endpoint.Views(r.Lanes(), func(lane lanes.LaneStatus) LaneStatus { return statusOf(lane, now) }), nil
}

func statusOf(lane lanes.LaneStatus, now lanes.Instant) LaneStatus {
	status := LaneStatus{
		ID: lane.ID, Phase: "free", Hold: lane.Lane.Held,
		Link: string(lane.Link), LinkSince: endpoint.Stamp(lane.LinkSince),
		NotUsable: endpoint.Optional(lane.NotUsable), OpenEnd: lane.Lane.Unproven == nil,
	}
	if session := lane.Lane.Session; session != nil {
		status.Session, status.Phase = &session.ID, string(session.Phase)
		if end, found := lane.Lane.GraceEnd(); found {
			status.GraceEndsAt = new(endpoint.Stamp(end.Wall))
		}
	}
	if left := lane.Lane.ReservedFor(now); left > 0 {
		until := now.Wall.Add(left)
		status.Reserved = endpoint.OptionalStamp(&until)
	}
	return status
}

// List returns the handler that responds with a list of the range, each element as show returns it.
func List[T, View any](
	h Handlers, read func(Range) []T, show func(T) View,
) func(context.Context, endpoint.Empty) ([]View, error) {
	return endpoint.WithTarget(h.RangeOf, func(_ context.Context, r Range, _ endpoint.Empty) ([]View, error) {
		return endpoint.Views(read(r), show), nil
	})
}
