package v2

import (
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// SessionView is a session as the wire shows it: the keys of WIRE.md, Views, in its order.
type SessionView struct {
	ID         uuid.UUID `json:"session_id"`
	Lane       uuid.UUID `json:"lane_id" example:"44444444-4444-4444-8444-000000000001"`
	Group      uuid.UUID `json:"group_id" example:"33333333-3333-4333-8333-000000000001"`
	Duration   int       `json:"duration" doc:"Minutes sold in all" example:"60" min:"1" max:"480"`
	BeganAt    *string   `json:"began_at" format:"date-time" doc:"When the time began; null until then" example:"2026-05-01T10:00:00.000Z"`
	CreatedAt  string    `json:"created_at" format:"date-time" example:"2026-05-01T09:58:30.250Z"`
	Remaining  *float64  `json:"minutes_remaining" doc:"Minutes left, exact to the millisecond; null until the time began" example:"59.5" min:"0" max:"480"`
	Purchasing bool      `json:"enable_purchasing" doc:"Lane purchasing is in effect"`
}

// ViewOf is the session as version 2 shows it.
func ViewOf(s *lanes.SessionView) SessionView {
	view := SessionView{
		ID: s.ID, Lane: s.Lane, Group: s.Group, Duration: s.Minutes,
		CreatedAt: stamp(s.Created), Purchasing: s.Purchasing,
	}
	if s.Began != nil {
		began, remaining := stamp(*s.Began), minutes(s.Remaining)
		view.BeganAt, view.Remaining = &began, &remaining
	}
	return view
}

// stamp is ISO 8601 in UTC, to the millisecond.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// minutes is exact to the millisecond: at most 5 decimals.
func minutes(d time.Duration) float64 { return float64(decimals(d)) / 1e5 }

// decimals is so many minutes in units of their fifth decimal, rounded half away from zero.
func decimals(d time.Duration) int64 { return int64(d.Round(minuteDecimal) / minuteDecimal) }

const minuteDecimal = time.Minute / 1e5
