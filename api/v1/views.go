package v1

import (
	"github.com/google/uuid"

	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// SessionView is a session as version 1 shows it. Like the other views it has the keys of version 2 and, first, an id
// that says one of them again (WIRE.md, Views).
type SessionView struct {
	Again uuid.UUID `json:"id" doc:"The same as session_id"`
	v2.SessionView
}

// BayView is an organisational container that groups lanes.
type BayView struct {
	Again uuid.UUID `json:"id" doc:"The same as bay_id" example:"55555555-5555-4555-8555-000000000001"`
	v2.BayView
}

// LaneView is a lane.
type LaneView struct {
	Again uuid.UUID `json:"id" doc:"The same as lane_id" example:"44444444-4444-4444-8444-000000000001"`
	v2.LaneView
}

func session(current v2.SessionView) SessionView { return SessionView{current.ID, current} }

func bay(current v2.BayView) BayView { return BayView{current.ID, current} }

func lane(current v2.LaneView) LaneView { return LaneView{current.ID, current} }

func sold(_ v2.Sale, view *lanes.SessionView) SessionView { return session(v2.ViewOf(view)) }
