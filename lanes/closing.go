package lanes

import (
	"errors"
	"time"
)

// AfterClosing refuses minutes that would be used after the range has closed. It is an ErrAfterClosing, and says
// how many there may be.
//
// The rule refuses what is sold: a sale, minutes that are added, lane time that is bought. A session is judged as
// if it ran from now on without a pause. What was paid for is never refused, nor taken away: a session begins,
// resumes, moves and runs on after the range has closed, minutes that a reservation has named are sold to whoever has
// its token, a purchase that the integrator has accepted is credited, and staff give time back (MakeUp), settle
// purchases (Clear) and undo an end (Reopen). Of those that add minutes after closing, as of a sale that staff make
// nevertheless, the Act says so.
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

// beforeClosing returns the refusal of so many minutes more for a session that has so much left, nil if they fit.
// most is how many there could be at any hour.
func (l Lane) beforeClosing(now Instant, left time.Duration, minutes, most int) error {
	if minutes <= 0 || l.Hours == nil {
		return nil
	}
	state := l.Hours.At(now.Wall)
	switch {
	case !state.Open:
		return &AfterClosing{Opens: state.Opens}
	case state.Closes.IsZero():
		return nil
	}
	room := state.Closes.Sub(now.Wall) - left
	if room >= time.Duration(minutes)*time.Minute {
		return nil
	}
	return &AfterClosing{Closes: state.Closes, Most: max(0, min(most, int(room/time.Minute)))}
}

// beforeClosing is that of its lane, for minutes beside those that the session has, or is about to buy.
func (s Session) beforeClosing(lane Lane, now Instant, minutes int) error {
	left, most := s.Remaining(now), MaxMinutes-int(s.Sold/time.Minute)
	if s.Purchase.pending() {
		bought := s.Purchase.Minutes()
		left, most = left+time.Duration(bought)*time.Minute, most-bought
	}
	return lane.beforeClosing(now, left, minutes, most)
}

// Room returns how many minutes more could be sold now, to the session on the lane or on a free one, before the range
// closes; MaxMinutes where it does not close by then.
func (l Lane) Room(now Instant) int {
	refusal := l.beforeClosing(now, 0, MaxMinutes, MaxMinutes)
	if l.Session != nil {
		refusal = l.Session.beforeClosing(l, now, MaxMinutes)
	}
	var closing *AfterClosing
	if errors.As(refusal, &closing) {
		return closing.Most
	}
	return MaxMinutes
}

// endsAfterClosing reports whether the change has added minutes to a session that ends after the range has closed.
func (c Change) endsAfterClosing(now Instant) bool {
	s := c.Lane.Session
	return c.decision.Minutes > 0 && s != nil && c.Lane.beforeClosing(now, s.Remaining(now)-time.Minute, 1, 0) != nil
}
