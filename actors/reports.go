package actors

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"rangegate/actors/clock"
	"rangegate/actors/commit"
	"rangegate/lanes"
)

// maxReports of a controller wait for the store. The controller keeps those beyond them: they are dropped
// here and get no ack.
const maxReports = 256

var errUnheard = errors.New("reports were not heard while the store was away; the controller is asked to tell them again")

// enqueueReport queues what the hardware reports. Once one did not fit, none behind it may come in: an ack of
// a later one would make the controller forget it.
func (l *laneActor) enqueueReport(q *request) {
	_, report := q.command.(lanes.Report)
	switch {
	case slices.ContainsFunc(l.reports, q.repeats):
	case report && (l.reportsOverflowed || len(l.reports) >= maxReports):
		if !l.reportsOverflowed {
			l.reportsOverflowed = true
			l.r.log.Warn().Stringer("lane_id", l.id).Int("waiting", len(l.reports)).
				Msg("too many reports of the lane wait for the store: its controller keeps the rest")
		}
	default:
		l.reports = append(l.reports, q)
	}
}

// hearAgain makes the connection anew once all reports that waited are saved, so that the controller sends
// what was dropped.
func (l *laneActor) hearAgain() {
	if l.reportsOverflowed && len(l.reports) == 0 {
		l.reportsOverflowed = false
		l.hangUp(errUnheard) // where the next dial is waited for, that brings them
	}
}

// lookedUp is what became of a lookup of a session that is not on the lane.
type lookedUp struct {
	life    *laneActor
	request *request
	found   lanes.Known
	given   *lanes.Correlation // to the session
}

// lookUp finds out whether the session of a late report is known: on another lane, or in the history. The
// reports that came after it wait, so that they stay in order.
func (l *laneActor) lookUp(q *request) {
	l.reportsPaused = true
	r, self, report := l.r, l.self, q.command.(lanes.Report)
	r.background.Go(func() {
		found := lanes.IsUnknown
		var given *lanes.Correlation
		for {
			ctx, cancel := context.WithTimeout(r.life, commit.FlushTimeout)
			var err error
			given, err = r.correlation(ctx, report.Session)
			cancel()
			if err == nil {
				found = lanes.IsKnown
			}
			if found == lanes.IsKnown || errors.Is(err, lanes.ErrSessionNotFound) {
				break
			}
			if !clock.Sleep(r.life, reportRetry) { // the store is down
				return
			}
		}
		r.tree.Send(self, &lookedUp{l, q, found, given})
	})
}

// correlation returns that of a session which is active or has ended. Errors: those of Session but ErrSessionEnded.
func (r *Range) correlation(ctx context.Context, id uuid.UUID) (*lanes.Correlation, error) {
	if view := r.board.Session(id); view != nil {
		return view.Correlation, nil
	}
	ended, err := r.EndedSession(ctx, id)
	if errors.Is(err, lanes.ErrSessionEnded) {
		return ended.Session.Correlation, nil
	}
	return nil, err
}

// lookedUp puts the report back in front, with what is known of its session.
func (l *laneActor) lookedUp(m *lookedUp) {
	if m.life != l {
		return // the controller sends it again
	}
	report := m.request.command.(lanes.Report)
	report.Elsewhere, report.Correlation = m.found, m.given
	m.request.command = report
	l.reports = append([]*request{m.request}, l.reports...)
	l.reportsPaused = false
}
