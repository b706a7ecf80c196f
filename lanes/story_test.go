package lanes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"

	"rangegate/lanes"
)

// The stories under testdata tell what a lane does, in the order in which it happens. Each step is a command
// to the lane, or time that goes by. Under the line stands what follows: events, the end of a session, and
// the lanes afterwards. To write down what the code does now: go test ./lanes -run Stories -rewrite, and then
// read the difference.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "rapid") { // what a property that failed leaves behind
			return
		}
		s := newStory()
		datadriven.RunTest(t, path, s.step)
	})
}

// story is two lanes and two clocks. Lane 1 takes the commands unless ask-lane names the other.
type story struct {
	now       lanes.Instant
	boot      string
	lanes     map[string]lanes.Lane
	at        string // name of the lane that takes the commands
	last      uuid.UUID
	sold      int
	ended     lanes.Ended // the last one
	purchases purchases
}

func newStory() *story {
	s := &story{
		now:       lanes.Instant{Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Mono: time.Hour},
		boot:      "boot-1",
		lanes:     map[string]lanes.Lane{},
		at:        "1",
		purchases: newPurchases(),
	}
	for _, name := range []string{"1", "2"} {
		s.lanes[name] = lanes.Lane{
			ID:         uuid.MustParse("44444444-4444-4444-8444-00000000000" + name),
			Accessible: true, Usable: true, Purchasing: true,
		}
	}
	return s
}

func (s *story) step(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "wait": // both clocks go on
		s.now = s.now.Add(s.duration(t, d, "for"))
		return s.describeLanes()
	case "set-wall-clock": // somebody sets it; nothing else happens
		s.now.Wall = s.now.Wall.Add(s.duration(t, d, "by"))
		return s.describeLanes()
	case "ask-lane": // the commands that follow go to that lane
		d.ScanArgs(t, "name", &s.at)
		return s.describeLanes()
	case "lane-is": // what the configuration and the hardware say
		lane := s.lanes[s.at]
		lane.Accessible, lane.Usable = !d.HasArg("closed"), !d.HasArg("broken")
		lane.Purchasing = !d.HasArg("without-purchasing")
		lane.Terms = lanes.Terms{
			ClearAfter: s.duration(t, d, "clear-after"), ClearFirst: d.HasArg("clear-first"),
			Warnings:     s.durations(t, d, "warnings"),
			TellsExpired: d.HasArg("tells-expired"), Hours: s.hours(t, d), Grace: s.duration(t, d, "grace"),
			GraceForAll: d.HasArg("grace-for-all"),
		}
		s.lanes[s.at] = lane
		return s.describeLanes()
	case "turns": // what the lanes wait between sessions
		return s.describeTurns()
	case "crash": // the gateway starts again from what is saved, on the same boot of the machine or another
		return s.crash(t, d)
	}
	lane := s.lanes[s.at]
	command, err := s.command(t, d, lane)
	if err == nil {
		var change lanes.Change
		lane = s.lanes[s.at]
		if change, err = lane.Decide(s.now, command); err == nil {
			return s.apply(lane, change) + describeRecord(s.now, d, lane, command, change) + s.describeLanes()
		}
	}
	var refusal *lanes.Error
	if !errors.As(err, &refusal) {
		t.Fatal(err)
	}
	return "refused: " + refusal.Code() + describeClosing(err) + "\n"
}

func (s *story) command(t *testing.T, d *datadriven.TestData, lane lanes.Lane) (lanes.Command, error) {
	session := s.last
	if lane.Session != nil {
		session = lane.Session.ID
	}
	switch {
	case d.HasArg("of-another-session"):
		session = uuid.Max
	case d.HasArg("without-session"):
		session = uuid.Nil
	case d.HasArg("of-session"): // as they were sold, counted from 1
		var number int
		d.ScanArgs(t, "of-session", &number)
		session = sessionID(number)
	}
	number := func(name string) (n int) {
		if name != "open-end" || d.HasArg(name) {
			d.ScanArgs(t, name, &n)
		}
		return n
	}
	switch d.Cmd {
	case "create":
		s.sold++
		s.last = sessionID(s.sold)
		return lanes.Create{
			Session: s.last, Customer: "Jo Smith", Minutes: number("minutes"),
			Purchasing: !d.HasArg("without-purchasing"), AutoStart: d.HasArg("auto-start"),
			ByStaff: d.HasArg("by-staff"), AfterClosing: d.HasArg("after-closing"),
			WarnAt:      s.durations(t, d, "warn-at"),
			Reservation: word(t, d, "reservation"),
			Grace:       d.HasArg("grace"), OpenEnd: number("open-end"),
		}, nil
	case "enter":
		return lanes.Enter{Session: session, Age: s.duration(t, d, "ago")}, nil
	case "pause":
		return lanes.Pause{Session: session}, nil
	case "resume":
		return lanes.Resume{Session: session}, nil
	case "hold":
		return lanes.Hold{}, nil
	case "release":
		return lanes.Release{}, nil
	case "modify":
		return lanes.Modify{Session: session, Minutes: number("minutes"), AfterClosing: d.HasArg("after-closing")}, nil
	case "set-duration":
		return lanes.SetDuration{Session: session, Minutes: number("minutes")}, nil
	case "stop":
		return lanes.Stop{Session: session, By: lanes.ByPOS}, nil
	case "expire":
		return lanes.Expire{}, nil
	case "warn":
		return lanes.Warn{}, nil
	case "go-beyond":
		return lanes.GoBeyond{}, nil
	case "link-lost":
		since := s.now
		lane.Unproven = &since
		s.lanes[s.at] = lane
		return lanes.LinkLost{}, nil
	case "link-up": // the hardware says what it has in force
		if !d.HasArg("without-capability") {
			lane.Unproven = nil
		}
		s.lanes[s.at] = lane
		return lanes.Inspect{Proof: lanes.Proof{
			OpenEnd: !d.HasArg("without-capability"), Session: session, Open: d.HasArg("open-for"),
			RunsFor: s.duration(t, d, "open-for"),
		}}, nil
	case "schedule":
		return lanes.Schedule{Session: session, Start: lanes.Start{
			ID: sessionID(number("start")),
			At: s.now.Add(s.duration(t, d, "in")),
		}}, nil
	case "unschedule":
		return lanes.Unschedule{Session: session, Start: sessionID(number("start"))}, nil
	case "begin":
		return lanes.Begin{}, nil
	case "advance":
		return lanes.Advance{Session: session, By: s.duration(t, d, "by")}, nil
	case "report":
		r := lanes.Report{
			Session: session, Age: s.duration(t, d, "ago"), Log: lanes.Log{ID: "log", Seq: uint64(number("seq"))},
			Elsewhere: map[string]lanes.Known{
				"known":   lanes.IsKnown,
				"unknown": lanes.IsUnknown,
			}[word(t, d, "elsewhere")],
			Detail: word(t, d, "detail"),
		}
		if d.HasArg("log") {
			r.Log.ID = word(t, d, "log")
		}
		r.Kind = word(t, d, "kind")
		if r.Kind == lanes.ReportPurchase {
			r.Purchase, r.Items = s.purchases.purchase(t, d, session), parseItems(t, d)
		}
		return r, nil
	case "inspect": // the faults under it, one a line
		return lanes.Inspect{Faults: strings.FieldsFunc(d.Input, func(r rune) bool { return r == '\n' })}, nil
	case "move":
		var name string
		d.ScanArgs(t, "to", &name)
		to := s.lanes[name]
		if name != s.at {
			awaiting, err := to.AwaitMove(s.now, issuer(d))
			if err != nil {
				return nil, err
			}
			to = awaiting
		}
		return lanes.Move{Session: session, To: to}, nil
	}
	if command := s.purchases.command(t, d, session); command != nil {
		return command, nil
	}
	if d.Cmd == "reopen" {
		return lanes.Reopen{Ended: s.ended}, nil
	}
	if command := staffCommand(t, d, session); command != nil {
		return command, nil
	}
	if command := s.reservationCommand(t, d); command != nil {
		return command, nil
	}
	t.Fatalf("%s: unknown step: %s", d.Pos, d.Cmd)
	return nil, nil
}

func (s *story) duration(t *testing.T, d *datadriven.TestData, name string) time.Duration {
	if !d.HasArg(name) {
		return 0
	}
	var text string
	d.ScanArgs(t, name, &text)
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return length
}

// durations are those of an argument, with a stroke between them; nil without the argument.
func (s *story) durations(t *testing.T, d *datadriven.TestData, name string) (lengths []time.Duration) {
	if !d.HasArg(name) {
		return nil
	}
	lengths = []time.Duration{}
	for _, text := range strings.FieldsFunc(word(t, d, name), func(r rune) bool { return r == '/' }) {
		length, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		lengths = append(lengths, length)
	}
	return lengths
}

func sessionID(session int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("99999999-9999-4999-8999-%012d", session))
}

// word is the value of the argument with that name, empty without one.
func word(t *testing.T, d *datadriven.TestData, name string) (word string) {
	if d.HasArg(name) {
		d.ScanArgs(t, name, &word)
	}
	return word
}

// crash saves the lane and restores it from nothing else, some time later.
func (s *story) crash(t *testing.T, d *datadriven.TestData) string {
	saved, err := json.Marshal(lanes.Snapshot{Lane: s.lanes[s.at], Boot: s.boot})
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := lanes.Checkpoint{At: s.now, Boot: s.boot}
	s.now = s.now.Add(s.duration(t, d, "down"))
	s.now.Wall = s.now.Wall.Add(s.duration(t, d, "wall-set-by"))
	if d.HasArg("rebooted") {
		s.boot += "+"
		s.now.Mono = 20 * time.Second
	}
	var snapshot lanes.Snapshot
	if err := json.Unmarshal(saved, &snapshot); err != nil {
		t.Fatal(err)
	}
	before := s.lanes[s.at]
	now := lanes.Checkpoint{At: s.now, Boot: s.boot}
	lane := snapshot.Restore(now, checkpoint).RanOn(checkpoint.Down(now), s.now).Unseen(checkpoint.Down(now), s.now)
	s.lanes[s.at] = lane.WithUnsaved(before)
	return s.describeLanes()
}

// describeTurns describes what the lanes wait between sessions, and what the sessions on them have on record of that.
func (s *story) describeTurns() string {
	var out strings.Builder
	for _, name := range []string{"1", "2"} {
		lane := s.lanes[name]
		if turn := lane.Turn; turn != nil {
			fmt.Fprintf(&out, "lane %s: waits since session %s, for %s", name,
				strings.TrimLeft(turn.After.String()[24:], "0"), turn.Time(s.now, lane.Hours))
			if !turn.Counts {
				out.WriteString(", does not count now")
			}
			out.WriteString("\n")
		}
		if last := lane.LastTurn; last != nil {
			fmt.Fprintf(&out, "lane %s: waited last for %s, until %s\n", name, last.Took, last.At.Format("15:04:05"))
		}
		if session := lane.Session; session != nil && session.Turn != nil {
			fmt.Fprintf(&out, "lane %s: its session has %s\n", name, *session.Turn)
		}
	}
	if s.ended.Session.Turn != nil {
		fmt.Fprintf(&out, "the session that ended last has %s\n", *s.ended.Session.Turn)
	}
	return out.String() + s.describeFigures()
}

func (s *story) describeFigures() string {
	var times lanes.TurnTimes
	for _, lane := range s.lanes {
		times.Add(lane, s.now)
	}
	f := times.Figures()
	return fmt.Sprintf("figures: %d waiting, %s at most; %d turns, %s in the middle\n", f.Waiting, f.Longest,
		f.Turns, f.Median)
}

// apply takes the change over and describes it.
func (s *story) apply(before lanes.Lane, change lanes.Change) string {
	var out strings.Builder
	for _, event := range change.Events {
		fmt.Fprintf(&out, "%s at %s on lane %s%s%s\n", event.Kind, event.At.Format("15:04:05"),
			s.laneName(event.Lane), describeItems(event.Items), s.otherSession(event, before, change.Lane))
		if e := event.Ending; e != nil {
			fmt.Fprintf(&out, "  %s left, ends at %s\n", e.Remaining, e.EndsAt.Format("15:04:05"))
		}
		if at := event.GraceEndsAt; at != nil {
			fmt.Fprintf(&out, "  in its grace until %s\n", at.Format("15:04:05"))
		}
		if b := event.Beyond; b != nil {
			fmt.Fprintf(&out, "  %s beyond, %s of it settled\n", b.Used, b.Settled)
		}
	}
	unread := before
	unread.Log = change.Lane.Log
	if change.Lane.Log != before.Log && !change.Changes(unread) {
		fmt.Fprintf(&out, "nothing but: %s is read up to %d\n", change.Lane.Log.ID, change.Lane.Log.Seq)
	}
	if e := change.Ended; e != nil {
		s.ended = *e
		fmt.Fprintf(&out, "ended %s at %s: %s used, %s left, %s in pauses\n",
			e.Reason, e.At.Format("15:04:05"), e.Used, e.Session.Left, e.Paused)
		if e.Beyond > 0 {
			fmt.Fprintf(&out, "  %s beyond, %s of it settled\n", e.Beyond, e.Session.Settled)
		}
	}
	out.WriteString(s.purchases.describeSettled(change))
	if change.Missing > 0 {
		fmt.Fprintf(&out, "missing: %d reports before this one\n", change.Missing)
	}
	if change.Note != "" {
		fmt.Fprintf(&out, "note: %s\n", change.Note)
	}
	if change.Closing {
		out.WriteString("closing: it stands although it cannot be saved\n")
	}
	s.lanes[s.at] = change.Lane
	if change.Other != nil {
		s.lanes[s.laneName(change.Other.ID)] = *change.Other
	}
	return out.String()
}

func (s *story) laneName(lane uuid.UUID) string { return lane.String()[35:] }

// otherSession names the event's session where it is not the one on the lane.
func (s *story) otherSession(event lanes.Event, shown ...lanes.Lane) string {
	for _, lane := range shown {
		if lane.Session != nil && lane.Session.ID == event.Session {
			return ""
		}
	}
	if event.Session == uuid.Max {
		return " of another session"
	}
	return " of session " + strings.TrimLeft(event.Session.String()[24:], "0")
}

// describeLanes describes the lanes as they are now.
func (s *story) describeLanes() string {
	var out strings.Builder
	for _, name := range []string{"1", "2"} {
		lane := s.lanes[name]
		if name == "2" && s.at == "1" && lane.Session == nil && !lane.Held && len(lane.Open) == 0 &&
			describeForStaff(lane, s.now) == "" {
			continue // not part of the story
		}
		fmt.Fprintf(&out, "lane %s: ", name)
		if lane.Held {
			out.WriteString("held, ")
		}
		if lane.Fault != "" {
			fmt.Fprintf(&out, "faulty (%s), ", lane.Fault)
		}
		if lane.Session == nil {
			out.WriteString("free\n" + s.purchases.describe(lane) + describeForStaff(lane, s.now))
			continue
		}
		fmt.Fprintf(&out, "%s, %s left of %s", lane.Session.Phase, lane.Session.Remaining(s.now), lane.Session.Sold)
		if deadline, running := lane.Deadline(); running {
			fmt.Fprintf(&out, ", until %s", deadline.Wall.Format("15:04:05"))
		}
		if b := lane.Session.Beyond(s.now); b.Used > 0 {
			fmt.Fprintf(&out, ", %s beyond, %s of it settled", b.Used, b.Settled)
		}
		if lane.Session.Unproven != nil {
			out.WriteString(", nobody knows whether the line is open")
		}
		if end, found := lane.GraceEnd(); found {
			fmt.Fprintf(&out, ", in its grace until %s, %s from now", end.Wall.Format("15:04:05"),
				time.Duration(*lane.GraceLeft(s.now))*time.Millisecond)
		}
		if lane.Due(s.now) {
			out.WriteString(", due")
		}
		if start, found := lane.NextStart(); found {
			fmt.Fprintf(&out, ", starts at %s", start.Wall.Format("15:04:05"))
		}
		if warning, found := lane.NextWarning(); found && !lane.Due(s.now) {
			fmt.Fprintf(&out, ", to be warned at %s", warning.Wall.Format("15:04:05"))
		}
		out.WriteString("\n" + s.purchases.describe(lane) + describeForStaff(lane, s.now))
	}
	return out.String()
}
