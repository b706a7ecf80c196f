package screens

import (
	"time"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// HoursView is whether a range is open at the time of a message, and until when. Each picture has it, and each beat:
// nobody has to change anything for a range to close.
type HoursView struct {
	Open       bool    `json:"open"`
	Closes     *string `json:"closes_at"`    // null: it is closed, or does not close within a week
	Opens      *string `json:"opens_at"`     // null: it is open, or does not open within 31 days
	LastCallMS int64   `json:"last_call_ms"` // so long before it closes, screens say so
	TimeZone   string  `json:"time_zone"`    // by whose clocks they say it
}

// ViewHours returns how the opening hours stand at now, nil for a range that has none.
func ViewHours(hours *lanes.Hours, now time.Time) *HoursView {
	if hours == nil {
		return nil
	}
	state := hours.At(now)
	return &HoursView{
		state.Open, endpoint.OptionalStamp(&state.Closes), endpoint.OptionalStamp(&state.Opens), lanes.LastCall.Milliseconds(), hours.Zone.String(),
	}
}
