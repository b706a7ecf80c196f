package crash

import (
	"slices"
	"time"
)

// phase is the phase of a session as GET /lanes/status names it, or ended.
type phase string

const (
	waiting phase = "waiting"
	running phase = "running"
	paused  phase = "paused"
	ended   phase = "ended"
)

// fact is an event of the session that the log has to have.
type fact struct {
	kind, lane string
	at         span
}

// session is what a client knows of a session that it sold, from its own requests and their answers. It is a
// value: after returns its state after a request, also after one of which it is unknown whether it happened.
type session struct {
	id, lane, group, customer string
	minutes                   int
	phase                     phase
	deadline                  span   // while it is running
	left                      span   // time left, in any other phase
	reason                    string // why it ended
	endedAt                   span
	facts                     []fact
	beganAt, createdAt        time.Time // as first shown; they never change
	worstError                time.Duration
	// givenBack is at most how much time is given back, as its line was locked while a slow store saved what opens it.
	givenBack time.Duration
}

// longestSave is how long a save of what opens a line may take that was not answered within a second.
const longestSave = 30 * time.Second

// slow is the session after such a request: it may have been saved long after.
func (s session) slow(r *request) session {
	if r.at.hi-r.at.lo > time.Second {
		s.givenBack = longestSave
	}
	return s
}

// sold is the session that the request has created.
func sold(r *request, id string) session {
	s := session{
		id: id, lane: r.lane, group: r.client.group(), customer: r.customer, minutes: r.minutes,
		phase: waiting, left: span{}.shift(time.Duration(r.minutes) * time.Minute),
	}
	s = s.slow(r)
	s = s.with("sessionCreated", r.at)
	if r.autoStart {
		return s.entered(r.at)
	}
	return s
}

// after is the session after the request.
func (s session) after(r *request) session {
	if r.kind != pause && r.kind != stop {
		s = s.slow(r)
	}
	switch r.kind {
	case modify:
		more := time.Duration(r.minutes) * time.Minute
		s.minutes += r.minutes
		s.left, s.deadline = s.left.shift(more), s.deadline.shift(more)
		return s.with("sessionModified", r.at)
	case move:
		s.lane = r.lane
		return s.with("sessionModified", r.at)
	case pause:
		s.phase, s.left = paused, s.deadline.minus(r.at)
		return s.with("sessionPaused", r.at)
	case resume:
		s.phase, s.deadline = running, s.left.plus(r.at)
		return s.with("sessionResumed", r.at)
	case stop:
		if s.phase == running {
			s.left = s.deadline.minus(r.at)
		}
		return s.finished("pos", r.at)
	}
	panic("no command on a session: " + r.kind)
}

// entered is the waiting session once its customer is on the lane.
func (s session) entered(at span) session {
	s.phase, s.deadline = running, s.left.plus(at)
	return s.with("sessionStarted", at)
}

// expired is the running session after its time was used up: it ended at its deadline, even if the gateway was down.
func (s session) expired() session {
	s.left = span{}
	return s.finished("expired", s.deadline)
}

func (s session) finished(reason string, at span) session {
	s.phase, s.reason, s.endedAt = ended, reason, at
	return s.with("sessionStopped", at)
}

func (s session) with(kind string, at span) session {
	s.facts = append(slices.Clip(s.facts), fact{kind, s.lane, at})
	return s
}

// timeLeft is what is left at that instant.
func (s session) timeLeft(at span) span {
	if s.phase == running {
		return s.deadline.minus(at)
	}
	return s.left
}

// settling is how long after its deadline a session may still be shown as active, with no time left: until its end is
// saved.
const settling = time.Second

// due tells whether the session may have expired at that instant, and whether it must have.
func (s session) due(at span) (possible, certain bool) {
	if s.phase != running {
		return false, false
	}
	return s.deadline.lo-tolerance <= at.hi, s.deadline.hi+s.givenBack+settling < at.lo
}
