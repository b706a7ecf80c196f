package lanes

import (
	"errors"
	"time"

	"github.com/google/uuid"
)

// AfterClosing refuses minutes that would be used after the range has closed, or the lane or the group by its own hours
// (see terms.go). It is an ErrAfterClosing, and says how many there may be.
//
// The rule refuses what is sold: a sale, minutes that are added, lane time that is bought, and a move to a lane that
// closes earlier. A session is judged as if it ran from now on without a pause, or from its start on. What was paid
// for is never refused otherwise, nor taken away: a session begins, resumes, moves and runs on after the range has
// closed, minutes that a reservation has named are sold to whoever has its token, a purchase that the integrator has
// accepted is credited, and staff give time back (MakeUp), settle purchases (Clear) and undo an end (Reopen). Of
// those that add minutes after closing, as of a sale that staff make nevertheless, the Act says so. Of a start that
// is too late for a session, see StartAfterClosing.
type AfterClosing struct {
	Closes time.Time // when the range closes, by its clocks; zero: it is closed
	Opens  time.Time // of one that is closed, next; zero: that is not known
	Most   int       // minutes that could be sold instead
}

func (e *AfterClosing) Error() string { return ErrAfterClosing.Error() }

// Code is that of ErrAfterClosing.
func (e *AfterClosing) Code() string { return ErrAfterClosing.Code() }

// Unwrap returns ErrAfterClosing.
func (e *AfterClosing) Unwrap() error { return ErrAfterClosing }

// Bounds returns until when, from when on, and how many minutes could be sold.
func (e *AfterClosing) Bounds() (closes, opens time.Time, most int) { return e.Closes, e.Opens, e.Most }

// StartAfterClosing refuses a start of sessions that would end after closing if they began with it and ran without a
// pause, and would not if they began now. It is an ErrAfterClosing.
type StartAfterClosing struct {
	Closes   time.Time   // when the lane of one of them closes, the earliest; zero: not within a week
	Sessions []uuid.UUID // those that would
}

func (*StartAfterClosing) Error() string {
	return "a session that begins with this start would end after closing"
}

// Code is that of ErrAfterClosing.
func (*StartAfterClosing) Code() string { return ErrAfterClosing.Code() }

// Unwrap returns ErrAfterClosing.
func (*StartAfterClosing) Unwrap() error { return ErrAfterClosing }

// TooLate returns when it closes, and which sessions would end after that.
func (e *StartAfterClosing) TooLate() (closes time.Time, sessions []uuid.UUID) {
	return e.Closes, e.Sessions
}

// left returns how long it is open from now on; longer than any session where it does not close within a week.
func (o OpenState) left(now time.Time) time.Duration {
	switch {
	case !o.Open:
		return 0
	case o.Closes.IsZero():
		return closesWithin
	}
	return o.Closes.Sub(now)
}

// fits reports whether it is open from now on for so long.
func (o OpenState) fits(now time.Time, length time.Duration) bool {
	return o.Open && length <= o.left(now)
}

// refusal says what fits behind so much time that is sold already, and at most.
func (o OpenState) refusal(now time.Time, left time.Duration, most int) *AfterClosing {
	fits := int((o.left(now) - left) / time.Minute)
	return &AfterClosing{Closes: o.Closes, Opens: o.Opens, Most: max(0, min(most, fits))}
}

// beforeClosing returns the refusal of so many minutes more, with so much left of those before, nil if they fit. most
// is how many there could be at any hour.
func (h *Hours) beforeClosing(now Instant, left time.Duration, minutes, most int) error {
	if minutes <= 0 || h == nil {
		return nil
	}
	state := h.At(now.Wall)
	if state.fits(now.Wall, left+time.Duration(minutes)*time.Minute) {
		return nil
	}
	return state.refusal(now.Wall, left, most)
}

// mayRun is how long the session may still run, with what it is about to buy.
func (s Session) mayRun(now Instant) time.Duration {
	return s.RunsFor(now) + max(0, s.beingBought()-s.mayOwe())
}

func (s Session) beingBought() time.Duration {
	if !s.Purchase.pending() {
		return 0
	}
	return time.Duration(s.Purchase.Minutes()) * time.Minute
}

// judgedFrom is from when on the session is judged as if it ran: from its start, where that is to come.
func (s Session) judgedFrom(now Instant) Instant {
	if s.Phase == Waiting && s.Start != nil && now.Before(s.Start.At) {
		return s.Start.At
	}
	return now
}

// beforeClosing is that of its hours, for minutes beside those that the session has, or is about to buy. Minutes that
// its open end has room for do not make it end later.
func (s Session) beforeClosing(lane Lane, now Instant, minutes int) error {
	room := int(max(0, s.mayOwe()-s.beingBought()) / time.Minute)
	most := MaxMinutes - int((s.Sold+s.beingBought())/time.Minute)
	err := lane.HoursOf(s.Group).beforeClosing(s.judgedFrom(now), s.mayRun(now), minutes-room, most-room)
	if closing, refused := errors.AsType[*AfterClosing](err); refused {
		closing.Most += room
	}
	return err
}

// closesFor returns the refusal of a move to a lane that closes before the session would end, and before the lane that
// it leaves does: nil where it may move. What runs on after closing anyway moves between lanes that close together.
func (l Lane) closesFor(s Session, to Lane, now Instant) error {
	length := s.mayRun(now)
	now = s.judgedFrom(now)
	own, next := l.HoursOf(s.Group).At(now.Wall), to.HoursOf(s.Group).At(now.Wall)
	if room := next.left(now.Wall); length <= room || own.left(now.Wall) <= room {
		return nil
	}
	return next.refusal(now.Wall, 0, MaxMinutes)
}

// startsTooLate returns the refusal of a start after which the session would end after closing, nil where it would not,
// or would also if it began now: it was sold nevertheless.
func (s Session) startsTooLate(lane Lane, now, start Instant) error {
	hours, length := lane.HoursOf(s.Group), s.mayRun(now)
	open := hours.At(now.Wall)
	if !open.fits(now.Wall, length) || hours.At(start.Wall).fits(start.Wall, length) {
		return nil
	}
	closes := open.Closes
	for !closes.IsZero() { // the last closing of what has opened by the start
		opens := hours.At(closes).Opens
		if opens.IsZero() || opens.After(start.Wall) {
			break
		}
		closes = hours.At(opens).Closes
	}
	return &StartAfterClosing{Closes: closes, Sessions: []uuid.UUID{s.ID}}
}

// Room returns how many minutes more could be sold now, to the session on the lane or on a free one, before the range
// closes; MaxMinutes where it does not close by then.
func (l Lane) Room(now Instant) int {
	refusal := l.Hours.beforeClosing(now, 0, MaxMinutes, MaxMinutes)
	if l.Session != nil {
		refusal = l.Session.beforeClosing(l, now, MaxMinutes)
	}
	var closing *AfterClosing
	if errors.As(refusal, &closing) {
		return closing.Most
	}
	return MaxMinutes
}

// endsAfterClosing reports whether the change has added minutes to a session that ends after the range has closed, has
// moved it to a lane that closes too early for it, or has given it a start that is too late.
func (c Change) endsAfterClosing(now Instant) bool {
	s := c.Lane.Session
	return c.pastClosing ||
		c.decision.Minutes > 0 && s != nil && c.Lane.HoursOf(s.Group).
			beforeClosing(s.judgedFrom(now), s.RunsFor(now)-time.Minute, 1, 0) != nil
}
