package control

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
)

// history is a page of the ended sessions.
type history struct {
	Sessions []endedView `json:"sessions"`
	Next     *string     `json:"next"`
}

// endedView is a session that has ended.
type endedView struct {
	Cursor    string    `json:"cursor"`
	ID        uuid.UUID `json:"session_id"`
	Lane      uuid.UUID `json:"lane_id"`
	LaneName  string    `json:"lane_name"` // empty when the range no longer has the lane
	Group     uuid.UUID `json:"group_id"`
	GroupName string    `json:"group_name"`
	Customer  string    `json:"customer_name"` // empty once its term is over
	CreatedAt string    `json:"created_at"`
	BeganAt   *string   `json:"began_at"`
	EndedAt   string    `json:"ended_at"`
	Reason    string    `json:"end_reason"`
	Duration  int       `json:"duration"` // minutes sold
	Used      float64   `json:"minutes_used"`
	Paused    float64   `json:"minutes_paused"`
}

// search is what is looked for: a part of the customer's name or of the lane's, or the beginning of a session id.
type search struct {
	page
	text string
}

func readSearch(in *endpoint.Input) search {
	return search{page: readPage(in), text: in.QueryText("search", 200, "A part of the customer's or the lane's name, or the beginning of a session id")}
}

func (c *screen) history(ctx context.Context, s search) (history, error) {
	r, _, err := c.staffed(ctx)
	if err != nil {
		return history{}, err
	}
	book := bookOf(r)
	found, next, err := book.records(ctx).backwards(ctx, s.before, s.limit, book.wanted(s.text))
	if err != nil {
		return history{}, err
	}
	shown := history{Sessions: make([]endedView, len(found)), Next: nextOf(next)}
	for i, each := range found {
		shown.Sessions[i] = book.view(each)
	}
	return shown, nil
}

// book is the history of a range, with the names of the ids in it.
type book struct {
	of     Range
	lanes  map[uuid.UUID]string
	groups map[uuid.UUID]string
}

func bookOf(r Range) book {
	b := book{of: r, lanes: laneNames(r.Layout()), groups: map[uuid.UUID]string{}}
	for _, group := range r.Layout().Groups {
		b.groups[group.ID] = group.Name
	}
	return b
}

func (b book) records(ctx context.Context) log[lanes.Ended] {
	_, last, _ := b.of.Latest(ctx)
	return log[lanes.Ended]{last, b.of.History, func(e lanes.Ended) uint64 { return e.Cursor }}
}

func (b book) wanted(text string) func(lanes.Ended) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return func(e lanes.Ended) bool {
		return text == "" ||
			strings.Contains(strings.ToLower(e.Session.Customer), text) ||
			strings.Contains(strings.ToLower(b.lanes[e.Lane]), text) ||
			strings.HasPrefix(e.Session.ID.String(), text)
	}
}

func (b book) view(e lanes.Ended) endedView {
	view := endedView{
		Cursor: strconv.FormatUint(e.Cursor, 10), ID: e.Session.ID,
		Lane: e.Lane, LaneName: b.lanes[e.Lane], Group: e.Session.Group, GroupName: b.groups[e.Session.Group],
		Customer: e.Session.Customer, CreatedAt: screens.Stamp(e.Session.Created.Wall), EndedAt: screens.Stamp(e.At),
		Reason: string(e.Reason), Duration: int(e.Session.Sold / time.Minute), Used: minutes(e.Used), Paused: minutes(e.Paused),
	}
	if e.Session.Began != nil {
		began := screens.Stamp(e.Session.Began.Wall)
		view.BeganAt = &began
	}
	return view
}
