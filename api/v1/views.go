package v1

import (
	"github.com/google/uuid"

	"rangegate/api/endpoint"
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

// appendSession writes a SessionView of the session.
func appendSession(to []byte, s *lanes.SessionView) []byte {
	to = append(v2.AppendID(append(to, `{"id":`...), s.ID), ',')
	return v2.AppendKeys(to, s)
}

func writtenAll(all []*lanes.SessionView) endpoint.Appender[[]SessionView] {
	return func(to []byte) []byte { return v2.AppendList(to, all, appendSession) }
}

func bay(current v2.BayView) BayView { return BayView{current.ID, current} }

func lane(current v2.LaneView) LaneView { return LaneView{current.ID, current} }

func sold(_ v2.Sale, s *lanes.SessionView) endpoint.Appender[SessionView] {
	return func(to []byte) []byte { return appendSession(to, s) }
}
