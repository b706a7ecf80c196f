package control

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
	"rangegate/webhook"
)

func (c *screen) recordEndpoints() []endpoint.Endpoint {
	codes := append([]string{"store_unavailable"}, notRunning...)
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/history", 200, "Ended sessions, newest first", readSearch, c.history, codes...),
		endpoint.Handle("GET", "/deliveries", 200, "Webhook deliveries, newest first", readPage, c.deliveries, codes...),
		endpoint.Handle("GET", "/acts", 200, "What staff did, newest first", readPage, c.acts, codes...),
	}
}

type page struct {
	before uint64
	limit  int
}

func readPage(in *endpoint.Input) page {
	return page{
		before: in.QueryCursor("before", "Cursor to read before; none: from the newest on"),
		limit:  in.QueryLimit("limit", 1, 500, 100, "How many at most"),
	}
}

// next is the cursor of the next page, null where there is none.
func nextOf(cursor uint64) *string {
	if cursor == 0 {
		return nil
	}
	next := strconv.FormatUint(cursor, 10)
	return &next
}

// deliveries is a page of the event log.
type deliveries struct {
	Events []delivery `json:"events"`
	Next   *string    `json:"next"`
}

type delivery struct {
	Cursor     string       `json:"cursor"`
	OccurredAt string       `json:"occurred_at"`
	Lane       string       `json:"lane_name"` // empty when the range no longer has the lane
	Payload    webhook.Body `json:"payload"`
	Simulated  bool         `json:"simulated"`
	Attempt    *attempt     `json:"attempt"` // null while it is pending
}

type attempt struct {
	At       string  `json:"at"`
	Status   *int    `json:"status"`
	Error    *string `json:"error"`
	Duration int64   `json:"duration_ms"`
}

func (c *screen) deliveries(ctx context.Context, p page) (deliveries, error) {
	r, _, err := c.staffed(ctx)
	if err != nil {
		return deliveries{}, err
	}
	last, _, _ := r.Latest(ctx)
	events := log[lanes.Logged]{last, r.Events, func(e lanes.Logged) uint64 { return e.Cursor }}
	found, next, err := events.backwards(ctx, p.before, p.limit, func(lanes.Logged) bool { return true })
	if err != nil {
		return deliveries{}, err
	}
	names := laneNames(r.Layout())
	shown := deliveries{Events: []delivery{}, Next: nextOf(next)}
	for _, each := range found {
		d := delivery{
			Cursor: strconv.FormatUint(each.Cursor, 10), OccurredAt: screens.Stamp(each.Event.At), Lane: names[each.Event.Lane],
			Payload: webhook.BodyOf(each.Event), Simulated: each.Simulated,
		}
		if a := each.Attempt; a != nil {
			d.Attempt = &attempt{At: screens.Stamp(a.At), Duration: a.Duration.Milliseconds()}
			if a.Answered() {
				d.Attempt.Status = &a.Status
			}
			if a.Error != "" {
				d.Attempt.Error = &a.Error
			}
		}
		shown.Events = append(shown.Events, d)
	}
	return shown, nil
}

// acts is a page of what staff did.
type acts struct {
	Acts []act   `json:"acts"`
	Next *string `json:"next"`
}

type act struct {
	Cursor   string     `json:"cursor"`
	At       string     `json:"at"`
	Who      string     `json:"who"`
	What     string     `json:"what"`
	Lane     *uuid.UUID `json:"lane_id"` // null: about no single lane
	LaneName string     `json:"lane_name"`
	Session  *uuid.UUID `json:"session_id"` // null: about none
	Detail   string     `json:"detail"`
}

func (c *screen) acts(ctx context.Context, p page) (acts, error) {
	r, _, err := c.staffed(ctx)
	if err != nil {
		return acts{}, err
	}
	_, _, last := r.Latest(ctx)
	done := log[lanes.Act]{last, r.Acts, func(a lanes.Act) uint64 { return a.Cursor }}
	found, next, err := done.backwards(ctx, p.before, p.limit, func(lanes.Act) bool { return true })
	if err != nil {
		return acts{}, err
	}
	names := laneNames(r.Layout())
	shown := acts{Acts: []act{}, Next: nextOf(next)}
	for _, a := range found {
		shown.Acts = append(shown.Acts, act{
			Cursor: strconv.FormatUint(a.Cursor, 10), At: screens.Stamp(a.At), Who: a.Who, What: a.What,
			Lane: some(a.Lane), LaneName: names[a.Lane], Session: some(a.Session), Detail: a.Detail,
		})
	}
	return shown, nil
}

// some is an id, null where there is none.
func some(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func laneNames(layout lanes.Layout) map[uuid.UUID]string {
	names := make(map[uuid.UUID]string, len(layout.Lanes))
	for _, place := range layout.Lanes {
		names[place.ID] = place.Name
	}
	return names
}

// minutes is exact to the millisecond: at most 5 decimals.
func minutes(d time.Duration) float64 { return math.Round(d.Minutes()*1e5) / 1e5 }
