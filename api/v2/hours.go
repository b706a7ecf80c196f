package v2

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// HoursView are the opening hours of a range, and how they stand at the moment of the response.
type HoursView struct {
	Open       bool            `json:"is_open" doc:"The range is open now" example:"true"`
	Closes     *string         `json:"closes_at" format:"date-time" doc:"When it closes: no sale may end later. Null while it is closed, and where it does not close within a week" example:"2026-05-01T20:00:00.000Z"`
	Opens      *string         `json:"opens_at" format:"date-time" doc:"When it opens next. Null while it is open, and where it does not open within 31 days" example:"null"`
	Week       WeekView        `json:"week"`
	Exceptions []ExceptionView `json:"exceptions" doc:"Dates that have openings of their own, instead of those of their weekday; in their order"`
}

// WeekView has the openings of each weekday by the range's clocks, such as 09:00-22:00. One that ends before it begins
// ends on the next day; a day without any is closed.
type WeekView struct {
	Monday    []string `json:"monday" example:"[\"09:00-22:00\"]"`
	Tuesday   []string `json:"tuesday" example:"[\"09:00-22:00\"]"`
	Wednesday []string `json:"wednesday" example:"[\"09:00-22:00\"]"`
	Thursday  []string `json:"thursday" example:"[\"09:00-22:00\"]"`
	Friday    []string `json:"friday" example:"[\"18:00-02:00\"]"`
	Saturday  []string `json:"saturday" example:"[\"18:00-02:00\"]"`
	Sunday    []string `json:"sunday" example:"[]"`
}

// ExceptionView has the openings of one date.
type ExceptionView struct {
	Date     string   `json:"date" format:"date" example:"2026-12-24"`
	Openings []string `json:"openings" doc:"None: the range is closed" example:"[\"10:00-14:00\"]"`
}

// ScheduleView are the hours of a bay or a group that has its own: one of the two is given.
type ScheduleView struct {
	Bay   *uuid.UUID `json:"bay_id,omitempty" doc:"No sale on a lane of this bay may end outside of these hours, and of the range's" example:"55555555-5555-4555-8555-000000000001"`
	Group *uuid.UUID `json:"group_id,omitempty" doc:"No sale to this access group may end outside of these hours, and of the lane's" example:"33333333-3333-4333-8333-000000000001"`
	Hours HoursView  `json:"hours" doc:"Its own; is_open, closes_at and opens_at are those of it and the range together"`
}

// schedulesOf returns the schedules of a range, bays first, in the order of the layout.
func schedulesOf(layout lanes.Layout, now time.Time) (all []ScheduleView) {
	for _, bay := range layout.Bays {
		if bay.Hours != nil {
			all = append(all, ScheduleView{Bay: &bay.ID, Hours: *viewOfHours(bay.Hours, now)})
		}
	}
	for _, group := range layout.Groups {
		if layout.GroupHours[group.ID] != nil {
			all = append(all, ScheduleView{Group: &group.ID, Hours: *viewOfHours(layout.HoursOf(group.ID), now)})
		}
	}
	return all
}

// zoneOf returns the time zone of all hours of a range, empty where it has none.
func zoneOf(layout lanes.Layout) string {
	for _, hours := range layout.AllHours() {
		return hours.Zone.String()
	}
	return ""
}

// viewOfHours returns the hours at now, nil of a range that has none.
func viewOfHours(hours *lanes.Hours, now time.Time) *HoursView {
	if hours == nil {
		return nil
	}
	of := func(day time.Weekday) []string { return endpoint.Views(hours.Week[day], viewOfOpening) }
	state := hours.At(now)
	return &HoursView{
		Open: state.Open, Closes: endpoint.OptionalStamp(&state.Closes), Opens: endpoint.OptionalStamp(&state.Opens),
		Week: WeekView{
			Monday: of(time.Monday), Tuesday: of(time.Tuesday), Wednesday: of(time.Wednesday),
			Thursday: of(time.Thursday),
			Friday:   of(time.Friday), Saturday: of(time.Saturday), Sunday: of(time.Sunday),
		},
		Exceptions: endpoint.Views(hours.Exceptions, func(e lanes.Exception) ExceptionView {
			date := e.Date
			return ExceptionView{
				fmt.Sprintf("%04d-%02d-%02d", date.Year, date.Month, date.Day),
				endpoint.Views(e.Openings, viewOfOpening),
			}
		}),
	}
}

// viewOfOpening writes an opening as the configuration has it; one until midnight ends at 24:00.
func viewOfOpening(o lanes.Opening) string {
	to := o.To
	if to > 24*60 {
		to -= 24 * 60
	}
	return fmt.Sprintf("%02d:%02d-%02d:%02d", o.From/60, o.From%60, to/60, to%60)
}
