package actors

import (
	"context"
	"iter"
	"slices"

	"github.com/google/uuid"

	"rangegate/lanes"
)

const (
	maxWaiting = 64 // requests of clients that may wait for a lane

	// maxReports of a controller wait for the store. The controller keeps those beyond them: they are dropped
	// here and get no ack.
	maxReports = 256
)

// queue is what waits for a lane, as a value: it sends nothing and answers nobody.
type queue struct {
	closing []*request // stop, pause and hold, and the release of a hold
	reports []*request // of the hardware
	waiting []*request // of clients and of staff

	ahead []*closingAhead // what closes and is decided elsewhere, with other lanes: see together.go

	reportsPaused     bool // reports wait for the store
	lookingUp         bool // those behind the one whose session is looked up wait for that
	reportsOverflowed bool // some did not fit and were dropped
	warningsPaused    bool // a warning waits for the store, or that a session goes on beyond what was sold
	startsPaused      bool // likewise the begin of a session
	unlinked          bool // the lane's hardware is not reached: no session begins by its start

	uncharges *request // nil, or gives a session the time back for which its line was locked: see uncharge
}

// next takes the next request from the queue, nil when there is none. In this order:
//
//	uncharge  time of a session whose line opened late, before anything else is decided about it
//	closing   those that arrived before the session's time was over
//	expiry    the session's time is over
//	closing   those that arrived after it
//	begin     the session's start has come, unless its hardware is not reached, or starts are paused
//	warning   the session's time is soon over, unless warnings are paused
//	beyond    what was sold is used up and the session goes on; likewise
//	reports   of the hardware, in their order, unless they are paused, or wait for a lookup
//	waiting   requests of clients and staff
//
// lane is the one in force.
func (w *queue) next(lane lanes.Lane, now lanes.Instant) *request {
	if len(w.closing) > 0 && w.closing[0].releases() {
		w.closing[0].at = now
	}
	switch due := lane.Due(now); {
	case w.uncharges != nil:
		q := w.uncharges
		w.uncharges, q.at = nil, now
		return q
	case len(w.closing) > 0 && (!due || !lane.Due(w.closing[0].at)):
		return pop(&w.closing)
	case due: // the request of the timer
		return &request{ctx: context.Background(), command: lanes.Expire{}, by: lanes.ByTimer, at: now, arrived: now}
	case !w.unlinked && !w.startsPaused && lane.StartDue(now):
		return &request{ctx: context.Background(), command: lanes.Begin{}, by: lanes.ByTimer, at: now, arrived: now}
	case !w.warningsPaused && lane.WarningDue(now):
		return &request{ctx: context.Background(), command: lanes.Warn{}, by: lanes.ByTimer, at: now, arrived: now}
	case !w.warningsPaused && lane.BeyondDue(now):
		return &request{ctx: context.Background(), command: lanes.GoBeyond{}, by: lanes.ByTimer, at: now, arrived: now}
	case len(w.reports) > 0 && !w.reportsPaused && !w.lookingUp:
		return pop(&w.reports)
	case len(w.waiting) > 0:
		q := pop(&w.waiting)
		q.at = now
		return q
	}
	return nil
}

// resume lets what has waited for the store be tried again.
func (w *queue) resume() {
	w.reportsPaused, w.warningsPaused, w.startsPaused = false, false, false
}

// firstClosing returns when the first of what waits came to close the line of the session: a hold, a stop or a pause;
// latest where none came before that.
func (w *queue) firstClosing(session uuid.UUID, latest lanes.Instant) lanes.Instant {
	first := func(waiting []*request) {
		for _, q := range waiting {
			if of := q.closesSession(); q.closes() && (of == uuid.Nil || of == session) && q.at.Before(latest) {
				latest = q.at
			}
		}
	}
	first(w.closing)
	for _, m := range w.ahead {
		first(m.closing)
	}
	return latest
}

func pop(waiting *[]*request) *request {
	first := (*waiting)[0]
	if *waiting = (*waiting)[1:]; len(*waiting) == 0 {
		*waiting = nil // an idle lane keeps no request
	}
	return first
}

// endAhead ends that those operations are waited for.
func (w *queue) endAhead(of *together) {
	w.ahead = slices.DeleteFunc(w.ahead, func(m *closingAhead) bool { return m.of == of })
}

// afterClosings returns the lane after all waiting requests that close, each decided in its turn, and after the
// end of the session's time if that is over. A request that the rules refuse changes nothing. The release of a
// hold is left out: it opens, so the hardware hears of it only once it is saved.
func (w *queue) afterClosings(lane lanes.Lane, now lanes.Instant) (closed lanes.Lane, changed bool) {
	return w.decideClosings(lane, now, func(*request, lanes.Lane) {})
}

// takesEffect reports whether what the waiting request closes is closed by its turn. It is not if a hold before it has
// paused the session that it pauses: the end of the hold resumes that.
func (w *queue) takesEffect(q *request, lane lanes.Lane, now lanes.Instant) (effective bool) {
	w.decideClosings(lane, now, func(decided *request, lane lanes.Lane) {
		if decided == q {
			pause, pauses := q.command.(lanes.Pause)
			s := lane.Session
			effective = !pauses || s == nil || s.ID != pause.Session || s.Phase == lanes.Paused && !s.ByHold
		}
	})
	return effective
}

// decideClosings is afterClosings, and tells how the lane is after each of them.
func (w *queue) decideClosings(
	lane lanes.Lane, now lanes.Instant, after func(*request, lanes.Lane),
) (closed lanes.Lane, changed bool) {
	decide := func(at lanes.Instant, command lanes.Command) {
		if change, err := lane.Decide(at, command); err == nil {
			lane, changed = change.Lane, true
		}
	}
	decideAll := func(waiting []*request) {
		for _, q := range waiting {
			if q.releases() {
				continue
			}
			if lane.Due(q.at) {
				decide(q.at, lanes.Expire{})
			}
			decide(q.at, q.command)
			after(q, lane)
		}
	}
	for _, m := range w.ahead {
		decideAll(m.closing)
	}
	decideAll(w.closing)
	if lane.Due(now) {
		decide(now, lanes.Expire{})
	}
	return lane, changed
}

// takeFollowing takes out the stops and pauses of a session, which has moved to another lane.
func (w *queue) takeFollowing(session uuid.UUID) (taken []*request) {
	w.closing = slices.DeleteFunc(w.closing, func(q *request) bool {
		follows := q.closesSession() == session
		if follows {
			taken = append(taken, q)
		}
		return follows
	})
	return taken
}

// aheadOf returns what closes the session and is decided elsewhere.
func (w *queue) aheadOf(session uuid.UUID) (following []*closingAhead) {
	for _, m := range w.ahead {
		if slices.ContainsFunc(m.closing, func(q *request) bool { return q.closesSession() == session }) {
			following = append(following, m)
		}
	}
	return following
}

// takeClosings takes out the stops and pauses of sessions that match.
func (w *queue) takeClosings(match func(*request) bool) (taken []*request) {
	w.closing = slices.DeleteFunc(w.closing, func(q *request) bool {
		closes := q.closesSession() != uuid.Nil && match(q)
		if closes {
			taken = append(taken, q)
		}
		return closes
	})
	return taken
}

// addReport queues what the hardware reports. Once one did not fit, none behind it may come in: an ack of a later
// one would make the controller forget it. first says that this one is the first that is dropped.
func (w *queue) addReport(q *request) (first bool) {
	_, report := q.command.(lanes.Report)
	switch {
	case slices.ContainsFunc(w.reports, q.repeats):
	case report && (w.reportsOverflowed || len(w.reports) >= maxReports):
		first, w.reportsOverflowed = !w.reportsOverflowed, true
	default:
		w.reports = append(w.reports, q)
	}
	return first
}

// putBack puts a report in front again, which is decided once more.
func (w *queue) putBack(q *request) { w.reports = slices.Insert(w.reports, 0, q) }

// takeUnheard reports, once, that reports were dropped and all that waited are saved: the controller is to send
// the dropped ones again.
func (w *queue) takeUnheard() bool {
	unheard := w.reportsOverflowed && len(w.reports) == 0
	w.reportsOverflowed = w.reportsOverflowed && !unheard
	return unheard
}

// backlog returns how many requests wait, and the oldest of them.
func (w *queue) backlog() (waiting int, oldest lanes.Awaited) {
	for _, requests := range [][]*request{w.closing, w.reports, w.waiting} {
		waiting += len(requests)
		if len(requests) > 0 && (oldest.What == "" || requests[0].arrived.Wall.Before(oldest.Since)) {
			oldest = lanes.Awaited{What: requests[0].name(), Since: requests[0].arrived.Wall}
		}
	}
	return waiting, oldest
}

// all returns everything that waits.
func (w *queue) all() iter.Seq[*request] {
	return slices.Values(slices.Concat(w.closing, w.reports, w.waiting))
}
