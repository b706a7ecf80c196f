package simulation

import (
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link/sim"
)

// unseen bounds what may be charged of a session beyond what its lines were open: states are under way for a while, and
// a lost link is noticed late.
const unseen = 15 * time.Second

// judgeOpenEnd checks what is saved of a session with an open end: what is settled never becomes less, and nobody gets
// more than the bound. mu is held.
func (j *judge) judgeOpenEnd(s lanes.Session) {
	if !s.HasOpenEnd() {
		return
	}
	if s.Settled < j.settled[s.ID] {
		j.world.fail("of %s %v were settled, and now %v are", brief(&s), j.settled[s.ID], s.Settled)
	}
	j.settled[s.ID] = s.Settled
	if used := s.Sold - s.Left; used > max(s.Sold, s.OpenEnd) {
		j.world.fail("%s has used %v, and may use %v", brief(&s), used, max(s.Sold, s.OpenEnd))
	}
}

// judgeReceipt checks the record of the end of such a session: what is charged beyond what was sold, its lines were
// open for. mu is held.
func (j *judge) judgeReceipt(e lanes.Ended) {
	s := e.Session
	if !s.HasOpenEnd() {
		if e.Beyond != 0 || s.Settled != 0 {
			j.world.fail("session %s has no open end, and is charged %v beyond", s.ID, e.Beyond)
		}
		return
	}
	l := j.lane(e.Lane)
	j.openedUntil(l, time.Now())
	owed := e.Beyond - s.Settled
	switch {
	case owed < 0 || e.Used+owed > max(s.Sold, s.OpenEnd):
		j.world.fail("session %s ended with %v used and %v owed, and may use %v", s.ID, e.Used, owed,
			max(s.Sold, s.OpenEnd))
	case e.Beyond > j.open[s.ID]+unseen:
		j.world.fail("session %s is charged %v beyond, and its lines were open for %v", s.ID, e.Beyond, j.open[s.ID])
	}
	if e.Beyond > 0 {
		j.figures["open ends"]++
	}
	if s.Settled > 0 {
		j.figures["open ends with time settled"]++
	}
}

// lineShown notes that a controller has put another state in force. mu is held.
func (j *judge) lineShown(l *laneRecord, shown sim.Shown) {
	j.openedUntil(l, time.Now())
	l.line = shown
}

// openedUntil counts for how long the line was open beyond what was sold, as far as its controller has not locked it
// unnoticed. mu is held.
func (j *judge) openedUntil(l *laneRecord, now time.Time) {
	if l.line.Open {
		beyond := now.Sub(l.since) - l.line.Remaining
		j.open[l.line.Session] += max(0, min(beyond, l.line.Beyond))
		l.line.Beyond -= max(0, min(beyond, l.line.Beyond))
		l.line.Remaining = max(0, l.line.Remaining-now.Sub(l.since))
	}
	l.since = now
}
