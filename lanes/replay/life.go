package replay

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// How exactly a session is computed.
type mode int

const (
	exact mode = iota // everything is on record that it follows from
	// it was created by a gateway that did not record decisions: only the order of its events is known
	older
	cut  // its first events were not read
	lost // a difference was found, behind which nothing can be computed
)

// life is one session, as far as its events were read.
type life struct {
	id       uuid.UUID
	mode     mode
	lane     lanes.Lane     // as computed; with older and cut events only its ID, and the phase of its session
	expected []lanes.Event  // the rest of the change that was decided last
	next     uint64         // number of the next event
	late     []uuid.UUID    // ids of reports that came when the session was on another lane, or had ended
	ended    *lanes.Ended   // as computed
	order    int            // of its stop among all that were read
	entries  []lanes.Logged // the newest, for whoever looks at a difference
}

// keptEntries bounds the entries of a session that are kept to be shown.
const keptEntries = 50

// searched bounds the numbers that are tried for the id of an event.
const searched = 4096

// number returns the number of an event of that session, looked for from first on; 0 if it is none.
func number(event lanes.Event, first uint64) uint64 {
	for n := first; n < first+searched; n++ {
		if lanes.EventID(event.Session, n) == event.ID {
			return n
		}
	}
	for n := uint64(1); n < first; n++ {
		if lanes.EventID(event.Session, n) == event.ID {
			return n
		}
	}
	return 0
}

// mayBeLate reports whether the event may be a report about a session that is not on its lane, which has no number.
func mayBeLate(event lanes.Event) bool {
	return event.Kind == lanes.Help || event.Kind == lanes.CarrierHit
}

func (l *life) keep(entry lanes.Logged) {
	if len(l.entries) == keptEntries {
		copy(l.entries[1:], l.entries[2:]) // the first one stays
		l.entries = l.entries[:keptEntries-1]
	}
	l.entries = append(l.entries, entry)
}

// add computes an event that is the next of the session, and returns what is different.
func (l *life) add(event lanes.Event) (faults []string) {
	l.next++
	if l.mode == exact && l.next == 2 && event.Decision == nil {
		l.mode = older
	}
	switch l.mode {
	case exact:
		return l.compute(event)
	case older, cut:
		return l.follow(event)
	case lost:
		l.lane.ID = event.Lane
	}
	return nil
}

// compute computes an event that says what it follows from, or that follows from the same change as the one before it.
func (l *life) compute(event lanes.Event) []string {
	if len(l.expected) == 0 {
		if event.Decision == nil {
			l.mode = lost
			return []string{fmt.Sprintf("%s follows from nothing that is on record", event.Kind)}
		}
		change, err := l.decide(event, *event.Decision)
		if err != nil {
			l.mode = lost
			return []string{err.Error()}
		}
		l.expected, l.lane, l.ended = change.Events, change.Lane, change.Ended
		if change.Other != nil {
			l.lane = *change.Other
		}
		if l.ended != nil {
			l.lane.ID = l.ended.Lane
		}
	} else if event.Decision != nil {
		l.mode = lost
		return []string{fmt.Sprintf("%s follows from %s; computed: %s, from the change before", event.Kind,
			event.Decision.Command, l.expected[0].Kind)}
	}
	computed := l.expected[0]
	l.expected = l.expected[1:]
	var faults []string
	different := func(what string, recorded, computed any) {
		faults = append(faults, fmt.Sprintf("%s of event %d: recorded %v, computed %v", what, l.next-1,
			recorded, computed))
	}
	if event.Kind != computed.Kind {
		different("kind", event.Kind, computed.Kind)
		l.mode = lost
	}
	if event.Lane != computed.Lane {
		different("lane", event.Lane, computed.Lane)
	}
	if !event.At.Equal(computed.At) {
		different("time", stamp(event.At), stamp(computed.At))
	}
	if recorded, right := event.Ending, computed.Ending; recorded != nil && right != nil &&
		(recorded.Remaining != right.Remaining || !recorded.EndsAt.Equal(right.EndsAt)) {
		different("what is left", recorded.Remaining, right.Remaining)
	}
	if recorded, right := event.GraceEndsAt, computed.GraceEndsAt; (recorded == nil) != (right == nil) ||
		recorded != nil && !recorded.Equal(*right) {
		different("the end of the grace", optionalStamp(recorded), optionalStamp(right))
	}
	if recorded, right := event.Beyond, computed.Beyond; (recorded == nil) != (right == nil) ||
		recorded != nil && *recorded != *right {
		different("what was used beyond what was sold", orZero(recorded), orZero(right))
	}
	return faults
}

// decide decides the command of an event again.
func (l *life) decide(event lanes.Event, d lanes.Decision) (lanes.Change, error) {
	// The wall clock as it was labelled at the event: see Decision.Stepped.
	lane, now := l.lane, lanes.Instant{Wall: event.At.Add(d.Late)}
	if lane.Session == nil {
		lane = lanes.Lane{ID: event.Lane}
	}
	lane.Accessible, lane.Usable, lane.Purchasing, lane.Help = true, true, true, nil
	lane.Held, lane.Terms = d.Held, lanes.Terms{
		Warnings: d.Told, TellsExpired: d.TellsExpired, Grace: max(d.Grace, d.InGrace), GraceForAll: true,
	}
	if (d.Command != advanceName || d.InGrace > 0) && d.Advanced > 0 && lane.Session != nil {
		// Its jumps shortened the time left since the clock last started: when they came is all the same.
		jumped, err := lane.Decide(lane.Session.Since, lanes.Advance{Session: l.id, By: d.Advanced})
		if err != nil || jumped.Ended != nil {
			return jumped, fmt.Errorf("%s: the clock was advanced by %v, and that cannot be", d.Command, d.Advanced)
		}
		lane = jumped.Lane
	}
	// what it follows in the same change has an older label
	if d.Command == pauseName || event.Kind == lanes.SessionBeyond {
		now.Wall = now.Wall.Add(d.Stepped)
	}
	lane = unproven(inGrace(uncharged(lane, d.Uncharged), d.InGrace), d.Unproven)
	if lane.Session != nil {
		now.Mono = lane.Session.Since.Mono + d.Passed
	}
	command := l.command(&lane, event, d)
	if command == nil {
		return lanes.Change{}, fmt.Errorf("%s follows from %q, which is no command that this version knows",
			event.Kind, d.Command)
	}
	change, err := lane.Decide(now, command)
	switch {
	case err != nil:
		return change, fmt.Errorf("%s follows from %s, which is refused when it is computed: %w", event.Kind,
			d.Command, err)
	case len(change.Events) == 0:
		return change, fmt.Errorf("%s follows from %s, of which computed nothing follows", event.Kind, d.Command)
	}
	if s := change.Lane.Session; d.Phase == lanes.Paused && s != nil && s.Phase == lanes.Running { // reopened as it was
		paused, err := change.Lane.Decide(now, lanes.Pause{Session: l.id})
		if err != nil {
			return paused, fmt.Errorf("%s: the pause that it was reopened in is refused: %w", event.Kind, err)
		}
		change.Lane, change.Events = paused.Lane, append(change.Events, paused.Events...)
	}
	if d.ByHand && change.Lane.Session != nil {
		paused := *change.Lane.Session
		paused.ByHold = false
		change.Lane.Session = &paused
	}
	// purchases have events and minutes, and are nothing more here
	if s := change.Lane.Session; s != nil && s.Purchase != nil {
		bare := *s
		bare.Purchase = nil
		change.Lane.Session = &bare
	}
	change.Lane.Open = nil
	return change, nil
}

// inGrace returns the lane with its session in a grace that ends so long after its deadline; 0: in none. That it began,
// and whether the clock was advanced in it, no event has to tell.
func inGrace(lane lanes.Lane, grace time.Duration) lanes.Lane {
	if lane.Session == nil || grace == 0 {
		return lane
	}
	s := *lane.Session
	if deadline, running := lane.Deadline(); running {
		s.Left, s.Phase, s.Since = 0, lanes.Paused, deadline
	}
	s.StaysUntil = new(s.Since.Add(grace))
	lane.Session = &s
	return lane
}

// uncharged returns the lane with a session that was not charged for so long.
func uncharged(lane lanes.Lane, locked time.Duration) lanes.Lane {
	if lane.Session == nil || locked == 0 {
		return lane
	}
	s := *lane.Session
	s.Left += locked
	lane.Session = &s
	return lane
}

// unproven returns the lane with a session of which nobody can prove the line so long after its clock has started; nil:
// that is known.
func unproven(lane lanes.Lane, after *time.Duration) lanes.Lane {
	if lane.Session == nil || !lane.Session.HasOpenEnd() {
		return lane
	}
	s := *lane.Session
	if s.Unproven = nil; after != nil {
		s.Unproven = new(s.Since.Add(*after))
	}
	lane.Session = &s
	return lane
}

func orZero(beyond *lanes.Beyond) lanes.Beyond {
	if beyond == nil {
		return lanes.Beyond{}
	}
	return *beyond
}

var (
	advanceName = lanes.Advance{}.Name()
	pauseName   = lanes.Pause{}.Name()
)

// command returns the command of a decision, nil if there is no such. It puts on the lane what the command needs
// there and the events of the session do not tell.
func (l *life) command(lane *lanes.Lane, event lanes.Event, d lanes.Decision) lanes.Command {
	switch d.Command {
	case lanes.Create{}.Name(), lanes.Reopen{}.Name():
		return lanes.Create{
			Session: l.id, Minutes: d.Minutes, AutoStart: d.Phase != lanes.Waiting, ByStaff: true,
			Correlation: event.Correlation,
			OpenEnd:     int(d.OpenEnd / time.Minute),
		}
	case lanes.Enter{}.Name(), lanes.Report{Kind: lanes.ReportEntered}.Name(), lanes.Begin{}.Name():
		if s := lane.Session; s != nil && d.Late < 0 { // a report that waited longer than the hold which it came under
			lane.Released = &lanes.Instant{Wall: event.At, Mono: s.Since.Mono + d.Passed - d.Late}
		}
		return lanes.Enter{Session: l.id, Age: d.Late}
	case pauseName:
		if s := lane.Session; s != nil && s.Phase == lanes.Waiting { // its start had come, of which no event tells
			begins := *s
			begins.Start = &lanes.Start{At: lanes.Instant{Wall: event.At, Mono: s.Since.Mono + d.Passed - d.Late}}
			lane.Session = &begins
		}
		return lanes.Pause{Session: l.id}
	case lanes.Resume{}.Name():
		return lanes.Resume{Session: l.id}
	case lanes.Hold{}.Name():
		return lanes.Hold{}
	case lanes.Release{}.Name():
		return lanes.Release{}
	case lanes.Stop{}.Name():
		return lanes.Stop{Session: l.id, By: d.By}
	case lanes.Expire{}.Name():
		return lanes.Expire{}
	case lanes.Warn{}.Name():
		return lanes.Warn{}
	// of what proves its line nothing else has an event
	case lanes.GoBeyond{}.Name(), lanes.Inspect{}.Name(), lanes.Arrive{}.Name():
		return lanes.GoBeyond{}
	case advanceName:
		return lanes.Advance{Session: l.id, By: d.Advanced + d.InGrace}
	case lanes.CallHelp{}.Name():
		return lanes.CallHelp{}
	case lanes.Report{Kind: lanes.ReportHelp}.Name(), lanes.Report{Kind: lanes.ReportCarrierHit}.Name():
		kind := lanes.ReportHelp
		if d.Command != (lanes.Report{Kind: kind}).Name() {
			kind = lanes.ReportCarrierHit
		}
		return lanes.Report{Log: lanes.Log{ID: "replay", Seq: l.next}, Kind: kind, Session: l.id, Age: d.Late}
	case lanes.Move{}.Name():
		return lanes.Move{Session: l.id, To: lanes.Lane{
			ID: event.Lane, Held: d.Held, Accessible: true, Usable: true,
			AwaitsMove: true,
		}}
	}
	if lane.Session == nil {
		return nil
	}
	return l.saleCommand(lane, event, d)
}

// saleCommand is command of what sells time to a session, or takes it away.
func (l *life) saleCommand(lane *lanes.Lane, event lanes.Event, d lanes.Decision) lanes.Command {
	s := *lane.Session
	lane.Session = &s
	purchase := lanes.Purchase{
		ID: l.id, Session: l.id, Phase: lanes.Pending, Items: []lanes.Item{{ID: lanes.TimeItem, Qty: d.Minutes}},
	}
	switch d.Command {
	case lanes.Modify{}.Name():
		return lanes.Modify{Session: l.id, Minutes: d.Minutes}
	case lanes.SetDuration{}.Name():
		return lanes.SetDuration{Session: l.id, Minutes: int(s.Sold/time.Minute) + d.Minutes}
	case lanes.MakeUp{}.Name():
		s.RanOn = time.Duration(d.Minutes) * time.Minute
		return lanes.MakeUp{Session: l.id, Give: true}
	case lanes.Request{}.Name():
		purchase.Items = event.Items
		s.Purchase = &purchase
		return lanes.Request{Session: l.id, Purchase: purchase.ID}
	case lanes.Settle{}.Name():
		s.Purchase = &purchase
		return lanes.Settle{Session: l.id, Purchase: purchase.ID, Phase: lanes.Accepted}
	case lanes.Clear{}.Name():
		purchase.Phase = lanes.Unresolved
		s.Purchase, lane.Open = &purchase, []*lanes.Purchase{&purchase}
		return lanes.Clear{Session: l.id, Purchase: purchase.ID, Credit: true}
	}
	return nil
}

// follow follows an event of which is not on record what it follows from: whether it may come behind those before it.
func (l *life) follow(event lanes.Event) (faults []string) {
	l.lane.ID = event.Lane // a move is a sessionModified, and does not say so
	from := lanes.Phase("")
	if l.lane.Session != nil {
		from = l.lane.Session.Phase
	}
	to, possible := from, l.mode == cut && from == ""
	switch event.Kind {
	case lanes.SessionCreated:
		to, possible = lanes.Waiting, from == ""
	case lanes.SessionStarted:
		to, possible = lanes.Running, possible || from == lanes.Waiting
	case lanes.SessionPaused:
		to, possible = lanes.Paused, possible || from == lanes.Running
	case lanes.SessionResumed:
		to, possible = lanes.Running, possible || from == lanes.Paused
	default:
		possible = possible || from != ""
	}
	if !possible {
		faults = append(faults, fmt.Sprintf("%s as event %d of a session that is %s", event.Kind,
			l.next-1, orNone(from)))
	}
	l.lane.Session = &lanes.Session{ID: l.id, Phase: to}
	return faults
}

func orNone(phase lanes.Phase) string {
	if phase == "" {
		return "not created"
	}
	return string(phase)
}

func optionalStamp(at *time.Time) string {
	if at == nil {
		return "none"
	}
	return stamp(*at)
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
