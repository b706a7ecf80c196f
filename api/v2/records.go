package v2

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
	"rangegate/webhook"
)

// Events is one page of the event log.
type Events struct {
	endpoint.Paged `json:"-"`

	Events []Event `json:"events"`
	Next   string  `json:"next" pattern:"^[0-9]+$" doc:"Cursor for the next page" example:"1042"`
}

// Event is an entry of the event log.
type Event struct {
	Cursor     string       `json:"cursor" pattern:"^[0-9]+$" example:"1042"`
	ID         uuid.UUID    `json:"id" doc:"The event's own id; webhook-id is msg_ and this"`
	OccurredAt string       `json:"occurred_at" format:"date-time" example:"2026-05-01T10:00:00.000Z"`
	Payload    webhook.Body `json:"payload" doc:"Exactly as sent" example:"{\"event\":\"sessionStarted\",\"session_id\":\"7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d\",\"lane_id\":\"44444444-4444-4444-8444-000000000001\"}"`
	Simulated  bool         `json:"simulated"`
	Webhook    string       `json:"webhook,omitempty" doc:"Which of several webhooks of the range the deliveries are to" example:"accounting"`
	Attempt    *Attempt     `json:"attempt" doc:"The newest delivery; null while it is pending"`
	Beyond     *float64     `json:"minutes_beyond,omitempty" min:"0" doc:"That were used beyond what was sold; only of the sessionStopped of a session with an open end" example:"12.5"`
	Settled    *float64     `json:"minutes_beyond_settled,omitempty" min:"0" doc:"Of those, settled by minutes that were added or bought later" example:"10"`
	Attempts   []Attempt    `json:"attempts,omitempty" doc:"Only of an event that was sent again: every delivery, oldest first; of more than 21 the first and the last 20"`
	Correlation
}

// Attempt is a delivery of an event.
type Attempt struct {
	At       string  `json:"at" format:"date-time" example:"2026-05-01T10:00:00.050Z"`
	Status   *int    `json:"status" doc:"The receiver's status; null when it gave none" example:"200"`
	Error    *string `json:"error" doc:"Why there was no answer, or which; null for a 2xx, and while it is being delivered" example:"null"`
	Duration int64   `json:"duration_ms" min:"0" example:"35"`
	Outcome  string  `json:"outcome" enum:"delivered,refused,failed,interrupted,under_way,not_sent,dropped" doc:"What became of it. failed: nobody answered in time, or could be reached; interrupted: nobody knows whether it arrived; under_way: it is being delivered now; dropped: too many waited" example:"delivered"`
	RetryAt  *string `json:"retry_at,omitempty" format:"date-time" doc:"When the event is tried again; only of the newest delivery, and only where the operator has asked for retries" example:"2026-05-01T10:05:05.000Z"`
	GivenUp  bool    `json:"given_up,omitempty" doc:"It is not tried again, although the operator has asked for retries: the time for that is over, or the webhook has answered 410" example:"false"`
}

// History is one page of the ended sessions.
type History struct {
	endpoint.Paged `json:"-"`

	Sessions []EndedView `json:"sessions"`
	Next     string      `json:"next" pattern:"^[0-9]+$" doc:"Cursor for the next page" example:"1042"`
}

// EndedView is a session that has ended.
type EndedView struct {
	SessionView
	Customer      string  `json:"customer_name" doc:"Empty once its term in the history is over" example:"Jo Smith"`
	EndedAt       string  `json:"ended_at" format:"date-time" example:"2026-05-01T11:00:00.000Z"`
	Reason        string  `json:"end_reason" enum:"expired,pos,staff,lane,simulated" doc:"Its time was used up, or who stopped it" example:"expired"`
	MinutesUsed   float64 `json:"minutes_used" min:"0" example:"60"`
	MinutesPaused float64 `json:"minutes_paused" min:"0" example:"4.25"`
	// Turn is a pointer: 0 is a turn too.
	Turn *float64 `json:"minutes_turn,omitempty" min:"0" doc:"The turn-time: what the lane had waited on which it began, since the end of the session before; without time under a hold or in which the lane was closed for sale. Absent for a session that never began, for the first one of a lane, and for one that staff had go on with another" example:"7.5"`
}

// maxPage is the number of records that a page has at most.
const maxPage = 1000

type page struct {
	after endpoint.LogCursor
	limit int
}

func readPage(in *endpoint.Input) page {
	return page{
		after: in.QueryLogCursor("after",
			"Cursor to read behind, or `latest` for what happens from now on; none: from the oldest on"),
		limit: in.QueryLimit("limit", 1, maxPage, 100, "How many at most"),
	}
}

func eventOf(logged lanes.Logged, log recordLog) Event {
	event := Event{
		Cursor: log.cursor(logged.Cursor).String(), ID: logged.Event.ID, OccurredAt: endpoint.Stamp(logged.Event.At),
		Payload: webhook.BodyOf(logged.Event), Simulated: logged.Simulated, Webhook: logged.Webhook,
		Attempt: AttemptOf(logged.Attempt), Attempts: AttemptsOf(logged),
		Correlation: CorrelationOf(logged.Event.Correlation),
	}
	if beyond := logged.Event.Beyond; beyond != nil {
		event.Beyond, event.Settled = new(webhook.Minutes(beyond.Used)), new(webhook.Minutes(beyond.Settled))
	}
	return event
}

// AttemptsOf returns all deliveries of an event that was sent again, nil for any other one.
func AttemptsOf(logged lanes.Logged) (all []Attempt) {
	if len(logged.Earlier) == 0 {
		return nil
	}
	for i := range logged.Earlier {
		all = append(all, *AttemptOf(&logged.Earlier[i]))
	}
	if logged.Attempt != nil {
		all = append(all, *AttemptOf(logged.Attempt))
	}
	return all
}

// AttemptOf returns the delivery of an event as the wire shows it; nil while it is pending.
func AttemptOf(a *lanes.Attempt) *Attempt {
	if a == nil {
		return nil
	}
	view := &Attempt{
		At: endpoint.Stamp(a.At), Error: endpoint.Optional(a.Error), Duration: a.Duration.Milliseconds(),
		Outcome: a.Outcome(), GivenUp: a.GivenUp,
	}
	if !a.RetryAt.IsZero() {
		view.RetryAt = new(endpoint.Stamp(a.RetryAt))
	}
	switch {
	case a.Error == lanes.UnderWay:
		view.Error = nil
	case view.Outcome == "timed_out", view.Outcome == "unreachable":
		view.Outcome = "failed"
	}
	if a.Answered() {
		view.Status = &a.Status
	}
	return view
}

// historyPage is a page of the ended sessions, or of those with an external id.
type historyPage struct {
	page
	externalID string // empty: all
}

func readHistoryPage(in *endpoint.Input) historyPage {
	return historyPage{readPage(in), ReadExternalID(in)}
}

func (p historyPage) read(ctx context.Context, r Range, after uint64, limit int) ([]lanes.Ended, error) {
	if p.externalID != "" {
		return r.HistoryOf(ctx, p.externalID, after, limit)
	}
	return r.History(ctx, after, limit)
}

// fillPage reads records behind a cursor in portions, until the page has limit of them or no room for more. It returns
// their views, and the cursor of the last one.
func fillPage[Record, View any](
	after uint64, limit int, read func(after uint64, limit int) ([]Record, error), cursor func(Record) uint64,
	view func(Record) View,
) (views []View, last uint64, err error) {
	var size endpoint.PageSize
	views, last = []View{}, after
	for len(views) < limit {
		portion := min(portionSize, limit-len(views))
		records, err := read(last, portion)
		if err != nil {
			return nil, after, err
		}
		for _, record := range records {
			shown := view(record)
			if !size.Add(shown) {
				return views, last, nil
			}
			views, last = append(views, shown), cursor(record)
		}
		if len(records) < portion {
			break
		}
	}
	return views, last, nil
}

// portionSize is how many records are read from the store at a time. The default page is one portion.
const portionSize = 100

func history(ctx context.Context, r Range, p historyPage) (History, error) {
	at, err := historyLog(ctx, r).locate(ctx, p.after, "after")
	if err != nil {
		return History{}, err
	}
	sessions, after, err := fillPage(at.after, p.limit,
		func(after uint64, limit int) ([]lanes.Ended, error) { return p.read(ctx, r, after, limit) },
		func(e lanes.Ended) uint64 { return e.Cursor }, viewOfEnded)
	if err == nil {
		err = at.checkKept(ctx)
	}
	if err != nil {
		return History{}, err
	}
	return History{Sessions: sessions, Next: at.log.cursor(after).String()}, nil
}

func viewOfEnded(e lanes.Ended) EndedView {
	return EndedView{
		Turn:        OptionalMinutes(e.Session.Turn),
		SessionView: ViewOf(e.View()), Customer: e.Session.Customer, EndedAt: endpoint.Stamp(e.At),
		Reason: string(e.Reason), MinutesUsed: webhook.Minutes(e.Used), MinutesPaused: webhook.Minutes(e.Paused),
	}
}

func endedSession(ctx context.Context, r Range, id uuid.UUID) (EndedView, error) {
	ended, err := r.EndedSession(ctx, id)
	if !errors.Is(err, lanes.ErrSessionEnded) || ended.Session.ID != id {
		return EndedView{}, err
	}
	return viewOfEnded(ended), nil
}
