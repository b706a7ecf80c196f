package lanes

import (
	"time"
)

// A session whose deadline is behind it is off the lane, unless it has a grace: then it stays there, with its fire line
// closed and none of its time left, until the grace is over or minutes are added. Those count from then on: no minute
// is gained or lost by the grace. Session.StaysUntil says that the deadline is behind, and for how long the session
// stays.
//
//	deadline ──► in grace: Paused, with nothing left ──► ended, with the deadline as its end
//	                     │
//	                     └── minutes are added ──► running from now on; paused by the hold where there is one

// endGrace is the session from now on, as it runs again. What is added to it is not in it yet.
func (s Session) endGrace(now Instant) Session {
	s = s.resume(now)
	s.StaysUntil = nil
	return s
}

// GraceEnd is when the grace of the session on the lane is over. There is none outside a grace.
func (l Lane) GraceEnd() (at Instant, found bool) {
	if l.Session == nil || !l.Session.InGrace() {
		return at, false
	}
	return *l.Session.StaysUntil, true
}

// GraceLeft returns how long the session on the lane is in its grace from now on, in milliseconds, as screens show it;
// nil outside a grace.
func (l Lane) GraceLeft(now Instant) *int64 {
	end, found := l.GraceEnd()
	if !found {
		return nil
	}
	left := max(0, end.Since(now)).Milliseconds()
	return &left
}

// graceOf is how long the session stays on the lane once its time is used up, by what was sold and what the range has
// at that moment; 0: it does not. An open end excludes it.
func (l Lane) graceOf(s Session) time.Duration {
	if !s.HasOpenEnd() && (s.Grace || l.GraceForAll) {
		return l.Grace
	}
	return 0
}

// reachDeadline is what follows of the end of a session's time, at the deadline: it is in its grace, or ends. Of the
// grace so much has passed already.
func (c *Change) reachDeadline(s Session, deadline, now Instant, passed time.Duration, reason EndReason) {
	s = c.tellBeyond(s, c.Lane.ID, deadline)
	grace := max(0, c.Lane.graceOf(s)-passed)
	until := deadline.Add(grace)
	stays := now.Before(until)
	c.decision.Grace = grace
	if c.Lane.TellsExpired {
		c.decision.TellsExpired = true
		c.addEvent(SessionExpired, &s, c.Lane.ID, deadline)
		if stays {
			c.Events[len(c.Events)-1].GraceEndsAt = new(until.Wall.UTC())
		}
	}
	if !stays {
		c.end(s, deadline, until, reason)
		return
	}
	s = s.pause(deadline, false)
	s.StaysUntil = &until
	c.setSession(s, now)
}

// advanceGrace lets so much of the session's grace pass. Reaching its end ends the session.
func (c *Change) advanceGrace(s Session, now Instant, by time.Duration) {
	until := s.StaysUntil.Add(-by)
	if !now.Before(until) {
		c.end(s, s.Since, now, Simulated)
		return
	}
	s.StaysUntil = &until
	c.setSession(s, now)
}
