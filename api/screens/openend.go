package screens

import (
	"rangegate/lanes"
)

// OpenEnd is what screens show of a session with an open end.
type OpenEnd struct {
	UpTo    int   `json:"up_to"`    // minutes in all
	OwedMS  int64 `json:"owed_ms"`  // used beyond what was sold, and not settled
	BoundMS int64 `json:"bound_ms"` // for so long it can go on
	Counts  bool  `json:"counts"`   // the time runs, and it is known that the line is open
}

// OpenEndOf returns that of the session on the lane, nil if it has none.
func OpenEndOf(lane lanes.Lane, now lanes.Instant) *OpenEnd {
	s := lane.Session
	if !s.HasOpenEnd() {
		return nil
	}
	return &OpenEnd{
		UpTo: lane.View(now).OpenEnd, OwedMS: s.Beyond(now).Owed().Milliseconds(),
		BoundMS: s.RunsFor(now).Milliseconds(),
		Counts:  s.Phase == lanes.Running && s.Unproven == nil && lane.Unproven == nil,
	}
}
