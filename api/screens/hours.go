package screens

import (
	"time"

	"github.com/google/uuid"

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
	// Parts are the bays and groups that have hours of their own.
	Parts []PartView `json:"parts,omitempty"`
}

// PartView is whether a bay, or the range to a group, is open: one of the two is given.
type PartView struct {
	Bay    *uuid.UUID `json:"bay_id,omitempty"`
	Group  *uuid.UUID `json:"group_id,omitempty"`
	Open   bool       `json:"open"`
	Closes *string    `json:"closes_at"`
	Opens  *string    `json:"opens_at"`
}

// ViewHours returns how the hours of a lane stand at now, nil for one that has none.
func ViewHours(hours *lanes.Hours, now time.Time) *HoursView {
	if hours == nil {
		return nil
	}
	return viewOf(hours, hours.Zone.String(), now)
}

// ViewHoursOf returns how those of a range and its parts stand at now, nil where nothing of it has any.
func ViewHoursOf(layout lanes.Layout, now time.Time) *HoursView {
	all := layout.AllHours()
	if len(all) == 0 {
		return nil
	}
	view := viewOf(layout.Hours, all[0].Zone.String(), now)
	for _, bay := range layout.Bays {
		if bay.Hours != nil {
			view.Parts = append(view.Parts, partOf(bay.Hours, now))
			view.Parts[len(view.Parts)-1].Bay = &bay.ID
		}
	}
	for _, group := range layout.Groups {
		if layout.GroupHours[group.ID] != nil {
			view.Parts = append(view.Parts, partOf(layout.HoursOf(group.ID), now))
			view.Parts[len(view.Parts)-1].Group = &group.ID
		}
	}
	return view
}

func viewOf(hours *lanes.Hours, zone string, now time.Time) *HoursView {
	part := partOf(hours, now)
	return &HoursView{
		Open: part.Open, Closes: part.Closes, Opens: part.Opens,
		LastCallMS: lanes.LastCall.Milliseconds(), TimeZone: zone,
	}
}

func partOf(hours *lanes.Hours, now time.Time) PartView {
	state := hours.At(now)
	return PartView{
		Open: state.Open, Closes: endpoint.OptionalStamp(&state.Closes),
		Opens: endpoint.OptionalStamp(&state.Opens),
	}
}
