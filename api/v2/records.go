package v2

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
	"rangegate/webhook"
)

// Events is one page of the event log.
type Events struct {
	Events []Event `json:"events"`
	Next   string  `json:"next" doc:"Cursor for the next page" example:"1042"`
}

// Event is an entry of the event log.
type Event struct {
	Cursor     string       `json:"cursor" example:"1042"`
	ID         uuid.UUID    `json:"id" doc:"The event's own id; webhook-id is msg_ and this"`
	OccurredAt string       `json:"occurred_at" format:"date-time" example:"2026-05-01T10:00:00.000Z"`
	Payload    webhook.Body `json:"payload" doc:"Exactly as sent"`
	Simulated  bool         `json:"simulated"`
	Attempt    *Attempt     `json:"attempt" doc:"The one delivery; null while it is pending"`
}

// Attempt is the one delivery of an event.
type Attempt struct {
	At       string  `json:"at" format:"date-time" example:"2026-05-01T10:00:00.050Z"`
	Status   *int    `json:"status" doc:"The receiver's status; null when it gave none" example:"200"`
	Error    *string `json:"error" example:"not sent: no webhook is configured"`
	Duration int64   `json:"duration_ms" example:"35"`
}

// History is one page of the ended sessions.
type History struct {
	Sessions []EndedView `json:"sessions"`
	Next     string      `json:"next" doc:"Cursor for the next page" example:"1042"`
}

// EndedView is a session that has ended.
type EndedView struct {
	SessionView
	Customer      string  `json:"customer_name" doc:"Empty once its term in the history is over" example:"Jo Smith"`
	EndedAt       string  `json:"ended_at" format:"date-time" example:"2026-05-01T11:00:00.000Z"`
	Reason        string  `json:"end_reason" doc:"expired, pos, staff, lane or simulated" example:"expired"`
	MinutesUsed   float64 `json:"minutes_used" example:"60"`
	MinutesPaused float64 `json:"minutes_paused" example:"4.25"`
}

type page struct {
	after string
	limit int
}

func readPage(in *endpoint.Input) page {
	return page{
		after: in.QueryText("after", 20, "Cursor to read behind; none: from the oldest on"),
		limit: in.QueryLimit("limit", 1, 1000, 100, "How many at most"),
	}
}

// cursor is the place in the log that the page begins behind.
func (p page) cursor() (uint64, error) {
	if p.after == "" {
		return 0, nil
	}
	cursor, err := strconv.ParseUint(p.after, 10, 63)
	if err != nil {
		return 0, endpoint.Faults{"after": "must be a cursor from an earlier answer"}
	}
	return cursor, nil
}

func (h Handlers) events(ctx context.Context, p page) (Events, error) {
	after, err := p.cursor()
	if err != nil {
		return Events{}, err
	}
	r, err := h.RangeOf(ctx)
	if err != nil {
		return Events{}, err
	}
	logged, err := r.Events(ctx, after, p.limit)
	if err != nil {
		return Events{}, err
	}
	answer := Events{Events: make([]Event, len(logged))}
	for i, each := range logged {
		answer.Events[i] = eventOf(each)
		after = each.Cursor
	}
	answer.Next = strconv.FormatUint(after, 10)
	return answer, nil
}

func eventOf(logged lanes.Logged) Event {
	event := Event{
		Cursor: strconv.FormatUint(logged.Cursor, 10), ID: logged.Event.ID, OccurredAt: stamp(logged.Event.At),
		Payload: webhook.BodyOf(logged.Event), Simulated: logged.Simulated,
	}
	if a := logged.Attempt; a != nil {
		event.Attempt = &Attempt{At: stamp(a.At), Duration: a.Duration.Milliseconds()}
		if a.Status != 0 {
			event.Attempt.Status = &a.Status
		}
		if a.Error != "" {
			event.Attempt.Error = &a.Error
		}
	}
	return event
}

func (h Handlers) history(ctx context.Context, p page) (History, error) {
	after, err := p.cursor()
	if err != nil {
		return History{}, err
	}
	r, err := h.RangeOf(ctx)
	if err != nil {
		return History{}, err
	}
	ended, err := r.History(ctx, after, p.limit)
	if err != nil {
		return History{}, err
	}
	answer := History{Sessions: make([]EndedView, len(ended))}
	for i, each := range ended {
		answer.Sessions[i] = EndedView{
			SessionView: viewOf(each.View()), Customer: each.Session.Customer, EndedAt: stamp(each.At),
			Reason: string(each.Reason), MinutesUsed: minutes(each.Used), MinutesPaused: minutes(each.Paused),
		}
		after = each.Cursor
	}
	answer.Next = strconv.FormatUint(after, 10)
	return answer, nil
}
