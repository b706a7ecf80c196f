package observer

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
)

// actorsView is the table of the actors as it is sent.
type actorsView struct {
	At     string         `json:"at"`
	Total  int            `json:"total"`
	HeldUp int            `json:"troubled"`
	States map[string]int `json:"states"`
	Actors []actorView    `json:"actors"`
}

// actorView names no customer.
type actorView struct {
	Range     uuid.UUID   `json:"range_id"`
	RangeName string      `json:"range"`
	Lane      *uuid.UUID  `json:"lane_id"`
	Name      string      `json:"lane"`
	Webhook   string      `json:"webhook"`
	Kind      string      `json:"kind"`
	State     string      `json:"state"`
	Since     *string     `json:"since"`
	Mailbox   int         `json:"messages_waiting"`
	Waiting   int         `json:"requests_waiting"`
	Oldest    *awaitedOf  `json:"oldest"`
	AtHand    *awaitedOf  `json:"at_hand"`
	Taken     uint64      `json:"messages"`
	Restarts  int         `json:"restarts"`
	Restarted *panicView  `json:"last_restart"`
	Late      *float64    `json:"late_ms"`
	Why       *reasonView `json:"why"`
}

type awaitedOf struct {
	What  string `json:"what"`
	Since string `json:"since"`
}

type panicView struct {
	At   string `json:"at"`
	On   string `json:"on"`
	Said string `json:"panic"`
}

// reasonView is what holds an actor up: by a code with its values, for pages, and as an English sentence.
type reasonView struct {
	Code     lanes.WhyCode  `json:"code"`
	Sentence string         `json:"sentence"`
	Values   map[string]any `json:"values"`
}

const maxActors = 500 // in one answer

func readActors(in *endpoint.Input) wanted {
	return wanted{
		rangeID: in.QueryOptionalID("range", "Only of that range"),
		kind:    in.QueryOneOf("kind", "", "Only of that kind", "range", "lane", "connection", "events"),
		state:   in.QueryFilter("state", 30, "Only in that state"),
		heldUp:  in.QueryOneOf("trouble", "false", "Only those that something holds up", "true", "false") == "true",
		search: strings.ToLower(in.QueryText("search", 100,
			"A part of the name of the lane, the range or the webhook")),
		order: in.QueryOneOf("sort", byUrgency, "What comes first: the most urgent, the largest backlog, the longest "+
			"in its state, the most restarts, the latest timer", byUrgency, byBacklog, byAge, byRestarts, byLateness),
		limit: in.QueryLimit("limit", 1, maxActors, 100, "The most that are returned"),
	}
}

// actors shows the table as it is.
func (s *observerOf) actors(_ context.Context, w wanted) (actorsView, error) {
	if err := s.knows(w.rangeID); err != nil {
		return actorsView{}, err
	}
	var view actorsView
	s.looks.read(func(newest look) { view = viewOfTable(newest, w) })
	return view, nil
}

// follow sends the table, and again whenever it is another one.
func (s *observerOf) follow(_ context.Context, w wanted) (func(http.ResponseWriter, *http.Request), error) {
	if err := s.knows(w.rangeID); err != nil {
		return nil, err
	}
	var sent []byte
	feed := screens.Feed{
		Next: func() (string, any, <-chan struct{}) {
			wake := make(chan struct{})
			time.AfterFunc(refreshEvery, func() { close(wake) })
			now := s.looks.encoded(w)
			if now.err != nil || bytes.Equal(now.without, sent) {
				return "", nil, wake
			}
			sent = now.without
			return "actors", now.sent, wake
		},
		Beat:    func() (time.Time, bool) { return time.Now(), true },
		Closing: s.Closing,
	}
	return feed.Follow, nil
}

func (s *observerOf) knows(rangeID uuid.UUID) error {
	if rangeID != uuid.Nil && !slices.Contains(s.Ranges(), rangeID) {
		return endpoint.Refusal("not_found")
	}
	return nil
}

func viewOfTable(l look, w wanted) actorsView {
	t := w.of(l)
	view := actorsView{endpoint.Stamp(l.at), t.total, t.heldUp, t.states, make([]actorView, len(t.first))}
	for i, actor := range t.first {
		view.Actors[i] = viewOfActor(l.at, actor)
	}
	return view
}

func viewOfActor(now time.Time, a observed) actorView {
	v := actorView{
		Range: a.rangeID, RangeName: a.rangeName, Lane: endpoint.Optional(a.Lane), Name: a.Name,
		Webhook: a.Webhook, Kind: a.Kind,
		State: a.State, Mailbox: a.Mailbox, Waiting: a.Waiting, Oldest: viewOfAwaited(a.Oldest),
		AtHand: viewOfAwaited(a.AtHand),
		Taken:  a.Taken, Restarts: a.Panics.Count,
	}
	if !a.Since.IsZero() {
		v.Since = new(endpoint.Stamp(a.Since))
	}
	if p := a.Panics; p.Count > 0 {
		v.Restarted = &panicView{endpoint.Stamp(p.Last), p.Message, p.Said}
	}
	if a.Late != nil {
		v.Late = new(milliseconds(*a.Late))
	}
	if a.Why != nil {
		v.Why = &reasonView{a.Why.Code, sentenceOf(*a.Why, now), valuesOf(*a.Why)}
	}
	return v
}

func viewOfAwaited(a lanes.Awaited) *awaitedOf {
	if a.What == "" {
		return nil
	}
	return &awaitedOf{a.What, endpoint.Stamp(a.Since)}
}

// valuesOf are the values of a reason under the names that they have for its code. What is not known is left out.
func valuesOf(w lanes.Why) map[string]any {
	values := map[string]any{}
	put := func(name string, value any, known bool) {
		if known && name != "" {
			values[name] = value
		}
	}
	names := valueNames[w.Code]
	put("since", endpoint.Stamp(w.Since), !w.Since.IsZero())
	put(names.next, endpoint.Stamp(w.Next), !w.Next.IsZero())
	put(names.what, w.What, w.What != "")
	put(names.count, w.Count, w.Count > 0 || w.Code == lanes.WhyStoreDown)
	put(names.attempts, w.Attempts, true)
	put(names.problem, w.Error, w.Error != "")
	put("address", w.Address, w.Address != "" && w.Code != lanes.WhyContested)
	put("linked", w.Address, w.Address != "" && w.Code == lanes.WhyContested)
	put(names.other, w.Other, w.Other != "")
	return values
}

// valueNames are the names of those values whose name is not the same for every code; empty: the code has none.
var valueNames = map[lanes.WhyCode]struct{ next, what, count, attempts, problem, other string }{
	lanes.WhyStoreDown:  {count: "changes", attempts: "attempts", problem: "error"},
	lanes.WhyNotRunning: {problem: "reason"},
	lanes.WhyParked:     {next: "until", what: "on", count: "times", problem: "panic"},
	lanes.WhyAtHand:     {what: "what"},
	lanes.WhySaving:     {what: "what", attempts: "attempts", problem: "error"},
	lanes.WhyUnsaved:    {count: "changes", attempts: "attempts", problem: "error"},
	lanes.WhyGone:       {other: "webhook"},
	lanes.WhyFailing:    {attempts: "failures", problem: "error", other: "webhook"},
	lanes.WhyFault:      {problem: "fault"},
	lanes.WhyContested:  {other: "refused"},
	lanes.WhyDials:      {next: "retry_at", attempts: "failures", problem: "error"},
	lanes.WhyDialling:   {attempts: "failures", problem: "error"},
	lanes.WhyAwaits:     {problem: "error"},
	lanes.WhyKeys:       {count: "keys"},
	lanes.WhyPurchases:  {count: "purchases"},
	lanes.WhyBehind:     {count: "waiting", other: "webhook"},
	lanes.WhyBacklog:    {what: "what", count: "waiting"},
	lanes.WhyStarting:   {count: "lanes"},
	lanes.WhyRetrying:   {next: "level_at", count: "retrying", other: "webhook"},
	lanes.WhyRestarted:  {what: "on", count: "times", problem: "panic"},
}
