package actors

import (
	"context"
	"errors"

	"rangegate/actors/clock"
	"rangegate/actors/commit"
	"rangegate/lanes"
)

var errUnheard = errors.New("more reports came than can wait to be saved; the controller is asked " +
	"to tell them again")

// lookedUp is what became of a lookup of a session that is not on the lane.
type lookedUp struct {
	life    *laneActor
	request *request
	found   lanes.Known
	given   *lanes.Correlation // to the session
}

// lookUp finds out whether the session of a late report is known: on another lane, or in the history. The
// reports that came after it wait for lookedUp, so that they stay in order.
func (l *laneActor) lookUp(q *request) {
	l.queue.lookingUp = true
	r, self, report := l.r, l.self, q.command.(lanes.Report)
	r.background.Go(func() {
		found := lanes.IsUnknown
		var given *lanes.Correlation
		for {
			if view := r.board.Session(report.Session); view != nil {
				found, given = lanes.IsKnown, view.Correlation
				break
			}
			ctx, cancel := context.WithTimeout(r.life, commit.FlushTimeout)
			ended, err := r.EndedSession(ctx, report.Session)
			cancel()
			if errors.Is(err, lanes.ErrSessionEnded) {
				found, given = lanes.IsKnown, ended.Session.Correlation
				break
			}
			if errors.Is(err, lanes.ErrSessionNotFound) {
				break
			}
			if !clock.Sleep(r.life, reportRetry) { // the store is down
				return
			}
		}
		r.tree.Send(self, &lookedUp{l, q, found, given})
	})
}

// lookedUp puts the report back in front, with what is known of its session.
func (l *laneActor) lookedUp(m *lookedUp) {
	if m.life != l {
		return // the controller sends it again
	}
	report := m.request.command.(lanes.Report)
	report.Elsewhere, report.Correlation = m.found, m.given
	m.request.command = report
	l.queue.putBack(m.request)
	l.queue.lookingUp = false
}
