package v2

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// BayView is an organisational container that groups lanes.
type BayView struct {
	ID   uuid.UUID `json:"bay_id"`
	Name string    `json:"name" example:"Bay A"`
}

// GroupView is an access group. Its key is id in both versions.
type GroupView struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name" example:"Public"`
}

// LaneView is a lane.
type LaneView struct {
	ID         uuid.UUID `json:"lane_id"`
	Bay        uuid.UUID `json:"bay_id"`
	Name       string    `json:"readable_name" example:"Lane 1"`
	Accessible bool      `json:"is_accessible" doc:"Open for sale to the POS"`
	Usable     bool      `json:"is_usable" doc:"The lane's hardware is in working order"`
}

// LaneStatus is what LaneView cannot say.
type LaneStatus struct {
	ID        uuid.UUID  `json:"lane_id"`
	Session   *uuid.UUID `json:"session_id"`
	Phase     string     `json:"phase" doc:"free, waiting, running or paused" example:"running"`
	Hold      bool       `json:"hold" doc:"A hold locks the fire line"`
	Link      string     `json:"link" doc:"up, down or faulty" example:"up"`
	LinkSince string     `json:"link_since" format:"date-time" example:"2026-05-01T09:00:00.000Z"`
	NotUsable *string    `json:"not_usable_because" doc:"Null while the lane is usable" example:"its link is down"`
}

func (h Handlers) bays(ctx context.Context, _ endpoint.Empty) ([]BayView, error) {
	return shown(ctx, h, func(r Range) []lanes.Bay { return r.Layout().Bays },
		func(bay lanes.Bay) BayView { return BayView{bay.ID, bay.Name} })
}

func (h Handlers) groups(ctx context.Context, _ endpoint.Empty) ([]GroupView, error) {
	return shown(ctx, h, func(r Range) []lanes.Group { return r.Layout().Groups },
		func(group lanes.Group) GroupView { return GroupView{group.ID, group.Name} })
}

func (h Handlers) lanes(ctx context.Context, _ endpoint.Empty) ([]LaneView, error) {
	return shown(ctx, h, Range.Lanes, func(lane lanes.LaneStatus) LaneView {
		return LaneView{lane.ID, lane.Bay, lane.Name, lane.Accessible, lane.NotUsable == ""}
	})
}

func (h Handlers) laneStatus(ctx context.Context, _ endpoint.Empty) ([]LaneStatus, error) {
	return shown(ctx, h, Range.Lanes, func(lane lanes.LaneStatus) LaneStatus {
		status := LaneStatus{
			ID: lane.ID, Phase: "free", Hold: lane.Lane.Held,
			Link: string(lane.Link), LinkSince: stamp(lane.LinkSince),
		}
		if session := lane.Lane.Session; session != nil {
			status.Session, status.Phase = &session.ID, string(session.Phase)
		}
		if lane.NotUsable != "" {
			status.NotUsable = &lane.NotUsable
		}
		return status
	})
}

// shown reads a list of the range and shows each of it.
func shown[T, View any](ctx context.Context, h Handlers, read func(Range) []T, show func(T) View) ([]View, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	list := read(r)
	views := make([]View, len(list))
	for i, each := range list {
		views[i] = show(each)
	}
	return views, nil
}
