package lanes

import (
	"time"

	"github.com/google/uuid"
)

// mindedFrom is how long the gateway must have been down for staff to be asked what becomes of the time that ran.
const mindedFrom = time.Minute

// Down is how long the range has not been running at now: since its last checkpoint, as far as the clocks tell.
func (c Checkpoint) Down(now Instant, boot string) time.Duration {
	switch {
	case c.Boot == "": // it never has
		return 0
	case c.Boot == boot:
		return max(0, now.Since(c.At))
	}
	return max(0, now.Wall.Sub(c.At.Wall))
}

// RanOn is the lane after the gateway was down for so long. A running session went on without it, on the word of the
// controller alone: how much of that is to be made up for is for staff to say.
func (l Lane) RanOn(down time.Duration, now Instant) Lane {
	s := l.Session
	if down <= mindedFrom || s == nil || s.Phase != Running || s.Remaining(now) == 0 {
		return l
	}
	ran := *s
	ran.RanOn += min(down, now.Since(s.Since))
	l.Session = &ran
	return l
}

// ToMakeUp is the minutes that staff may give for the time that ran while the gateway was down.
func (s Session) ToMakeUp() int { return int((s.RanOn + time.Minute - 1) / time.Minute) }

// MakeUp settles the time that ran while the gateway was down: its minutes, rounded up, are added, or nothing is. What is
// settled stays so.
type MakeUp struct {
	Session uuid.UUID
	Give    bool
}

func (MakeUp) Name() string { return "make_up" }

func (cmd MakeUp) decide(now Instant, c *Change) error {
	s, err := c.on(cmd.Session)
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
		c.stands(s, now)
		return nil
	}
	return c.sell(s, now, minutes)
}
