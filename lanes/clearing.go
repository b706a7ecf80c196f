package lanes

import (
	"time"

	"github.com/google/uuid"
)

// Uncleared is a lane whose session's time is up, and of which nobody has said that it was left and is clear.
type Uncleared struct {
	Session uuid.UUID `json:"session_id"` // that ended
	Since   Instant   `json:"since"`      // its end
}

// ToClear returns how long it takes from now until the lane counts as clear without anybody's word; 0 when it is clear.
func (l Lane) ToClear(now Instant) time.Duration {
	if l.Uncleared == nil {
		return 0
	}
	return max(0, l.ClearAfter-now.Since(l.Uncleared.Since))
}

// awaitsClearing reports whether the POS has to wait with a sale until the lane is clear.
func (l Lane) awaitsClearing(now Instant) bool { return l.ClearFirst && l.ToClear(now) > 0 }

// Cleared is staff saying that the lane is clear. Of another session's customers than those of Session nothing changes:
// nobody has seen those leave. uuid.Nil: whichever it was.
type Cleared struct{ Session uuid.UUID }

// Name implements Command.
func (Cleared) Name() string { return "cleared" }

func (cmd Cleared) decide(_ Instant, c *Change) error {
	if last := c.Lane.Uncleared; last != nil && (cmd.Session == uuid.Nil || cmd.Session == last.Session) {
		c.Lane.Uncleared = nil
	}
	return nil
}

// reportCleared is the controller saying that the lane is clear. What it says of an earlier session, or of a
// time before the end of the last one, is not about those who are to leave now.
func (c *Change) reportCleared(r Report, now Instant) {
	last := c.Lane.Uncleared
	switch {
	case last == nil:
	case r.Session != uuid.Nil && r.Session != last.Session:
		c.Note = "not about the session on this lane"
	case now.Add(-max(0, r.Age)).Before(last.Since):
		c.Note = "the lane was left before the end of its session"
	default:
		c.Lane.Uncleared = nil
	}
}
