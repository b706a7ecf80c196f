package lanes

import (
	"slices"

	"github.com/google/uuid"
)

// Move takes the session to another lane, with its time left. The answer's change holds both lanes, to be saved in
// one write. The hold over the destination counts from then on, not the one over the lane it left.
type Move struct {
	Session uuid.UUID
	To      Lane // the destination as it awaits the session; see AwaitMove
	// AfterClosing moves it although the destination closes before its end, as staff have decided.
	AfterClosing bool
}

// Name implements Command.
func (Move) Name() string { return "move" }

func (cmd Move) decide(now Instant, c *Change) error {
	s, err := c.sessionOn(cmd.Session)
	if err != nil {
		return err
	}
	to := cmd.To
	if to.ID == c.Lane.ID {
		return ErrLaneOccupied
	}
	if s.HasOpenEnd() && to.Unproven != nil {
		return ErrNoOpenEnd
	}
	if err := c.Lane.closesFor(s, to, now); err != nil {
		if !cmd.AfterClosing {
			return err
		}
		c.pastClosing = true
	}
	c.decision.Held = to.Held
	c.addEvent(SessionModified, &s, to.ID, now)
	if s.Unproven != nil { // the hardware that it goes to is reached; see Arrive
		s = c.account(s, to.ID, now).forgo(now)
		s.Unproven = nil
	}
	s = c.underHold(s, to, now)
	to.Session, to.AwaitsMove, to.Uncleared, to.Reservation = &s, false, nil, nil
	if s.Began != nil { // the turn of the other lane is nobody's: the session has that of the lane where it began
		to.Turn = nil
	}
	for _, open := range c.Lane.Open { // what staff have to see to goes along
		if s.Continues(open.Session) {
			to.Open = append(slices.Clone(to.Open), open)
		}
	}
	c.Lane = c.Lane.vacated(now)
	c.Other = &to
	c.Answer = to.View(now)
	return nil
}

// vacated returns the lane as its session leaves it for another one.
func (l Lane) vacated(now Instant) Lane {
	s := l.Session
	l.Session, l.Help = nil, nil
	l.beginTurn(s, now)
	l.Open = slices.DeleteFunc(slices.Clone(l.Open), func(p *Purchase) bool { return s.Continues(p.Session) })
	return l
}

// Arrive is decided on the lane that a session has moved to, once it is there: from then on its line is proven. Until
// then nobody knew that a line was open, as Lane.Unproven says: the hardware that it has left was not reached, and this
// one was told of nothing before the move was saved.
type Arrive struct{}

// Name implements Command.
func (Arrive) Name() string { return "arrive" }

func (Arrive) decide(now Instant, c *Change) error {
	c.prove(Arrived, now)
	return nil
}

// AwaitMove keeps a free, accessible, usable lane for a session that is about to move to it: until the move is
// made or dropped, nothing is created there and no other session moves there. Staff may use a lane that is
// closed for sale, or not clear.
func (l Lane) AwaitMove(now Instant, by By) (Lane, error) {
	if err := l.checkSale(now, by == ByStaff, ""); err != nil {
		return l, err
	}
	l.AwaitsMove = true
	return l, nil
}
