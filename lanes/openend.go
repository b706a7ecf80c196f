package lanes

import (
	"time"

	"github.com/google/uuid"
)

// A session with an open end goes on when its sold minutes are used up, until it is stopped or its bound is reached:
// the customer pays afterwards. What is used beyond the sold minutes stands apart from them:
//
//	sold 60, up to 120      ├──── used + left = sold ────┤──── beyond ────┤ 120: the bound, where it expires
//	                                                     └ sessionBeyond
//
// Time that is owed is beyond and not settled. Minutes that are added, or bought, settle what is owed first: with 25
// minutes owed, 30 more leave 5. So what was used beyond never becomes less, nor does what of it was settled. The sums
// are in session.go.
//
// Time that nobody can prove is not charged. While the lane's hardware is not reached, what is owed stands still; the
// bound does not, since the line may be open. When the hardware is back, it says how long it would still stay open by
// itself: by that the time in between counts after all, or does not and is given back to the bound. What it says may
// have to wait for the store; what stops the clock by then, or sells more, knows it nevertheless: see account.
//
// An open end excludes a grace: the line closes at the bound, and the session ends.

// Beyond is the time that a session has used beyond what was sold.
type Beyond struct {
	Used    time.Duration `json:"used_ns"`    // never becomes less
	Settled time.Duration `json:"settled_ns"` // of that, by minutes that were added or bought later
}

// Owed is what is not settled.
func (b Beyond) Owed() time.Duration { return b.Used - b.Settled }

// NextBeyond is when the sold minutes are used up of a session that goes on; in the past, that is to be told. There is
// none while its time does not run, and once it was told.
func (l Lane) NextBeyond() (at Instant, found bool) {
	s := l.Session
	if s == nil || s.Phase != Running || s.GoneBeyond || s.mayOwe() == 0 {
		return at, false
	}
	return s.Since.Add(s.Left), true
}

// BeyondDue reports whether it has to be told at now that the sold minutes are used up and the session goes on.
func (l Lane) BeyondDue(now Instant) bool {
	at, found := l.NextBeyond()
	return found && !now.Before(at) && !l.Due(now)
}

// GoBeyond tells that the sold minutes are used up and the session goes on. Whatever stops its clock, or sells it more,
// tells it before: see account.
type GoBeyond struct{}

// Name implements Command.
func (GoBeyond) Name() string { return "go_beyond" }

func (GoBeyond) decide(now Instant, c *Change) error {
	if !c.Lane.BeyondDue(now) {
		return ErrNotRunning
	}
	c.decision.By = ByTimer
	c.setSession(c.tellBeyond(*c.Lane.Session, c.Lane.ID, now), now)
	return nil
}

// tellBeyond adds the event that the session has gone beyond what was sold, if it has by now and that was not told.
func (c *Change) tellBeyond(s Session, lane uuid.UUID, now Instant) Session {
	at := s.Since.Add(s.Left)
	if s.Phase != Running || s.GoneBeyond || s.mayOwe() == 0 || now.Before(at) {
		return s
	}
	s.GoneBeyond = true
	c.addEvent(SessionBeyond, &s, lane, at)
	return s
}

// account is done before the session's clock stops, or more is sold to it. It tells that the session has gone beyond
// what was sold, and counts what the hardware has said and is not saved yet: what is not proven by that is the time
// before now. The command that has the proof is saved later, and finds nothing more to count.
func (c *Change) account(s Session, lane uuid.UUID, now Instant) Session {
	s = c.tellBeyond(s, lane, now)
	if s.Phase != Running || s.Unproven == nil || len(c.Lane.Heard) == 0 {
		return s
	}
	counts := s
	for _, heard := range c.Lane.Heard {
		if !now.Before(heard.At) {
			counts = counts.proven(heard.Proof, heard.At)
			counts.Unproven = heard.Lost
		}
	}
	since := now.Add(s.counted(now) - counts.balance(now))
	s.Unproven = &since
	c.decision.Unproven = new(since.Since(c.Lane.Session.Since))
	return s
}

// provesWithin is by how much the time that the hardware has left may differ from ours for its line to have been open
// all the time.
const provesWithin = time.Second

// Proof is what the hardware says of its fire line when its link comes up.
type Proof struct {
	OpenEnd bool // it keeps a line open beyond what was sold
	Session uuid.UUID
	Open    bool          // not held, and the session's time runs
	RunsFor time.Duration // until it locks by itself
}

// Arrived is the Proof of Arrive: the line was closed until then.
var Arrived = Proof{OpenEnd: true}

// Heard is a Proof that is not saved yet.
type Heard struct {
	At    Instant
	Proof Proof
	Lost  *Instant // when the link was lost after it; nil: it was not
}

// prove counts the time in which the hardware was not reached as far as it proves that the line was open, and gives the
// rest back. What it comes to, no event tells: the Decision of the next one has it.
func (c *Change) prove(proof Proof, now Instant) {
	if c.Lane.Session == nil || c.Lane.Session.Unproven == nil {
		return
	}
	s := c.tellBeyond(*c.Lane.Session, c.Lane.ID, now)
	proven := s.proven(proof, now)
	if proven.Unproven == s.Unproven && len(c.Events) == 0 {
		return
	}
	c.setSession(proven, now)
}

// proven is the session after its hardware has said that.
func (s Session) proven(proof Proof, now Instant) Session {
	closed := s.balance(now) - s.counted(now) // of what is not counted yet
	if proof.OpenEnd && proof.Open && proof.Session == s.ID {
		stoodStill := proof.RunsFor - s.RunsFor(now)
		if stoodStill <= provesWithin {
			stoodStill = 0
		}
		closed = min(closed, stoodStill)
	}
	s.Left += closed
	s.Uncharged += closed
	if proof.OpenEnd {
		s.Unproven = nil
	} else if closed > 0 {
		s.Unproven = &now
	}
	return s
}

// LinkLost puts on record since when the lane's hardware is not reached, which Lane.Unproven says. Every command does
// that; this one does nothing else.
type LinkLost struct{}

// Name implements Command.
func (LinkLost) Name() string { return "link_lost" }

func (LinkLost) decide(Instant, *Change) error { return nil }

// unproven returns the lane with a session that says since when it cannot be proven that the line is open, where it has
// an open end.
func (l Lane) unproven() Lane {
	if s := l.Session; s != nil && s.HasOpenEnd() && s.Unproven == nil && l.Unproven != nil {
		marked := *s
		marked.Unproven = l.Unproven
		l.Session = &marked
	}
	return l
}

// UnprovenSince returns the lane when nobody can prove since then that its line was open; nil: it is left as it is.
func (l Lane) UnprovenSince(since *Instant) Lane {
	if since == nil {
		return l
	}
	l.Unproven = since
	return l.unproven()
}

// Unseen returns the lane after the gateway was down for so long: nobody saw since then whether its line was open.
func (l Lane) Unseen(down time.Duration, now Instant) Lane {
	since := now.Add(-down)
	return l.UnprovenSince(&since)
}
