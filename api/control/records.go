package control

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
	"rangegate/webhook"
)

func (c *screen) recordEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/history", 200, "Ended sessions, newest first", readSearch,
			endpoint.WithTarget(c.rangeOf, history)),
		endpoint.Handle("GET", "/deliveries", 200, "Webhook deliveries, newest first", readPage,
			endpoint.WithTarget(c.rangeOf, deliveries)),
		endpoint.Handle("POST", "/deliveries/{cursor}/redeliver", 204, "Send an event again", readCursor,
			endpoint.WithTarget(c.rangeOf, redeliver)),
		endpoint.Handle("GET", "/acts", 200, "What staff did, newest first", readPage,
			endpoint.WithTarget(c.rangeOf, acts)),
		endpoint.Handle("GET", "/health", 200, "Health of links, store, events, timers and actors", endpoint.NoInput,
			endpoint.WithTarget(c.rangeOf, health)),
	}
}

const (
	// readSize is how many records one read of the store returns.
	readSize = 500
	// maxReads bounds the reads for one response: a search through a long history returns several pages.
	maxReads = 40
)

// log is a log of the store, which reads it forwards only: after a cursor, oldest first.
type log[E any] struct {
	last   uint64 // the highest cursor
	read   func(ctx context.Context, after uint64, limit int) ([]E, error)
	cursor func(E) uint64
}

// readBackwards returns at most limit matching records before the cursor, newest first; 0 starts at the
// newest. next is the cursor for the next call, 0 at the oldest record. There may be more records although
// fewer than limit were found.
func (l log[E]) readBackwards(
	ctx context.Context, before uint64, limit int, matches func(E) bool,
) (found []E, next uint64, err error) {
	if before == 0 || before > l.last {
		before = l.last + 1
	}
	first, err := l.read(ctx, 0, 1)
	if err != nil || len(first) == 0 {
		return nil, 0, err
	}
	oldest := l.cursor(first[0])
	for range maxReads {
		if before <= oldest {
			return found, 0, nil
		}
		// At most readSize cursors are between after and before.
		after := max(before-1, readSize) - readSize
		records, err := l.read(ctx, after, readSize)
		if err != nil {
			return nil, 0, err
		}
		for _, record := range slices.Backward(records) {
			cursor := l.cursor(record)
			if cursor >= before || !matches(record) {
				continue
			}
			found = append(found, record)
			if len(found) == limit {
				return found, nextCursor(cursor, oldest), nil
			}
		}
		before = after + 1
	}
	return found, nextCursor(before, oldest), nil
}

// nextCursor returns the cursor to continue before; 0 at the oldest record.
func nextCursor(before, oldest uint64) uint64 {
	if before <= oldest {
		return 0
	}
	return before
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

// viewPage returns the views of a page of matching records, and the cursor of the next page; nil if there is none.
func viewPage[E, View any](
	ctx context.Context, l log[E], p page, matches func(E) bool, view func(E) View,
) (views []View, next *string, err error) {
	found, cursor, err := l.readBackwards(ctx, p.before, p.limit, matches)
	if err != nil {
		return nil, nil, err
	}
	views = endpoint.Fit(endpoint.Views(found, view))
	if len(views) < len(found) {
		cursor = l.cursor(found[len(views)-1])
	}
	if cursor != 0 {
		next = new(strconv.FormatUint(cursor, 10))
	}
	return views, next, nil
}

func matchAll[E any](E) bool { return true }

// historyPage is a page of the ended sessions.
type historyPage struct {
	endpoint.Paged `json:"-"`

	Sessions []endedView `json:"sessions"`
	Next     *string     `json:"next"`
}

// endedView is a session that has ended.
type endedView struct {
	Cursor    string    `json:"cursor"`
	ID        uuid.UUID `json:"session_id"`
	Lane      uuid.UUID `json:"lane_id"`
	LaneName  string    `json:"lane_name"` // empty if the range no longer has the lane
	Group     uuid.UUID `json:"group_id"`
	GroupName string    `json:"group_name"`
	Customer  string    `json:"customer_name"` // empty after the retention time of names
	CreatedAt string    `json:"created_at"`
	BeganAt   *string   `json:"began_at"`
	EndedAt   string    `json:"ended_at"`
	Reason    string    `json:"end_reason"`
	Duration  int       `json:"duration"` // minutes sold
	Used      float64   `json:"minutes_used"`
	Paused    float64   `json:"minutes_paused"`
	Turn      *float64  `json:"minutes_turn"`           // null: none
	Beyond    *float64  `json:"minutes_beyond"`         // used beyond what was sold; null: it had no open end
	Settled   *float64  `json:"minutes_beyond_settled"` // of that, by minutes that were added later; likewise
	MayReopen bool      `json:"may_reopen"`             // unless it was reopened before
	v2.Correlation
}

// search is a page of the sessions that match a text, and ended before a time.
type search struct {
	page
	text, until string
}

func readSearch(in *endpoint.Input) search {
	return search{
		page: readPage(in), text: in.QueryText("search", 200,
			"A part of the customer's or the lane's name, or the beginning of a session id or an external id"),
		until: in.QueryText("until", 35, "Ended before that time, such as 2026-05-01T22:00:00Z; empty: any"),
	}
}

func history(ctx context.Context, r staffRange, s search) (shown historyPage, err error) {
	h := historyOf(r)
	matches, err := h.matcher(s.text, s.until)
	if err != nil {
		return shown, err
	}
	shown.Sessions, shown.Next, err = viewPage(ctx, h.log(ctx), s.page, matches, h.view)
	return shown, err
}

// rangeHistory is the history of a range, with the names of the ids in it.
type rangeHistory struct {
	r          Range
	laneNames  map[uuid.UUID]string
	groupNames map[uuid.UUID]string
}

func historyOf(r Range) rangeHistory {
	h := rangeHistory{r: r, laneNames: laneNames(r.Layout()), groupNames: map[uuid.UUID]string{}}
	for _, group := range r.Layout().Groups {
		h.groupNames[group.ID] = group.Name
	}
	return h
}

func (h rangeHistory) log(ctx context.Context) log[lanes.Ended] {
	_, last, _ := h.r.Latest(ctx)
	return log[lanes.Ended]{last, h.r.History, func(e lanes.Ended) uint64 { return e.Cursor }}
}

// matcher returns whether a session matches the text and ended before until, if that is not empty. It returns
// endpoint.Faults if until is no time.
func (h rangeHistory) matcher(text, until string) (matches func(lanes.Ended) bool, err error) {
	text = strings.ToLower(strings.TrimSpace(text))
	var end time.Time
	if until != "" {
		if end, err = time.Parse(time.RFC3339, until); err != nil {
			return nil, endpoint.Faults{"until": "must be a time such as 2026-05-01T22:00:00Z"}
		}
	}
	return func(e lanes.Ended) bool {
		found := text == "" ||
			strings.Contains(strings.ToLower(e.Session.Customer), text) ||
			strings.Contains(strings.ToLower(h.laneNames[e.Lane]), text) ||
			strings.HasPrefix(e.Session.ID.String(), text) ||
			strings.HasPrefix(strings.ToLower(e.Session.Correlation.IDOrNone()), text)
		return found && (until == "" || e.At.Before(end))
	}, nil
}

func (h rangeHistory) view(e lanes.Ended) endedView {
	view := endedView{
		Cursor: strconv.FormatUint(e.Cursor, 10), ID: e.Session.ID,
		Lane: e.Lane, LaneName: h.laneNames[e.Lane], Group: e.Session.Group, GroupName: h.groupNames[e.Session.Group],
		Customer: e.Session.Customer, CreatedAt: endpoint.Stamp(e.Session.Created.Wall), EndedAt: endpoint.Stamp(e.At),
		Reason: string(e.Reason), Duration: int(e.Session.Sold / time.Minute), Used: webhook.Minutes(e.Used),
		Paused:      webhook.Minutes(e.Paused),
		Turn:        v2.OptionalMinutes(e.Session.Turn),
		MayReopen:   lanes.Reopen{Ended: e}.Possible(h.r.Now()),
		Correlation: v2.CorrelationOf(e.Session.Correlation),
	}
	if e.Session.HasOpenEnd() {
		view.Beyond, view.Settled = new(webhook.Minutes(e.Beyond)), new(webhook.Minutes(e.Session.Settled))
	}
	if e.Session.Began != nil {
		view.BeganAt = new(endpoint.Stamp(e.Session.Began.Wall))
	}
	return view
}

// deliveriesPage is a page of the event log.
type deliveriesPage struct {
	endpoint.Paged `json:"-"`

	Events []deliveryView `json:"events"`
	Next   *string        `json:"next"`
}

type deliveryView struct {
	Cursor     string       `json:"cursor"`
	OccurredAt string       `json:"occurred_at"`
	Lane       string       `json:"lane_name"` // empty if the range no longer has the lane
	Payload    webhook.Body `json:"payload"`
	Simulated  bool         `json:"simulated"`
	Webhook    string       `json:"webhook,omitempty"` // which of several
	Attempt    *v2.Attempt  `json:"attempt"`           // the newest; null while it is pending
	Attempts   int          `json:"attempts"`          // how many there were
	Again      bool         `json:"again"`             // it waits to be sent again
	MayGoAgain bool         `json:"may_go_again"`
}

func readCursor(in *endpoint.Input) uint64 { return in.PathCursor("cursor", "Of the event", "1042") }

func redeliver(ctx context.Context, r staffRange, cursor uint64) (endpoint.Empty, error) {
	return endpoint.Empty{}, r.StaffRedeliver(ctx, r.staff, cursor)
}

func deliveries(ctx context.Context, r staffRange, p page) (shown deliveriesPage, err error) {
	last, _, _ := r.Latest(ctx)
	events := log[lanes.Logged]{last, r.Deliveries, func(e lanes.Logged) uint64 { return e.Cursor }}
	names := laneNames(r.Layout())
	shown.Events, shown.Next, err = viewPage(ctx, events, p, matchAll, func(e lanes.Logged) deliveryView {
		return deliveryView{
			Cursor: strconv.FormatUint(e.Cursor, 10), OccurredAt: endpoint.Stamp(e.Event.At), Lane: names[e.Event.Lane],
			Payload: webhook.BodyOf(e.Event), Simulated: e.Simulated, Webhook: e.Webhook,
			Attempt:  v2.AttemptOf(e.Attempt),
			Attempts: attemptCount(e), Again: e.Again, MayGoAgain: e.Redeliverable(),
		}
	})
	return shown, err
}

func attemptCount(e lanes.Logged) int {
	if e.Attempt == nil {
		return 0
	}
	return len(e.Earlier) + 1
}

// actsPage is a page of what staff did.
type actsPage struct {
	endpoint.Paged `json:"-"`

	Acts []actView `json:"acts"`
	Next *string   `json:"next"`
}

type actView struct {
	Cursor   string     `json:"cursor"`
	At       string     `json:"at"`
	Who      string     `json:"who"`
	What     string     `json:"what"`
	Lane     *uuid.UUID `json:"lane_id"` // null: not about one lane
	LaneName string     `json:"lane_name"`
	Session  *uuid.UUID `json:"session_id"` // null: not about one session
	Detail   string     `json:"detail"`

	AfterClosing bool `json:"after_closing,omitempty"` // it has added minutes that are used after the range has closed
}

func acts(ctx context.Context, r staffRange, p page) (shown actsPage, err error) {
	_, _, last := r.Latest(ctx)
	done := log[lanes.Act]{last, r.Acts, func(a lanes.Act) uint64 { return a.Cursor }}
	names := laneNames(r.Layout())
	shown.Acts, shown.Next, err = viewPage(ctx, done, p, matchAll, func(a lanes.Act) actView {
		return actView{
			Cursor: strconv.FormatUint(a.Cursor, 10), At: endpoint.Stamp(a.At), Who: a.Who, What: a.What,
			Lane: endpoint.Optional(a.Lane), LaneName: names[a.Lane], Session: endpoint.Optional(a.Session),
			Detail:       a.Detail,
			AfterClosing: a.AfterClosing,
		}
	})
	return shown, err
}

func laneNames(layout lanes.Layout) map[uuid.UUID]string {
	names := make(map[uuid.UUID]string, len(layout.Lanes))
	for _, place := range layout.Lanes {
		names[place.ID] = place.Name
	}
	return names
}
