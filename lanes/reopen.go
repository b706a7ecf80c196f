package lanes

import (
	"time"

	"github.com/google/uuid"
)

// ReopenWithin is how long after its end staff may go on with a session.
const ReopenWithin = 10 * time.Minute

// Reopen goes on with a session that has ended, on a free lane, with the minutes that it had left, rounded
// up. It is a session of its own: each has one end, which the POS was told of. It is paused if the other one
// was when it ended, and a hold's end does not resume it then. What staff have to make up for goes along.
type Reopen struct{ Ended Ended }

// Name implements Command.
func (Reopen) Name() string { return "reopen" }

// ReopenedAs is the id of the session that goes on with that one: whoever asks twice gets no second one.
func ReopenedAs(session uuid.UUID) uuid.UUID { return uuid.NewSHA1(session, []byte("reopened")) }

// Possible reports whether the session has time left and ended not too long ago.
func (cmd Reopen) Possible(now Instant) bool {
	return cmd.Ended.Session.Left > 0 && now.Wall.Sub(cmd.Ended.At) <= ReopenWithin
}

func (cmd Reopen) decide(now Instant, c *Change) error {
	if !cmd.Possible(now) {
		return ErrNotReopenable
	}
	was := cmd.Ended.Session
	begun := was.Began != nil
	if turn := c.Lane.Turn; turn != nil && turn.After == was.ID {
		c.Lane.Turn = nil // the same customer goes on
	}
	create := Create{
		Session: ReopenedAs(was.ID), Group: was.Group, Customer: was.Customer,
		Minutes:    int((was.Left + time.Minute - 1) / time.Minute),
		Purchasing: was.Purchasing, AutoStart: begun, ByStaff: true, AfterClosing: true, WarnAt: was.WarnAt,
		Grace:       was.Grace,
		Correlation: was.Correlation,
	}
	more := was.OpenEnd - cmd.Ended.Used
	if open := min(MaxMinutes, int((more+time.Minute-1)/time.Minute)); open > create.Minutes {
		create.OpenEnd = open
	}
	if err := create.decide(now, c); err != nil {
		return err
	}
	s := *c.Lane.Session
	s.RanOn = was.RanOn
	s.GoesOnWith = append([]uuid.UUID{was.ID}, was.GoesOnWith[:min(len(was.GoesOnWith), maxEarlier-1)]...)
	if was.Phase == Paused && !was.ByHold && s.Phase != Waiting {
		if s.Phase == Running {
			s = s.pause(now, false)
			c.addEvent(SessionPaused, &s, c.Lane.ID, now)
		}
		s.ByHold = false
		c.decision.Phase, c.decision.ByHand = s.Phase, true
	}
	c.setSession(s, now)
	return nil
}
