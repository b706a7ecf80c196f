package lanes

import "time"

// Command is something asked of a lane. Its types are in sell.go, offer.go, clock.go, warning.go, holds.go, move.go,
// buy.go, call.go, clearing.go, reservation.go, reopen.go, downtime.go, turn.go, start.go, openend.go, openedlate.go
// and report.go.
type Command interface {
	// Name is the word for it in logs and counts.
	Name() string
	decide(now Instant, c *Change) error
}

// Decide returns what the command changes at now, or an *Error that refuses it. A lane whose session is due
// takes only Expire, and OpenedLate, after which its session may be due no more. It returns ErrDue for all else: its
// actor lets the session expire first.
func (l Lane) Decide(now Instant, command Command) (Change, error) {
	switch command.(type) {
	case Expire, OpenedLate:
	default:
		if l.Due(now) {
			return Change{}, ErrDue
		}
	}
	l = l.unproven()
	c := Change{Lane: l, decided: now, decision: Decision{Command: command.Name(), Held: l.Held}}
	if l.Session != nil {
		c.decision.Passed = now.Since(l.Session.Since)
		if unproven := l.Session.Unproven; unproven != nil {
			c.decision.Unproven = new(unproven.Since(l.Session.Since))
		}
	}
	if end, found := l.GraceEnd(); found {
		c.decision.InGrace = end.Since(l.Session.Since)
	}
	if err := command.decide(now, &c); err != nil {
		return Change{}, err
	}
	c.Lane.countTurn(now)
	if c.Other != nil {
		c.Other.countTurn(now)
	}
	if len(c.Events) > 0 {
		decision := c.decision
		c.Events[0].Decision = &decision
	}
	return c, nil
}

// Decision is what an event follows from: what was asked, by whom, when, and what of the lane it depended on that
// no earlier event of the session tells. With those before it, it is enough to decide the command again: package
// lanes/replay does.
//
// Two clocks say when. The event's At, Late and Stepped give the wall clock. Passed gives the monotonic one, from the
// instant at which the session's clock last started or stopped: that is what all times are computed from, and it
// stays right when another boot of the machine, or another machine, has gone on with the session.
type Decision struct {
	Command string        `json:"command"`             // its Name
	By      By            `json:"by,omitempty"`        // who asked
	Passed  time.Duration `json:"passed_ns,omitempty"` // from Session.Since to the decision
	Late    time.Duration `json:"late_ns,omitempty"`   // from the event's At to the decision
	// by how much the wall clock was set, or has drifted, from At to the decision
	Stepped time.Duration `json:"stepped_ns,omitempty"`
	// a hold lay over the lane; of a move, over the one that it goes to
	Held     bool          `json:"held,omitempty"`
	Minutes  int           `json:"minutes,omitempty"`     // that were sold, or with a minus taken away
	Phase    Phase         `json:"phase,omitempty"`       // that a session was created in
	ByHand   bool          `json:"by_hand,omitempty"`     // it was created paused, and no hold's end resumes it
	Advanced time.Duration `json:"advanced_ns,omitempty"` // Session.Advanced when it was decided

	Told []time.Duration `json:"told_ns,omitempty"` // the times left that were told
	// Terms.TellsExpired of the lane, where the time was used up
	TellsExpired bool `json:"tells_expired,omitempty"`
	// The grace of a session, from its deadline on: that which it got where its time was used up, and that in which
	// it was.
	Grace   time.Duration `json:"grace_ns,omitempty"`
	InGrace time.Duration `json:"in_grace_ns,omitempty"`
	// Of a session with an open end: that itself, where it was created; and from when on nobody could prove that its
	// line was open, counted as Passed is, nil: that was known.
	OpenEnd   time.Duration  `json:"open_end_ns,omitempty"`
	Unproven  *time.Duration `json:"unproven_ns,omitempty"`
	Uncharged time.Duration  `json:"uncharged_ns,omitempty"` // Session.Uncharged when it was decided
}

// MadeAt returns when the decision was made, by the wall clock: at is the time of the event that follows from it.
func (d Decision) MadeAt(at time.Time) time.Time { return at.Add(d.Late + d.Stepped) }

// AskedBy puts on record who asked for the change, unless the command has said so.
func (c Change) AskedBy(by By) {
	if len(c.Events) > 0 && c.Events[0].Decision.By == "" {
		c.Events[0].Decision.By = by
	}
}
