package lanes

import (
	"time"

	"github.com/google/uuid"
)

// Start is an instant at which sessions begin together: that of a relay. A session keeps the start that it was
// given, also once it has begun.
type Start struct {
	ID uuid.UUID `json:"start_id"`
	At Instant   `json:"at"`
}

// MaxStartAhead is how far ahead a start may be scheduled.
const MaxStartAhead = 24 * time.Hour

// beginsLateAfter is how late a start may be noticed that still counts as in time. A session whose start is noticed
// later, since its hardware or the gateway was away, begins when it is noticed: its customer had no time before.
const beginsLateAfter = time.Second

// NextStart is when the session on the lane begins by its start; in the past, it is due. There is none once the
// session has begun.
func (l Lane) NextStart() (at Instant, found bool) {
	if l.Session == nil || l.Session.Phase != Waiting || l.Session.Start == nil {
		return at, false
	}
	return l.Session.Start.At, true
}

// UntilStart returns how long it is at now until the session begins by its start, in milliseconds, as screens show it:
// 0 once that has come, nil without one.
func (l Lane) UntilStart(now Instant) *int64 {
	at, found := l.NextStart()
	if !found {
		return nil
	}
	until := max(0, at.Since(now)).Milliseconds()
	return &until
}

// StartDue reports whether the session has to begin at now, by its start.
func (l Lane) StartDue(now Instant) bool {
	at, found := l.NextStart()
	return found && !now.Before(at)
}

// Schedule gives a waiting session a start. The same start again changes nothing. It is refused with a
// StartAfterClosing where the session would end after closing.
type Schedule struct {
	Session uuid.UUID
	Start   Start
	// AfterClosing schedules it nevertheless, as staff have decided.
	AfterClosing bool
}

// Name implements Command.
func (Schedule) Name() string { return DidSchedule }

func (cmd Schedule) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	switch {
	case err != nil:
		return err
	case s.Start != nil && s.Start.ID == cmd.Start.ID:
		c.Answer = c.Lane.View(now)
		return nil
	case s.Phase != Waiting:
		return ErrNotWaiting
	case s.Start != nil:
		return ErrStartScheduled
	}
	if err := s.startsTooLate(c.Lane, now, cmd.Start.At); err != nil {
		if !cmd.AfterClosing {
			return err
		}
		c.pastClosing = true
	}
	s.Start = &cmd.Start
	c.setSession(s, now)
	return nil
}

// Unschedule takes that start from a session that has not begun. Without it there is nothing to change.
type Unschedule struct{ Session, Start uuid.UUID }

// Name implements Command.
func (Unschedule) Name() string { return "unschedule_start" }

func (cmd Unschedule) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	if s.Phase == Waiting && s.Start != nil && s.Start.ID == cmd.Start {
		s.Start = nil
		c.setSession(s, now)
	}
	c.Answer = c.Lane.View(now)
	return nil
}

// Begin begins the session whose start has come: at its start, or now if that is too long ago. Under a hold it
// begins as one that is entered under it does: paused, with all of its time.
type Begin struct{}

// Name implements Command.
func (Begin) Name() string { return "begin" }

func (Begin) decide(now Instant, c *Change) error {
	if !c.Lane.StartDue(now) {
		return ErrNotWaiting
	}
	c.decision.By = ByTimer
	c.setSession(c.beginByStart(*c.Lane.Session, now, now), now)
	return nil
}

// beginByStart begins the session, whose start has come, as was noticed at that instant.
func (c *Change) beginByStart(s Session, noticed, now Instant) Session {
	began := s.Start.At
	if noticed.Since(began) > beginsLateAfter {
		began = noticed
	}
	return c.enter(s, c.afterHold(began), now)
}

// StartState is what a start comes to for a session.
type StartState string

// The states, in the order in which they are looked for.
const (
	StartOver  StartState = "over"  // the session has ended
	StartBegun StartState = "begun" // the session has begun, by the start or before it
	// a hold lies over the lane: it begins paused, and runs from the end of the hold on
	StartHeld    StartState = "held"
	StartOffline StartState = "offline" // the lane's link is down: it begins when that is up, not before the start
	StartWaiting StartState = "waiting" // it begins at the start
)

// StartView is a start with its sessions, in display order of their lanes.
type StartView struct {
	ID       uuid.UUID
	At       time.Time // UTC
	Sessions []StartedSession
}

// StartedSession is what the start comes to for one session.
type StartedSession struct {
	Session uuid.UUID
	Lane    uuid.UUID // uuid.Nil: the session is on none any more
	State   StartState
	Began   *time.Time // nil until it began
}

// Started returns what the start comes to for the session on the lane.
func (l LaneStatus) Started() StartedSession {
	s := l.Lane.Session
	started := StartedSession{Session: s.ID, Lane: l.Lane.ID, State: StartWaiting}
	switch {
	case s.Began != nil:
		started.State, started.Began = StartBegun, &s.Began.Wall
	case l.Lane.Held:
		started.State = StartHeld
	case l.Link != LinkUp:
		started.State = StartOffline
	}
	return started
}
