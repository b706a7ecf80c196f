package actors

import (
	"errors"
	"slices"

	"rangegate/lanes"
)

// maxReports of a controller wait for the store. It keeps those beyond them: they are not heard, and not acked.
const maxReports = 256

var errUnheard = errors.New("reports were not heard while the store was away; the controller is asked to tell them again")

// hear puts a report in the queue. Once one did not fit none behind it may come in: a later one would make the controller
// forget it. States go to the hardware all the while.
func (l *laneActor) hear(a *ask) {
	_, report := a.command.(lanes.Report)
	switch {
	case slices.ContainsFunc(l.reports, a.repeats):
	case report && (l.deaf || len(l.reports) >= maxReports):
		if !l.deaf {
			l.deaf = true
			l.of.log.Warn().Stringer("lane", l.id).Int("waiting", len(l.reports)).
				Msg("too many reports of the lane wait for the store: its controller keeps the rest")
		}
	default:
		l.reports = append(l.reports, a)
	}
}

// hearAgain has the controller tell what was not heard, once all that waited is saved.
func (l *laneActor) hearAgain() {
	if l.deaf && len(l.reports) == 0 {
		l.deaf = false
		l.link.hangUp(errUnheard)
	}
}
