package lanes

import (
	"time"

	"github.com/google/uuid"
)

// makeUpAfter is the shortest downtime after which staff decide about the time that ran meanwhile.
const makeUpAfter = time.Minute

// Down returns how long the range has not been running at now, since its last checkpoint. It is 0 for a range
// that never ran.
func (c Checkpoint) Down(now Checkpoint) time.Duration {
	if c.Boot == "" {
		return 0
	}
	return now.Since(c)
}

// RanOn returns the lane after the gateway was down for so long. Its controller kept a running session going,
// unseen by the gateway: staff decide how much of that is made up for.
func (l Lane) RanOn(down time.Duration, now Instant) Lane {
	s := l.Session
	if down <= makeUpAfter || s == nil || s.Phase != Running || s.Remaining(now) == 0 {
		return l
	}
	ran := *s
	ran.RanOn += min(down, now.Since(s.Since))
	l.Session = &ran
	return l
}

// ToMakeUp returns the minutes, rounded up, that staff may give for the time that ran while the gateway was down.
func (s Session) ToMakeUp() int { return int((s.RanOn + time.Minute - 1) / time.Minute) }

// MakeUp settles the time that ran while the gateway was down: its minutes, rounded up, are added, or nothing
// is. What is settled stays so.
type MakeUp struct {
	Session uuid.UUID
	Give    bool
}

// Name implements Command.
func (MakeUp) Name() string { return "make_up" }

func (cmd MakeUp) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	if s.RanOn == 0 {
		c.Answer = c.Lane.View(now)
		return nil
	}
	minutes := s.ToMakeUp()
	s.RanOn = 0
	if !cmd.Give {
		c.setSession(s, now)
		return nil
	}
	return c.sell(s, now, minutes)
}
