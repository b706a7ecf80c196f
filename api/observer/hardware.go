package observer

import (
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// hardwareView is what is wanted of the hardware of a lane, beside what its controller has said last.
type hardwareView struct {
	Stage   *lanes.Stage   `json:"stage"` // of what is wanted; null: nothing is, as the lane is not loaded
	Wanted  *hardwareState `json:"wanted"`
	Applied *hardwareState `json:"applied"`  // null: the controller has said nothing since the range was loaded
	InHello bool           `json:"in_hello"` // that was in its hello, and it has confirmed nothing since
}

type hardwareState struct {
	Since   string       `json:"since"` // it is wanted, or was heard of
	Hold    bool         `json:"hold"`
	Session *uuid.UUID   `json:"session_id"` // null: none, and the fire line is locked
	Phase   *lanes.Phase `json:"phase"`
	Minutes float64      `json:"minutes_remaining"` // of the session, at Since
}

func viewOfHardware(h lanes.Hardware) hardwareView {
	return hardwareView{endpoint.Optional(h.Stage), viewOfState(h.Wanted), viewOfState(h.Applied), h.InHello}
}

func viewOfState(s *lanes.HardwareState) *hardwareState {
	if s == nil {
		return nil
	}
	return &hardwareState{
		endpoint.Stamp(s.Since), s.Hold, endpoint.Optional(s.Session), endpoint.Optional(s.Phase),
		s.Left.Round(time.Millisecond).Minutes(),
	}
}
