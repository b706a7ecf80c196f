package observer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// timelineOf is which part of a lane's timeline is wanted.
type timelineOf struct {
	laneOf
	from, to time.Time // zero: for a day; until now
	before   uint64    // in Unix nanoseconds, from an earlier answer; 0: the first page
	limit    int
}

// timelineTerm is the length of a timeline whose begin is not said.
const timelineTerm = 24 * time.Hour

func readTimeline(in *endpoint.Input) timelineOf {
	return timelineOf{
		laneOf: readLaneOf(in),
		from:   in.QueryTime("from", "The oldest; without it a day before the newest"),
		to:     in.QueryTime("to", "All before that; without it until now"),
		before: in.QueryCursor("cursor", "Where an earlier answer says that it goes on"),
		limit:  in.QueryLimit("limit", 1, 500, 100, "The most that are returned"),
	}
}

// timelineView is what is on record of a lane, newest first.
type timelineView struct {
	endpoint.Paged `json:"-"`

	At        string `json:"at"`
	RangeName string `json:"range"`
	laneName
	From string `json:"from"`
	To   string `json:"to"`
	// Commands, links and restarts are remembered by the process alone.
	Remembered string       `json:"remembered_since"`
	Moments    []momentView `json:"moments"`
	Next       *string      `json:"next"` // the cursor to go on with; null: that is all
}

// momentView names no customer.
type momentView struct {
	At      string     `json:"at"`
	Kind    momentKind `json:"kind"`
	What    string     `json:"what"` // the event's kind, the command, the act of staff, the state of the link, the actor
	By      lanes.By   `json:"by"`   // empty: nobody on record
	Who     string     `json:"who"`
	Session *uuid.UUID `json:"session_id"`
	Trace   string     `json:"trace_id"`
	Detail  string     `json:"detail"` // of an act; the error or the firmware of a link; what an actor panicked on

	Event   *eventView  `json:"event,omitempty"`
	Command *doneView   `json:"command,omitempty"`
	Ended   *endingView `json:"ended,omitempty"` // of the end of a session, as the history has it
}

type momentKind string

const (
	sessionMoment momentKind = "session" // an event of a session
	commandMoment momentKind = "command"
	staffMoment   momentKind = "staff" // an act of staff or of an operator that no command in the answer is
	holdMoment    momentKind = "hold"  // a hold over the lane, or its end
	linkMoment    momentKind = "link"
	restartMoment momentKind = "restart" // of the range, or of an actor of the lane after a panic
)

type eventView struct {
	Cursor     string        `json:"cursor"`
	ID         uuid.UUID     `json:"event_id"`
	OccurredAt string        `json:"occurred_at"`
	Decision   *decisionView `json:"decision"` // null: it follows from the same one as the event before it
}

// decisionView is what an event follows from.
type decisionView struct {
	Command string   `json:"command"`
	By      lanes.By `json:"by"`
	At      string   `json:"at"`
	Held    bool     `json:"hold"` // a hold lay over the lane
	Minutes int      `json:"minutes"`
	Passed  float64  `json:"since_clock_changed_ms"` // since the session's clock last started or stopped
}

// doneView is what became of a command.
type doneView struct {
	Result   string  `json:"result"`
	Decided  string  `json:"decided_at"`
	Answered string  `json:"answered_at"` // once it was saved
	Waited   float64 `json:"waited_ms"`   // until it was decided
	Took     float64 `json:"took_ms"`
}

type endingView struct {
	Reason lanes.EndReason `json:"end_reason"`
	Sold   float64         `json:"minutes_sold"`
	Used   float64         `json:"minutes_used"`
	Paused float64         `json:"minutes_paused"`
}

func viewOfEvent(entry lanes.Logged) *eventView {
	event := entry.Event
	view := &eventView{
		Cursor: strconv.FormatUint(entry.Cursor, 10), ID: event.ID, OccurredAt: endpoint.Stamp(event.At),
	}
	if d := event.Decision; d != nil {
		view.Decision = &decisionView{
			d.Command, d.By, endpoint.Stamp(d.MadeAt(event.At)), d.Held, d.Minutes,
			milliseconds(d.Passed),
		}
	}
	return view
}

func viewOfDone(c lanes.Commanded) *doneView {
	return &doneView{
		c.Result, endpoint.Stamp(c.At.Add(c.Waited)), endpoint.Stamp(c.At.Add(c.Took)),
		milliseconds(c.Waited), milliseconds(c.Took),
	}
}

// moment is one entry of a timeline.
type moment struct {
	at   time.Time
	view momentView
}

// timeline is what is collected of one.
type timeline struct {
	r             Range
	lane          lanes.Place
	bay           string // the name of the lane's
	since, before time.Time
	limit         int
	found         []moment
	counted       int       // of the log that is read
	reached       time.Time // down to which everything was collected; zero: all of it
}

func (s *observerOf) timeline(ctx context.Context, of timelineOf) (timelineView, error) {
	now := time.Now()
	to := of.to
	if to.IsZero() {
		to = now.Add(time.Second) // a record may be newer than the request
	}
	from := of.from
	if from.IsZero() {
		from = to.Add(-timelineTerm)
	}
	if !from.Before(to) {
		return timelineView{}, endpoint.Faults{"from": "must be before to"}
	}
	r, err := s.running(of.laneOf)
	if err != nil {
		return timelineView{}, err
	}
	health, found := r.LaneActor(of.lane)
	if !found {
		return timelineView{}, lanes.ErrLaneNotFound
	}
	layout := r.Layout()
	t := timeline{r: r, lane: lanes.Place{ID: of.lane}, since: from, before: to, limit: of.limit}
	if of.before != 0 {
		t.before = earlier(to, time.Unix(0, int64(of.before)))
	}
	t.findPlace(layout)
	t.addRemembered(health)
	moments, err := readRecord(ctx, t.read)
	if err != nil {
		return timelineView{}, err
	}
	view := timelineView{
		At: endpoint.Stamp(now), RangeName: layout.Name, laneName: laneName{layout.Range, of.lane, health.Link.Name},
		From: endpoint.Stamp(from), To: endpoint.Stamp(to), Remembered: endpoint.Stamp(r.ServedSince()),
		Moments: make([]momentView, len(moments)),
	}
	for i, m := range moments {
		view.Moments[i] = m.view
	}
	if fitting := endpoint.Fit(view.Moments); len(fitting) < len(moments) {
		view.Moments, t.reached = fitting, moments[len(fitting)].at
	}
	if !t.reached.IsZero() {
		view.Next = new(strconv.FormatInt(t.reached.Add(1).UnixNano(), 10))
	}
	return view, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (t *timeline) findPlace(layout lanes.Layout) {
	for _, place := range layout.Lanes {
		if place.ID == t.lane.ID {
			t.lane = place
		}
	}
	for _, bay := range layout.Bays {
		if bay.ID == t.lane.Bay {
			t.bay = bay.Name
		}
	}
}

func (t *timeline) add(at time.Time, view momentView) {
	if !at.IsZero() && !at.Before(t.since) && at.Before(t.before) {
		view.At = endpoint.Stamp(at)
		t.found = append(t.found, moment{at, view})
		t.counted++
	}
}

// addRemembered adds what no store has: commands, the link, and restarts.
func (t *timeline) addRemembered(health lanes.LaneHealth) {
	for _, c := range health.Commands {
		t.add(c.At, momentView{
			Kind: commandMoment, What: c.Command, By: c.By, Who: c.Who, Session: endpoint.Optional(c.Session),
			Trace: c.Trace, Command: viewOfDone(c),
		})
	}
	for _, change := range t.r.LinkChanges(t.lane.ID) {
		t.add(change.At, momentView{
			Kind: linkMoment, What: string(change.Link), Detail: cmp.Or(change.Error, change.Firmware),
		})
	}
	if restarts := health.Restarts; restarts.Restarts > 0 {
		t.add(restarts.Last, momentView{Kind: restartMoment, What: restarts.Kind, Detail: restarts.Message})
	}
	t.add(t.r.ServedSince(), momentView{Kind: restartMoment, What: "range"})
	for _, hold := range t.r.Holds().InForce { // of staff there is an act
		if hold.Who == lanes.ByController && hold.Covers(t.lane) {
			t.add(hold.Since, momentView{Kind: holdMoment, What: lanes.DidHold, Who: hold.Who, Detail: hold.Kind})
		}
	}
}

// read adds what the store has, and returns a page of all, newest first.
func (t *timeline) read(ctx context.Context) ([]moment, error) {
	t.counted = 0
	events, err := eventLog(ctx, t.r).backwards(ctx, t.since, t.before, t.addEvents)
	if err != nil {
		return nil, err
	}
	t.counted = 0
	acts, err := actLog(ctx, t.r).backwards(ctx, t.since, t.before, t.addActs)
	if err != nil {
		return nil, err
	}
	if t.reached = events; acts.After(events) {
		t.reached = acts
	}
	t.cut()
	t.leaveOutActsOfCommands()
	return t.found, t.addEndings(ctx)
}

func (t *timeline) addEvents(block []lanes.Logged, times []time.Time) (more bool) {
	for i, entry := range block {
		if entry.Copy || entry.Event.Lane != t.lane.ID {
			continue
		}
		view := momentView{
			Kind: sessionMoment, What: string(entry.Event.Kind), Session: endpoint.Optional(entry.Event.Session),
			Trace: entry.Trace, Event: viewOfEvent(entry),
		}
		if d := entry.Event.Decision; d != nil {
			view.By = d.By
		}
		t.add(times[i], view)
	}
	return t.counted < t.limit
}

func (t *timeline) addActs(block []lanes.Act, times []time.Time) (more bool) {
	for i, act := range block {
		kind := staffMoment
		if act.What == lanes.DidHold || act.What == lanes.DidLift {
			kind = holdMoment
		}
		covers := act.Detail == lanes.OverRange || act.Detail == lanes.OverBay+" "+t.bay
		if act.Lane == t.lane.ID || kind == holdMoment && covers {
			t.add(times[i], momentView{
				Kind: kind, What: act.What, Who: act.Who, Session: endpoint.Optional(act.Session), Detail: act.Detail,
			})
		}
	}
	return t.counted < t.limit
}

// cut sorts what was collected, newest first, and leaves the first page of it: moments of one instant stay together.
func (t *timeline) cut() {
	slices.SortStableFunc(t.found, func(a, b moment) int { return b.at.Compare(a.at) })
	end := len(t.found)
	for !t.reached.IsZero() && end > 0 && !t.found[end-1].at.After(t.reached) {
		end--
	}
	if end > t.limit {
		for end = t.limit; end < len(t.found) && t.found[end].at.Equal(t.found[t.limit-1].at); {
			end++
		}
		if end < len(t.found) {
			t.reached = t.found[end-1].at.Add(-1)
		}
	}
	t.found = t.found[:end]
}

// leaveOutActsOfCommands drops the acts of staff that a command in the answer is.
func (t *timeline) leaveOutActsOfCommands() {
	var commands []moment
	for _, m := range t.found {
		if m.view.Kind == commandMoment && m.view.Who != "" {
			commands = append(commands, m)
		}
	}
	t.found = slices.DeleteFunc(t.found, func(m moment) bool {
		return m.view.Kind == staffMoment && slices.ContainsFunc(commands, func(c moment) bool {
			done := c.at.Add(time.Duration(c.view.Command.Took * float64(time.Millisecond)))
			return c.view.Who == m.view.Who && c.view.Command.Result == "ok" && sameCommand(c.view.What, m.view.What) &&
				!m.at.Before(c.at) && !m.at.After(done)
		})
	})
}

// sameCommand reports whether an act has the command as its cause, whose names differ in two cases.
func sameCommand(command, act string) bool {
	switch act {
	case lanes.DidStart:
		return command == lanes.Enter{}.Name()
	case lanes.DidSettle:
		return command == lanes.Clear{}.Name()
	}
	return command == act
}

// addEndings says of ends of sessions what the history has of them.
func (t *timeline) addEndings(ctx context.Context) error {
	for i := range t.found {
		view := &t.found[i].view
		if view.Kind != sessionMoment || view.What != string(lanes.SessionStopped) {
			continue
		}
		ended, err := t.r.EndedSession(ctx, *view.Session)
		switch {
		case errors.Is(err, lanes.ErrSessionNotFound), errors.Is(err, lanes.ErrSessionEnded) && ended.At.IsZero():
		case !errors.Is(err, lanes.ErrSessionEnded):
			return err
		default:
			view.Ended = &endingView{
				ended.Reason, ended.Session.Sold.Minutes(), minutes(ended.Used), minutes(ended.Paused),
			}
		}
	}
	return nil
}

func minutes(d time.Duration) float64 { return d.Round(time.Millisecond).Minutes() }
