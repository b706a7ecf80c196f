package lanes

import (
	"time"

	"github.com/google/uuid"
)

// Create sells time on a free lane.
type Create struct {
	Session    uuid.UUID // the new session's id
	Group      uuid.UUID
	Customer   string
	Minutes    int // MinMinutes to MaxMinutes
	Purchasing bool
	AutoStart  bool // the time runs from now, not from when the customer enters
	ByStaff    bool // who may use a lane that is closed for sale
	// AfterClosing sells it although the range closes before its end, as staff have decided.
	AfterClosing bool
	// WarnAt are the times left at which it is warned, longest first; nil: those of the range, empty: none.
	WarnAt []time.Duration
	// Grace keeps it on the lane for the range's grace once its time is used up.
	Grace bool
	// OpenEnd lets it go on once the minutes are used up, until so many minutes have been used in all: more than
	// Minutes, and MaxMinutes at most. 0: it does not. It excludes Grace.
	OpenEnd int
	// Correlation is what the POS gives the session to know it by; nil: nothing.
	Correlation *Correlation
	// Reservation is the token of the lane's reservation; empty: the POS has none.
	Reservation string
}

// Name implements Command.
func (Create) Name() string { return "create" }

func (cmd Create) decide(now Instant, c *Change) error {
	if err := c.Lane.checkSale(now, cmd.ByStaff, cmd.Reservation); err != nil {
		return err
	}
	if cmd.Minutes < MinMinutes || cmd.Minutes > MaxMinutes {
		return ErrDurationOutOfRange
	}
	if cmd.OpenEnd != 0 {
		if cmd.OpenEnd <= cmd.Minutes || cmd.OpenEnd > MaxMinutes {
			return ErrDurationOutOfRange
		}
		if c.Lane.Unproven != nil {
			return ErrNoOpenEnd
		}
	}
	sold, promised := time.Duration(cmd.Minutes)*time.Minute, c.Lane.isPromised(now, cmd)
	lasts := max(cmd.Minutes, cmd.OpenEnd)
	if err := c.Lane.HoursOf(cmd.Group).beforeClosing(now, 0, lasts, MaxMinutes); err != nil &&
		!cmd.AfterClosing && !promised {
		return err
	}
	s := Session{
		ID: cmd.Session, Group: cmd.Group, Customer: cmd.Customer, Purchasing: cmd.Purchasing,
		Sold: sold, Phase: Waiting, Left: sold, Since: now, Created: now, WarnAt: cmd.WarnAt,
		Grace: cmd.Grace && cmd.OpenEnd == 0, OpenEnd: time.Duration(cmd.OpenEnd) * time.Minute,
		Correlation: cmd.Correlation,
	}
	c.Lane.Uncleared = nil // whoever sells it sends the next customer there
	c.Lane.Reservation = nil
	c.Events = make([]Event, 0, 2)
	c.decision.Minutes, c.decision.OpenEnd, c.decision.Passed = cmd.Minutes, s.OpenEnd, 0
	c.addEvent(SessionCreated, &s, c.Lane.ID, now)
	if cmd.AutoStart {
		s = c.enter(s, now, now)
	}
	c.decision.Phase = s.Phase
	c.setSession(s, now)
	return nil
}

// Modify adds minutes to what was sold, or takes them away.
type Modify struct {
	Session uuid.UUID
	Minutes int // not 0
	// AfterClosing adds them although the range closes before they would be used, as staff have decided.
	AfterClosing bool
}

// Name implements Command.
func (Modify) Name() string { return "modify" }

func (cmd Modify) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	if err := c.sell(s, now, cmd.Minutes); err != nil || cmd.AfterClosing {
		return err
	}
	return s.beforeClosing(c.Lane, now, cmd.Minutes)
}

// SetDuration makes the sold minutes so many in all (the PATCH of version 1). The same as before changes nothing.
type SetDuration struct {
	Session uuid.UUID
	Minutes int // MinMinutes to MaxMinutes
}

// Name implements Command.
func (SetDuration) Name() string { return "set_duration" }

func (cmd SetDuration) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	more := cmd.Minutes - int(s.Sold/time.Minute)
	if more == 0 {
		c.Answer = c.Lane.View(now)
		return nil
	}
	if err := c.sell(s, now, more); err != nil {
		return err
	}
	return s.beforeClosing(c.Lane, now, more)
}

func (c *Change) sell(s Session, now Instant, minutes int) error {
	if minutes < -MaxMinutes || minutes > MaxMinutes {
		return ErrDurationOutOfRange
	}
	s, err := c.extend(s, now, minutes)
	if err != nil {
		return err
	}
	c.setSession(s, now)
	return nil
}

// extend returns the session with so many minutes more, or less with a minus. One that was in its grace runs again, or
// is paused by the hold over its lane.
func (c *Change) extend(s Session, now Instant, minutes int) (Session, error) {
	longer, err := c.account(s, c.Lane.ID, now).sell(now, time.Duration(minutes)*time.Minute)
	if err != nil {
		return s, err
	}
	c.decision.Minutes = minutes
	c.addEvent(SessionModified, &longer, c.Lane.ID, now)
	if s.InGrace() {
		longer = c.underHold(longer, c.Lane, now)
	}
	return longer, nil
}

// sell changes the sold time by d, and the time left with it; what is owed is settled first. Time that is being bought
// counts as sold. A session that is in its grace runs again, with what is added.
func (s Session) sell(now Instant, d time.Duration) (Session, error) {
	sold := s.Sold + d
	most := MaxMinutes * time.Minute
	if s.Purchase.pending() {
		most -= time.Duration(s.Purchase.Minutes()) * time.Minute
	}
	if sold < MinMinutes*time.Minute || sold > most && d > 0 {
		return s, ErrDurationOutOfRange
	}
	if s.Remaining(now)+d <= 0 {
		return s, ErrNoTimeLeft
	}
	warned := s.warned()
	if s.InGrace() {
		s = s.endGrace(now)
	}
	s = s.forgo(now)
	s.Settled += max(0, min(d, -s.balance(now)))
	s.Sold = sold
	s.Left += d
	s.GoneBeyond = s.GoneBeyond && s.Remaining(now) == 0
	if warned = max(warned, s.Remaining(now)); warned != s.warned() { // what is left again is told again
		s.Told = warned
	}
	return s, nil
}
