package actors

import (
	"context"

	"rangegate/lanes"
)

// lookedUp is what became of a question about a session that is not on the lane.
type lookedUp struct {
	of        *laneActor
	ask       *ask
	elsewhere lanes.Known
}

// lookUp finds out whether the session of a late report is known: on another lane, or in the history. The reports that
// came after it wait, so that they stay in order.
func (l *laneActor) lookUp(a *ask) {
	l.resting = true
	of, self, report := l.of, l.self, a.command.(lanes.Report)
	of.errands.Go(func() {
		elsewhere := lanes.IsUnknown
		for {
			ctx, cancel := context.WithTimeout(of.background, flushTimeout)
			_, err := of.Session(ctx, report.Session)
			cancel()
			if err == nil || err == lanes.ErrSessionEnded {
				elsewhere = lanes.IsKnown
			}
			if elsewhere == lanes.IsKnown || err == lanes.ErrSessionNotFound {
				break
			}
			if !of.rest(reportRetry) { // the store is away
				return
			}
		}
		of.send(self, &lookedUp{l, a, elsewhere})
	})
}

// lookedUp takes the report up again, now that it is known.
func (l *laneActor) lookedUp(m *lookedUp) {
	if m.of != l {
		return // the controller tells it again
	}
	report := m.ask.command.(lanes.Report)
	report.Elsewhere = m.elsewhere
	m.ask.command = report
	l.reports = append([]*ask{m.ask}, l.reports...)
	l.resting = false
}
