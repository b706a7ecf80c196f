package screens

import "rangegate/lanes"

// Marks are the times left from which a screen marks a session, without those that every session has that is not
// warned.
type Marks struct {
	SoonMS int64 `json:"soon_ms,omitempty"` // it ends soon
	LastMS int64 `json:"last_ms,omitempty"` // in a moment
}

// MarksOf returns those of the session on the lane.
func MarksOf(lane lanes.Lane) (m Marks) {
	soon, last := lane.Marks()
	if soon != lanes.SoonLeft {
		m.SoonMS = soon.Milliseconds()
	}
	if last != lanes.LastLeft {
		m.LastMS = last.Milliseconds()
	}
	return m
}
