package observer

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// requestOf is a request that is searched for, by its trace id or by its idempotency key.
type requestOf struct {
	rangeID    uuid.UUID
	trace, key string
	before     uint64 // as in timelineOf
	fault      endpoint.Faults
}

func readRequest(in *endpoint.Input) requestOf {
	of := requestOf{
		rangeID: in.QueryID("range", "Whose request", "11111111-1111-4111-8111-111111111111"),
		trace:   in.QueryFilter("trace_id", 32, "Its trace id"),
		key:     in.QueryFilter("key", 255, "Or its idempotency key"),
		before:  in.QueryCursor("cursor", "Where an earlier answer says that the search goes on"),
	}
	of.trace = strings.ToLower(of.trace)
	if (of.trace == "") == (of.key == "") {
		of.fault = endpoint.Faults{"trace_id": "is required, or key in its place"}
	}
	return of
}

// requestView is all that is on record of one request.
type requestView struct {
	At        string          `json:"at"`
	RangeName string          `json:"range"`
	Range     uuid.UUID       `json:"range_id"`
	Trace     *string         `json:"trace_id"` // null: not on record
	Answer    *answerView     `json:"answer"`   // that is kept for its idempotency key; null: none
	Commands  []askedView     `json:"commands"` // of lanes
	Events    []causedView    `json:"events"`   // oldest first
	Acts      []actView       `json:"acts"`     // of staff, and of a token with a name
	Missing   []missingRecord `json:"not_on_record"`
	Searched  *string         `json:"searched_since"` // null: the whole event log
	Next      *string         `json:"next"`           // the cursor to search further back with; null: no need
}

// missingRecord is what nobody can say any more, or what there never was.
type missingRecord string

const (
	missingTrace   missingRecord = "trace_id" // of an idempotency key
	missingCommand missingRecord = "command"  // who asked, when it was decided and answered
	missingSaved   missingRecord = "saved_by"
	missingSent    missingRecord = "sent_at"
	missingApplied missingRecord = "applied_at"
	missingEvents  missingRecord = "events"
	missingState   missingRecord = "decided_on" // of an event that is not the first of its session
)

type answerView struct {
	Key    string `json:"key"`
	At     string `json:"at"`
	Status int    `json:"status"`
}

// askedView is a command that the request was to a lane.
type askedView struct {
	laneName
	Command string     `json:"command"`
	By      lanes.By   `json:"by"`
	Who     string     `json:"who"` // the name of the token, or of the staff; empty: it has none
	Session *uuid.UUID `json:"session_id"`
	Asked   string     `json:"asked_at"` // it reached the lane
	doneView
	SavedBy *string `json:"saved_by"`   // null: it was refused
	Sent    *string `json:"sent_at"`    // to the controller
	Applied *string `json:"applied_at"` // the controller has confirmed it
}

// causedView is an event that the request has caused.
type causedView struct {
	Kind    lanes.Kind `json:"event"`
	Lane    uuid.UUID  `json:"lane_id"`
	Session uuid.UUID  `json:"session_id"`
	Number  uint64     `json:"number"` // in the session, from 1 on; 0: it has none
	eventView
	DecidedOn  *stateView     `json:"decided_on"` // null: on nothing, or it is not on record
	Deliveries []deliveryView `json:"deliveries"`

	event lanes.Event
}

// stateView is the state of a session by its newest event.
type stateView struct {
	Number     uint64     `json:"number"`
	Kind       lanes.Kind `json:"event"`
	Cursor     string     `json:"cursor"`
	OccurredAt string     `json:"occurred_at"`
}

type deliveryView struct {
	Webhook  string        `json:"webhook"` // empty: the only one of the range
	Pending  bool          `json:"pending"`
	Attempts []*v2.Attempt `json:"attempts"` // oldest first; of more than 21 the first and the last 20
}

type actView struct {
	At      string     `json:"at"`
	Who     string     `json:"who"`
	What    string     `json:"what"`
	Lane    *uuid.UUID `json:"lane_id"`
	Session *uuid.UUID `json:"session_id"`
	Detail  string     `json:"detail"`
}

// traceTerm is how long after its first event a request may have caused others: those of a purchase.
const traceTerm = 10 * time.Minute

// inquiry is what is found of a request.
type inquiry struct {
	r        Range
	trace    string
	before   time.Time
	answer   *lanes.KeptAnswer
	commands []lanes.TracedCommand
	events   []causedView
	awaited  map[uuid.UUID]int // id of the event before one of events → which
	oldest   time.Time         // of events, as they were decided
	acts     []lanes.Act
	reached  time.Time // down to which the event log was searched; zero: all of it
}

func (s *observerOf) request(ctx context.Context, of requestOf) (requestView, error) {
	if of.fault != nil {
		return requestView{}, of.fault
	}
	r, err := s.running(laneOf{rangeID: of.rangeID})
	if err != nil {
		return requestView{}, err
	}
	now := time.Now()
	q := &inquiry{r: r, trace: of.trace, before: now.Add(time.Second), awaited: map[uuid.UUID]int{}}
	if of.before != 0 {
		q.before = earlier(q.before, time.Unix(0, int64(of.before)))
	}
	_, err = readRecord(ctx, func(ctx context.Context) (endpoint.Empty, error) {
		return endpoint.Empty{}, q.find(ctx, of.key)
	})
	if err != nil {
		return requestView{}, err
	}
	view := requestView{
		At: endpoint.Stamp(now), RangeName: r.Layout().Name, Range: of.rangeID, Trace: endpoint.Optional(q.trace),
		Commands: endpoint.Views(q.commands, func(c lanes.TracedCommand) askedView {
			return viewOfAsked(of.rangeID, c)
		}),
		Events: append([]causedView{}, q.events...), Acts: endpoint.Views(q.acts, viewOfAct), Missing: q.missing(),
	}
	if q.answer != nil {
		view.Answer = &answerView{q.answer.Name, endpoint.Stamp(q.answer.At), q.answer.Status}
	}
	if !q.reached.IsZero() {
		view.Searched = new(endpoint.Stamp(q.reached))
		if len(q.events) == 0 {
			view.Next = new(strconv.FormatInt(q.reached.Add(1).UnixNano(), 10))
		}
	}
	return view, nil
}

// find finds the request: by its key in what was answered, then by its trace id.
func (q *inquiry) find(ctx context.Context, key string) error {
	if key != "" {
		if err := q.findKey(ctx, key); err != nil || q.trace == "" {
			return err
		}
	}
	q.commands = q.r.FindCommands(func(c lanes.Commanded) bool { return c.Trace == q.trace })
	var err error
	q.reached, err = eventLog(ctx, q.r).backwards(ctx, time.Time{}, q.before, q.addEvents)
	if err != nil {
		return err
	}
	slices.Reverse(q.events)
	return q.findActs(ctx)
}

// findKey finds the trace id of the request with the idempotency key, by the session in its answer and the time.
func (q *inquiry) findKey(ctx context.Context, key string) error {
	kept, found, err := q.r.KeptAnswer(ctx, key)
	if err != nil || !found {
		return err
	}
	q.answer = &kept
	var body struct {
		Session uuid.UUID `json:"session_id"`
	}
	if json.Unmarshal([]byte(kept.Body), &body) != nil || body.Session == uuid.Nil {
		return nil
	}
	for _, c := range q.r.FindCommands(func(c lanes.Commanded) bool {
		return c.Session == body.Session && c.Trace != "" && !kept.At.Before(c.At) && !kept.At.After(c.At.Add(c.Took))
	}) {
		q.trace = c.Trace
		return nil
	}
	_, err = eventLog(ctx, q.r).backwards(ctx, kept.At.Add(-time.Second), kept.At.Add(time.Second),
		func(block []lanes.Logged, times []time.Time) (more bool) {
			for i, entry := range block {
				if entry.Event.Session == body.Session && entry.Trace != "" && times[i].Equal(kept.At) {
					q.trace = entry.Trace
				}
			}
			return q.trace == ""
		})
	return err
}

func (q *inquiry) addEvents(block []lanes.Logged, times []time.Time) (more bool) {
	for i, entry := range block {
		event := entry.Event
		if at, wanted := q.awaited[event.ID]; wanted && !entry.Copy {
			q.events[at].DecidedOn = &stateView{
				q.events[at].Number - 1, event.Kind, strconv.FormatUint(entry.Cursor, 10), endpoint.Stamp(event.At),
			}
			delete(q.awaited, event.ID)
		}
		if entry.Trace == q.trace {
			q.addEvent(entry)
			q.oldest = times[i]
		}
	}
	if len(block) == 0 || len(q.events) == 0 || len(q.awaited) > 0 {
		return true
	}
	return times[len(times)-1].After(q.oldest.Add(-traceTerm))
}

func (q *inquiry) addEvent(entry lanes.Logged) {
	at := slices.IndexFunc(q.events, func(e causedView) bool { return e.ID == entry.Event.ID })
	if at < 0 {
		at = len(q.events)
		event := entry.Event
		q.events = append(q.events, causedView{
			Kind: event.Kind, Lane: event.Lane, Session: event.Session, Number: numberOf(event),
			eventView: *viewOfEvent(entry), event: event,
		})
		if n := q.events[at].Number; n > 1 {
			q.awaited[lanes.EventID(event.Session, n-1)] = at
		}
	}
	caused := &q.events[at]
	if !entry.Copy {
		caused.eventView = *viewOfEvent(entry)
	}
	delivery := deliveryView{Webhook: entry.Webhook, Pending: entry.Pending(), Attempts: []*v2.Attempt{}}
	for i := range entry.Earlier {
		delivery.Attempts = append(delivery.Attempts, v2.AttemptOf(&entry.Earlier[i]))
	}
	if entry.Attempt != nil {
		delivery.Attempts = append(delivery.Attempts, v2.AttemptOf(entry.Attempt))
	}
	caused.Deliveries = slices.Insert(caused.Deliveries, 0, delivery) // they are found last first
}

// maxNumber bounds the numbers that are tried for an event.
const maxNumber = 4096

// numberOf returns the number of an event in its session, 0 for one that has none.
func numberOf(event lanes.Event) uint64 {
	for n := uint64(1); n <= maxNumber; n++ {
		if lanes.EventID(event.Session, n) == event.ID {
			return n
		}
	}
	return 0
}

// findActs finds what is on record of staff, or of a token with a name: acts have no trace id, but the instant.
func (q *inquiry) findActs(ctx context.Context) error {
	type span struct {
		from, to      time.Time
		lane, session uuid.UUID
	}
	var spans []span
	for _, c := range q.commands {
		spans = append(spans, span{c.At, c.At.Add(c.Took), c.Lane, c.Session})
	}
	for _, e := range q.events {
		if d := e.event.Decision; d != nil {
			at := d.MadeAt(e.event.At)
			spans = append(spans, span{at, at, e.Lane, e.Session})
		}
	}
	if len(spans) == 0 {
		return nil
	}
	first := slices.MinFunc(spans, func(a, b span) int { return a.from.Compare(b.from) }).from
	last := slices.MaxFunc(spans, func(a, b span) int { return a.to.Compare(b.to) }).to
	who := func(act lanes.Act) bool {
		asked := func(c lanes.TracedCommand) bool { return c.Who == act.Who }
		return len(q.commands) == 0 || slices.ContainsFunc(q.commands, asked)
	}
	_, err := actLog(ctx, q.r).backwards(ctx, first, last.Add(1), func(block []lanes.Act, _ []time.Time) (more bool) {
		for _, act := range block {
			if who(act) && slices.ContainsFunc(spans, func(s span) bool {
				about := act.Lane == s.lane || act.Session != uuid.Nil && act.Session == s.session
				return about && !act.At.Before(s.from) && !act.At.After(s.to)
			}) {
				q.acts = append(q.acts, act)
			}
		}
		return true
	})
	slices.Reverse(q.acts)
	return err
}

// missing returns what is not on record of the request.
func (q *inquiry) missing() []missingRecord {
	missing := []missingRecord{}
	note := func(lacking bool, what missingRecord) {
		if lacking {
			missing = append(missing, what)
		}
	}
	lacks := func(of func(lanes.TracedCommand) bool) bool {
		return len(q.commands) == 0 || slices.ContainsFunc(q.commands, of)
	}
	note(q.trace == "", missingTrace)
	note(len(q.commands) == 0, missingCommand)
	note(len(q.commands) == 0, missingSaved)
	note(lacks(func(c lanes.TracedCommand) bool { return c.Sent.IsZero() }), missingSent)
	note(lacks(func(c lanes.TracedCommand) bool { return c.Applied.IsZero() }), missingApplied)
	note(len(q.events) == 0, missingEvents)
	note(len(q.awaited) > 0, missingState)
	return missing
}

func viewOfAsked(rangeID uuid.UUID, c lanes.TracedCommand) askedView {
	view := askedView{
		laneName: laneName{rangeID, c.Lane, c.Name}, Command: c.Command, By: c.By, Who: c.Who,
		Session: endpoint.Optional(c.Session), Asked: endpoint.Stamp(c.At), doneView: *viewOfDone(c.Commanded),
		Sent: endpoint.OptionalStamp(&c.Sent), Applied: endpoint.OptionalStamp(&c.Applied),
	}
	if c.Result == "ok" {
		view.SavedBy = &view.Answered
	}
	return view
}

func viewOfAct(a lanes.Act) actView {
	return actView{
		endpoint.Stamp(a.At), a.Who, a.What, endpoint.Optional(a.Lane), endpoint.Optional(a.Session), a.Detail,
	}
}
