package lanes

import (
	"slices"
	"time"
)

// MaxWarnings is how often a session is warned at most before its time is used up.
const MaxWarnings = 5

// Ending is what a SessionEnding says of its session, true when it was made: a warning that comes late says how
// much is left by then.
type Ending struct {
	Remaining time.Duration `json:"remaining_ns"`
	EndsAt    time.Time     `json:"ends_at"` // in UTC, by what was known then: a pause or more time moves it
}

// WarnAt are the times left at which the session on the lane is warned, in no order. The lane has to have a session.
func (l Lane) WarnAt() []time.Duration {
	if own := l.Session.WarnAt; own != nil {
		return own
	}
	return l.Warnings
}

// When screens mark a session that is not warned: it ends soon, and in a moment.
const (
	SoonLeft = 5 * time.Minute
	LastLeft = time.Minute
)

// Marks returns the times left from which screens mark the session on the lane, as it ends soon and then in a moment:
// its first warning and its last one. Warnings that it was sold too short for do not count. The lane has to have a
// session.
func (l Lane) Marks() (soon, last time.Duration) {
	own := slices.DeleteFunc(slices.Clone(l.WarnAt()), func(at time.Duration) bool { return at >= l.Session.Sold })
	if len(own) == 0 {
		return SoonLeft, LastLeft
	}
	soon, last = slices.Max(own), slices.Min(own)
	if soon == last {
		last = min(last, LastLeft)
	}
	return soon, last
}

// warned is the time left down to which the session has been warned, or needs no warning: where so much was never left.
func (s Session) warned() time.Duration {
	if s.Told == 0 {
		return s.Sold
	}
	return s.Told
}

// untold returns the times left, longest first, that have been reached when so much remains, and were not told.
func (l Lane) untold(remaining time.Duration) (due []time.Duration) {
	for _, at := range l.WarnAt() {
		if remaining <= at && at < l.Session.warned() {
			due = append(due, at)
		}
	}
	slices.Sort(due)
	slices.Reverse(due)
	return due
}

// NextWarning is when the session is warned next; in the past, a warning is due. There is none while its time does
// not run, and beyond what was sold.
func (l Lane) NextWarning() (at Instant, found bool) {
	if l.Session == nil || l.Session.Phase != Running || l.Session.GoneBeyond {
		return at, false
	}
	longest := time.Duration(0)
	for _, left := range l.WarnAt() {
		if left < l.Session.warned() {
			longest = max(longest, left)
		}
	}
	return l.Session.Since.Add(l.Session.Left - longest), longest > 0
}

// WarningDue reports whether the session has to be warned at now.
func (l Lane) WarningDue(now Instant) bool {
	at, found := l.NextWarning()
	return found && !now.Before(at) && !l.Due(now) && l.Session.Remaining(now) > 0
}

// Warn tells that a session's time will soon be used up, once for each time left that is to be told. Where several
// were reached while nobody was there to tell, it is told once.
type Warn struct{}

// Name implements Command.
func (Warn) Name() string { return "warn" }

func (Warn) decide(now Instant, c *Change) error {
	if !c.Lane.WarningDue(now) {
		return ErrNotRunning
	}
	s := *c.Lane.Session
	due := c.Lane.untold(s.Remaining(now))
	s.Told = due[len(due)-1]
	c.decision.By, c.decision.Told = ByTimer, due
	c.addEnding(&s, now, s.Remaining(now))
	c.setSession(s, now)
	return nil
}

// addEnding adds the warning that so much is left at now.
func (c *Change) addEnding(s *Session, now Instant, remaining time.Duration) {
	c.addEvent(SessionEnding, s, c.Lane.ID, now)
	c.Events[len(c.Events)-1].Ending = &Ending{Remaining: remaining, EndsAt: now.Wall.Add(remaining).UTC()}
}

// passWarnings adds a warning for each time left that a jump of the clock passes, down to what remains behind it.
func (c *Change) passWarnings(s *Session, now Instant, remaining time.Duration) {
	due := c.Lane.untold(remaining)
	c.decision.Told = due
	for _, left := range due {
		s.Told = left
		c.addEnding(s, now, left)
	}
}
