package lanes

import (
	"time"

	"github.com/google/uuid"
)

// What opens a line counts from when it was decided, and its hardware learns of it once it is saved. While the store
// hangs that may take long. The line is locked meanwhile, and its session is not charged for that.

// OpenedLate gives a session the time back that was counted while its line was still locked. What it comes to, no event
// tells: the Decision of the next one has it, as Uncharged.
type OpenedLate struct {
	Session uuid.UUID
	Locked  time.Duration // more than 0
}

// Name implements Command.
func (OpenedLate) Name() string { return "opened_late" }

func (cmd OpenedLate) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	switch {
	case err != nil:
		return err
	case s.Phase != Running:
		return ErrNotRunning
	}
	s.Left += cmd.Locked
	s.Uncharged += cmd.Locked
	c.setSession(s, now)
	return nil
}

// OpenUntil returns until when the lane keeps its line open for the session, from an instant on: that instant itself,
// unless the time of the session runs there.
func (l Lane) OpenUntil(session uuid.UUID, from Instant) Instant {
	deadline, running := l.Deadline()
	if !running || l.Session.ID != session || deadline.Before(from) {
		return from
	}
	return deadline
}

// LockedFor returns for how long, from one instant to another, the session's time is counted on the lane although its
// line is locked. That may be more than the session has left. It is 0 where its time does not run, where it was used up
// before, and where only the hardware can prove that its line was open.
func (l Lane) LockedFor(from, to Instant) time.Duration {
	l = l.unproven()
	deadline, running := l.Deadline()
	if !running || l.Held || l.Session.Unproven != nil {
		return 0
	}
	if from.Before(l.Session.Since) {
		from = l.Session.Since
	}
	if !from.Before(deadline) {
		return 0
	}
	return max(0, to.Since(from))
}
