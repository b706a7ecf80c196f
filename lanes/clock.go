package lanes

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// By is who asks.
type By string

// Who may ask: the POS, staff at the control screen, the shooter at the lane, the lane's own timer.
const (
	ByPOS   By = "pos"
	ByStaff By = "staff"
	ByLane  By = "lane"
	ByTimer By = "timer"
)

// Enter begins the time of a waiting session: the customer has entered the lane. A session whose start has come by then
// begins by that: its hardware may have begun it.
type Enter struct {
	Session uuid.UUID
	Age     time.Duration // how long ago; a session does not begin before it was created
}

// Name implements Command.
func (Enter) Name() string { return "enter" }

func (cmd Enter) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	if s.Phase != Waiting {
		return ErrNotWaiting
	}
	entered := s.ago(cmd.Age, now)
	if c.Lane.StartDue(entered) {
		s = c.beginByStart(s, entered, now)
	} else {
		s = c.enter(s, c.afterHold(entered), now)
	}
	c.setSession(s, now)
	return nil
}

// afterHold is when a session begins that would have at that instant: no time under a hold is used, and none before
// it for want of knowing.
func (c *Change) afterHold(began Instant) Instant {
	if released := c.Lane.Released; released != nil && began.Before(*released) {
		return *released
	}
	return began
}

// enter begins the session. Under a hold it begins now and is paused at once, with none of its time used.
func (c *Change) enter(s Session, entered, now Instant) Session {
	if c.Lane.Held {
		entered = now
	}
	s = s.begin(entered)
	c.endTurn(&s, entered)
	c.addEvent(SessionStarted, &s, c.Lane.ID, entered)
	return c.underHold(s, c.Lane, now)
}

// Pause stops a running session's clock until it is resumed. A session whose start has come may run on its hardware
// already: it begins first.
type Pause struct{ Session uuid.UUID }

// Name implements Command.
func (Pause) Name() string { return "pause" }

func (cmd Pause) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	if c.Lane.StartDue(now) {
		s = c.beginByStart(s, now, now)
	}
	switch {
	case s.InGrace():
		return ErrInGrace
	case s.Phase != Running:
		return ErrNotRunning
	}
	s = c.account(s, c.Lane.ID, now).pause(now, false)
	c.addEvent(SessionPaused, &s, c.Lane.ID, now)
	c.setSession(s, now)
	c.Closing = true
	return nil
}

// Resume starts a paused session's clock again. A hold refuses it.
type Resume struct{ Session uuid.UUID }

// Name implements Command.
func (Resume) Name() string { return "resume" }

func (cmd Resume) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	switch {
	case s.InGrace():
		return ErrInGrace
	case s.Phase != Paused:
		return ErrNotPaused
	case c.Lane.Held:
		return ErrCeasefire
	}
	s = s.resume(now)
	c.addEvent(SessionResumed, &s, c.Lane.ID, now)
	c.setSession(s, now)
	return nil
}

// Stop ends a session. One that is in its grace has ended at its deadline.
type Stop struct {
	Session uuid.UUID
	By      By
}

// Name implements Command.
func (Stop) Name() string { return "stop" }

func (cmd Stop) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	c.decision.By = cmd.By
	ended := now
	if s.InGrace() {
		ended = s.Since
	}
	c.end(s, ended, now, EndReason(cmd.By))
	c.Closing = true
	return nil
}

// Expire closes the fire line of a session whose time is used up, and ends it unless it has a grace; and it ends the
// session once that is over. It ended at its deadline, however late anyone noticed.
type Expire struct{}

// Name implements Command.
func (Expire) Name() string { return "expire" }

func (Expire) decide(now Instant, c *Change) error {
	if !c.Lane.Due(now) {
		return ErrNotRunning
	}
	c.decision.By = ByTimer
	c.Closing = true
	s := *c.Lane.Session
	if deadline, running := c.Lane.Deadline(); running {
		c.reachDeadline(s, deadline, now, 0, Expired)
	} else {
		c.end(s, s.Since, *s.StaysUntil, Expired)
	}
	return nil
}

// Advance lets a running session's clock jump ahead (the playground's simulate/advance), or its grace. Reaching the end
// of its time begins its grace, of which the rest of the jump passes, or ends it.
type Advance struct {
	Session uuid.UUID
	By      time.Duration // more than 0
}

// Name implements Command.
func (Advance) Name() string { return "advance" }

func (cmd Advance) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	switch {
	case s.InGrace():
		c.advanceGrace(s, now, cmd.By)
		return nil
	case s.Phase != Running:
		return ErrNotRunning
	}
	jump := min(cmd.By, s.RunsFor(now))
	left := max(0, s.Remaining(now)-jump)
	s.Advanced += jump
	if s.Remaining(now) > 0 {
		c.passWarnings(&s, now, left)
	}
	if left == 0 && s.mayOwe() > 0 && !s.GoneBeyond {
		s.GoneBeyond = true
		c.addEvent(SessionBeyond, &s, c.Lane.ID, now)
	}
	s.Left -= jump
	if s.RunsFor(now) > 0 {
		c.setSession(s, now)
		return nil
	}
	c.reachDeadline(s, now, now, cmd.By-jump, Simulated)
	return nil
}

// end puts the session on record, as it ended at that instant, and takes it off the lane. It leaves that later where it
// had a grace: what comes of a lane without a session counts from then on.
func (c *Change) end(s Session, at, leaves Instant, reason EndReason) {
	s = c.account(s, c.Lane.ID, at)
	beyond := s.Beyond(at)
	c.addEvent(SessionStopped, &s, c.Lane.ID, leaves)
	if s.HasOpenEnd() {
		c.Events[len(c.Events)-1].Beyond = &beyond
	}
	if s.InGrace() {
		s.Phase, s.StaysUntil = Running, nil // on record it is as any whose time was used up
	}
	ended := Ended{
		Lane: c.Lane.ID, At: at.Wall.UTC(), Reason: reason,
		Used: s.Used(at), Paused: s.PausedFor(at), Beyond: beyond.Used,
	}
	s.Left, s.Unproven = s.Remaining(at), nil
	s.Purchasing = s.Purchasing && c.Lane.Purchasing
	if s.Purchase.pending() {
		c.Lane.Open = append(slices.Clone(c.Lane.Open), s.Purchase)
	}
	s.Purchase = nil
	ended.Session = s
	c.Ended = &ended
	c.Lane.Session, c.Lane.Help = nil, nil
	c.Lane.beginTurn(&s, leaves)
	// Nobody has asked for the end, so that the customer may still be there.
	if reason == Expired || reason == Simulated {
		c.Lane.Uncleared = &Uncleared{Session: s.ID, Since: leaves}
	}
	c.Answer = ended.View()
}
