package lanes

import (
	"time"
)

// HelpCall is a customer on the lane who asked for help and has not had it. Staff see it; so does the
// customer that they are coming.
type HelpCall struct {
	At     time.Time `json:"at"`
	Coming bool      `json:"coming,omitempty"`
}

// CallHelp is the customer asking for help at the lane screen. With a session on the lane it is a fact about
// that. While the call is up, asking again is the same call.
type CallHelp struct{}

// Name implements Command.
func (CallHelp) Name() string { return "call_help" }

func (CallHelp) decide(now Instant, c *Change) error {
	if c.Lane.Help != nil && !c.Lane.Help.Coming {
		c.Answer = c.Lane.View(now)
		return nil
	}
	if c.Lane.Session != nil {
		s := *c.Lane.Session
		c.addEvent(Help, &s, c.Lane.ID, now)
		c.setSession(s, now)
	}
	c.raiseHelp(now)
	return nil
}

// raiseHelp raises the help call. One that is up stays as it is; one that staff are coming for is up again.
func (c *Change) raiseHelp(at Instant) {
	if c.Lane.Help == nil || c.Lane.Help.Coming {
		c.Lane.Help = &HelpCall{At: at.Wall}
	}
}

// isOf reports whether it is the call of that time. Without a time it is.
func (h *HelpCall) isOf(at time.Time) bool { return h != nil && isAt(h.At, at) }

// isAt reports whether something happened at the time that staff know of it, to the millisecond. Without a time it did.
func isAt(happened, known time.Time) bool {
	return known.IsZero() || happened.Truncate(time.Millisecond).Equal(known)
}

// HelpComing tells the customer that staff are on their way. Of another call than the one that was made at Called,
// nothing changes: nobody has seen that one.
type HelpComing struct{ Called time.Time }

// Name implements Command.
func (HelpComing) Name() string { return "help_coming" }

func (cmd HelpComing) decide(_ Instant, c *Change) error {
	if c.Lane.Help.isOf(cmd.Called) && !c.Lane.Help.Coming {
		c.Lane.Help = &HelpCall{At: c.Lane.Help.At, Coming: true}
	}
	return nil
}

// HelpDone ends the call. Called is as in HelpComing.
type HelpDone struct{ Called time.Time }

// Name implements Command.
func (HelpDone) Name() string { return "help_done" }

func (cmd HelpDone) decide(_ Instant, c *Change) error {
	if c.Lane.Help.isOf(cmd.Called) {
		c.Lane.Help = nil
	}
	return nil
}

// noteStrayHit records when a carrier was last hit without a session to charge for it, for staff.
func (c *Change) noteStrayHit(at Instant) {
	if c.Lane.Stray == nil || !c.Lane.Stray.Equal(at.Wall) {
		c.Lane.Stray = &at.Wall
	}
}

// HitNoted records that staff have seen that a carrier was hit without a session. Of another hit than the one at Hit,
// nothing changes; zero: whichever it was.
type HitNoted struct{ Hit time.Time }

// Name implements Command.
func (HitNoted) Name() string { return "hit_noted" }

func (cmd HitNoted) decide(_ Instant, c *Change) error {
	if hit := c.Lane.Stray; hit != nil && isAt(*hit, cmd.Hit) {
		c.Lane.Stray = nil
	}
	return nil
}
