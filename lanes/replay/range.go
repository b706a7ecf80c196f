package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Window says which part of a range's record is read, so that what lies outside is no difference.
type Window struct {
	// LogFrom is when the oldest event happened that the store still has. LogWhole: none was ever trimmed.
	LogFrom  time.Time
	LogWhole bool
	// Before is the session whose record in the history is the last one before those that are read; uuid.Nil: there is
	// none, and if HistoryWhole there never was.
	Before       uuid.UUID
	HistoryWhole bool
}

// Figures count what was computed.
type Figures struct {
	Sessions    int // of the history that were read
	Events      int // of the log that were read, without the simulated ones and the copies for further webhooks
	Older       int // of Sessions: created by a gateway that did not record decisions, only their order was computed
	Cut         int // of Sessions: their first events are not kept any more
	Differences int
}

// Difference is a session that comes out differently when it is computed from its events.
type Difference struct {
	Session  uuid.UUID
	Lane     uuid.UUID
	What     string         // a sentence
	Recorded *lanes.Ended   // nil: not in the history
	Computed *lanes.Ended   // nil: it could not be computed up to its end
	Events   []lanes.Logged // of the session, up to where the difference was found
}

// Range computes the sessions of one range again. It is for one goroutine.
type Range struct {
	Figures Figures

	window Window
	report func(Difference)
	// By what was read of a session: events and no stop, the stop and no record in the history, the record and no stop
	// (it may be among lives, too), both. Of settled the last maxSettled are kept; oldest has their order.
	lives   map[uuid.UUID]*life
	stopped map[uuid.UUID]*life
	records map[uuid.UUID]lanes.Ended
	settled map[uuid.UUID]*life
	oldest  []uuid.UUID

	stops  int // that were read; each has the number of its turn as its order
	before int // order of the stop of Window.Before; 0: it was not read
	first  int // order of the first stop whose record was read, too
}

// MaxAhead bounds how many records of the history are read whose stop has not been.
const MaxAhead = 10_000

// maxSettled bounds how many sessions are remembered after their end, so that what comes twice is known.
const maxSettled = 10_000

// New begins to compute a range. It calls report with each difference.
func New(window Window, report func(Difference)) *Range {
	return &Range{
		window: window, report: report, lives: map[uuid.UUID]*life{}, stopped: map[uuid.UUID]*life{},
		records: map[uuid.UUID]lanes.Ended{}, settled: map[uuid.UUID]*life{},
	}
}

// Event computes the next entry of the event log.
func (r *Range) Event(entry lanes.Logged) {
	if entry.Simulated || entry.Copy {
		return
	}
	r.Figures.Events++
	event := entry.Event
	l, ended := r.find(event.Session)
	if l == nil {
		first := number(event, 1)
		if first == 0 && mayBeLate(event) {
			return // about a session that ended before those that are read
		}
		l = &life{id: event.Session, next: 1, lane: lanes.Lane{ID: event.Lane}}
		if first > 1 {
			l.mode, l.next = cut, first
		}
		r.lives[event.Session] = l
	}
	if ended && mayBeLate(event) && number(event, 1) == 0 {
		r.addLate(l, entry)
		return
	}
	switch n := number(event, l.next); {
	case n == 0 && mayBeLate(event):
		r.addLate(l, entry)
	case n == 0:
		l.keep(entry)
		r.differ(l, "%s has an id that is none of its session", event.Kind)
	case n < l.next:
		l.keep(entry)
		r.differ(l, "event %d, %s, is in the log twice", n, event.Kind)
	case ended:
		l.keep(entry)
		r.differ(l, "event %d, %s, comes after the end of the session", n, event.Kind)
	default:
		r.next(l, n, entry)
	}
}

// find returns a session, and whether its stop was read.
func (r *Range) find(session uuid.UUID) (l *life, ended bool) {
	if l = r.lives[session]; l != nil {
		return l, false
	}
	if l = r.stopped[session]; l == nil {
		l = r.settled[session]
	}
	return l, l != nil
}

// addLate adds a report that has no number.
func (r *Range) addLate(l *life, entry lanes.Logged) {
	l.keep(entry)
	if slices.Contains(l.late, entry.Event.ID) {
		r.differ(l, "%s is in the log twice", entry.Event.Kind)
		return
	}
	l.late = append(l.late, entry.Event.ID)
}

// next adds event n, which is the next one or a later one of a session that has not ended.
func (r *Range) next(l *life, n uint64, entry lanes.Logged) {
	l.keep(entry)
	if n > l.next {
		missing := fmt.Sprintf("event %d is", l.next)
		if n > l.next+1 {
			missing = fmt.Sprintf("events %d to %d are", l.next, n-1)
		}
		r.differ(l, "%s missing in the log", missing)
		l.mode, l.next = lost, n
	}
	for _, fault := range l.add(entry.Event) {
		r.differ(l, "%s", fault)
	}
	if entry.Event.Kind != lanes.SessionStopped {
		return
	}
	delete(r.lives, l.id)
	r.stops++
	l.order = r.stops
	if l.id == r.window.Before {
		r.before = l.order
	}
	if record, found := r.records[l.id]; found {
		delete(r.records, l.id)
		r.settle(l, record)
		return
	}
	r.stopped[l.id] = l
}

// Record takes the next ended session of the history.
func (r *Range) Record(record lanes.Ended) {
	r.Figures.Sessions++
	id := record.Session.ID
	_, again := r.records[id]
	l := r.settled[id]
	switch {
	case again || l != nil:
		if l == nil {
			l = &life{id: id, mode: lost, lane: lanes.Lane{ID: record.Lane}}
		}
		r.differWith(l, record, "it is in the history twice")
	case r.stopped[id] != nil:
		l = r.stopped[id]
		delete(r.stopped, id)
		r.settle(l, record)
	default:
		r.records[id] = record
	}
}

// Wants reports whether records of the history are due: sessions have stopped in the log whose record was not read.
func (r *Range) Wants() bool { return len(r.stopped) > 0 && len(r.records) < MaxAhead }

// settle compares the end that was computed with the record.
func (r *Range) settle(l *life, record lanes.Ended) {
	if r.first == 0 || l.order < r.first {
		r.first = l.order
	}
	switch l.mode {
	case exact:
		for _, fault := range differences(record, *l.ended) {
			r.differWith(l, record, "%s", fault)
		}
	case older, cut:
		if l.mode == older {
			r.Figures.Older++
		} else if r.beforeLog(record) {
			r.Figures.Cut++
		} else {
			r.differWith(l, record, "its first events are missing in the log")
		}
		for _, fault := range contradictions(record, l) {
			r.differWith(l, record, "%s", fault)
		}
	case lost: // was reported
	}
	r.settled[l.id] = l
	if r.oldest = append(r.oldest, l.id); len(r.oldest) > maxSettled {
		delete(r.settled, r.oldest[0])
		r.oldest = r.oldest[1:]
	}
	l.entries, l.ended, l.lane.Session = nil, nil, nil // only its number of events is asked for from now on
}

// beforeLog reports whether the session was created before the events that the store has kept.
func (r *Range) beforeLog(record lanes.Ended) bool {
	return !r.window.LogWhole && !record.Session.Created.Wall.After(r.window.LogFrom)
}

// differences compares the record of an ended session with the one that was computed.
func differences(recorded, computed lanes.Ended) (faults []string) {
	compare := func(what string, recorded, computed any) {
		if recorded != computed {
			faults = append(faults, fmt.Sprintf("%s: recorded %v, computed %v", what, recorded, computed))
		}
	}
	r, c := recorded.Session, computed.Session
	compare("why it ended", recorded.Reason, computed.Reason)
	compare("when it ended", stamp(recorded.At), stamp(computed.At))
	compare("lane at the end", recorded.Lane, computed.Lane)
	compare("time sold", r.Sold, c.Sold)
	compare("time used", recorded.Used, computed.Used)
	compare("time left", r.Left, c.Left)
	compare("time used beyond what was sold", recorded.Beyond, computed.Beyond)
	compare("time settled later", r.Settled, c.Settled)
	compare("time paused", recorded.Paused, computed.Paused)
	compare("time in pauses that were over", r.Rested, c.Rested)
	compare("phase at the end", r.Phase, c.Phase)
	compare("paused by a hold at the end", r.ByHold, c.ByHold)
	compare("events", r.Facts, c.Facts)
	compare("when it was created", stamp(r.Created.Wall), stamp(c.Created.Wall))
	compare("when its clock last started or stopped", stamp(r.Since.Wall), stamp(c.Since.Wall))
	compare("when it began", begun(r), begun(c))
	return faults
}

func begun(s lanes.Session) string {
	if s.Began == nil {
		return "never"
	}
	return stamp(s.Began.Wall)
}

// contradictions are those of a record with itself, and with events that do not say what they follow from.
func contradictions(recorded lanes.Ended, l *life) (faults []string) {
	s := recorded.Session
	if recorded.Used+s.Left != s.Sold {
		faults = append(faults, fmt.Sprintf("time used %v and left %v do not make up the time sold, %v", recorded.Used,
			s.Left, s.Sold))
	}
	if recorded.Reason == lanes.Expired && s.Left != 0 {
		faults = append(faults, fmt.Sprintf("its time was used up, and %v are left", s.Left))
	}
	if s.Facts != l.next-1 {
		faults = append(faults, fmt.Sprintf("events: recorded %d, in the log %d", s.Facts, l.next-1))
	}
	if recorded.Lane != l.lane.ID {
		faults = append(faults, fmt.Sprintf("lane at the end: recorded %v, in the log %v", recorded.Lane, l.lane.ID))
	}
	if phase := l.lane.Session.Phase; phase != s.Phase {
		faults = append(faults, fmt.Sprintf("phase at the end: recorded %v, in the log %v", s.Phase, phase))
	}
	return faults
}

// Finish names the sessions that have ended in the log or in the history alone.
func (r *Range) Finish() {
	for _, l := range sortedBy(r.stopped, func(l *life) int { return l.order }) {
		if r.isInside(l) {
			r.differ(l, "it has ended in the log, and is not in the history")
		}
	}
	for _, record := range sortedBy(r.records, func(e lanes.Ended) int { return int(e.Cursor) }) {
		switch l := r.lives[record.Session.ID]; {
		case l != nil:
			r.differWith(l, record, "its end, event %d, is missing in the log", l.next)
		case r.beforeLog(record):
			r.Figures.Cut++
		default:
			r.differWith(&life{id: record.Session.ID, mode: lost, lane: lanes.Lane{ID: record.Lane}}, record,
				"none of its events is in the log")
		}
	}
}

// isInside reports whether the record of a session that has stopped is among those that were to be read.
func (r *Range) isInside(l *life) bool {
	switch {
	case r.before > 0:
		return l.order > r.before
	case r.window.Before == uuid.Nil && r.window.HistoryWhole:
		return true
	}
	return r.first > 0 && l.order > r.first
}

func sortedBy[T any](all map[uuid.UUID]T, order func(T) int) (sorted []T) {
	for _, one := range all {
		sorted = append(sorted, one)
	}
	slices.SortFunc(sorted, func(a, b T) int { return order(a) - order(b) })
	return sorted
}

func (r *Range) differ(l *life, format string, values ...any) {
	if record, found := r.records[l.id]; found {
		r.differWith(l, record, format, values...)
		return
	}
	r.tell(l, nil, fmt.Sprintf(format, values...))
}

func (r *Range) differWith(l *life, record lanes.Ended, format string, values ...any) {
	r.tell(l, &record, fmt.Sprintf(format, values...))
}

func (r *Range) tell(l *life, record *lanes.Ended, what string) {
	r.Figures.Differences++
	r.report(Difference{
		Session: l.id, Lane: l.lane.ID, What: what, Recorded: record, Computed: l.ended,
		Events: slices.Clone(l.entries),
	})
}

// Present is a session on a lane, as computed from the events that were read.
type Present struct {
	Session lanes.Session  // of a session that cannot be computed only its ID and, where known, its phase
	Exact   bool           // it was computed
	Events  []lanes.Logged // of the session, the newest last
}

// On returns the session that is on the lane behind the events that were read; false without one.
func (r *Range) On(lane uuid.UUID) (Present, bool) {
	for _, l := range r.lives {
		if l.lane.ID == lane {
			present := Present{Session: lanes.Session{ID: l.id}, Exact: l.mode == exact, Events: l.entries}
			if l.lane.Session != nil {
				present.Session = *l.lane.Session
			}
			return present, true
		}
	}
	return Present{}, false
}
