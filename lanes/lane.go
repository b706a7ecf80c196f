package lanes

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Lane is a lane with whatever session is on it. It is a value: Session points to a value that nobody changes.
type Lane struct {
	ID      uuid.UUID `json:"lane_id"`
	Session *Session  `json:"session"` // nil: the lane is free
	Held    bool      `json:"held"`    // a hold lies over the lane: its fire line is locked
	Log     Log       `json:"log"`
	// Fault is what the hardware has reported to be wrong with it, empty when nothing is.
	Fault string `json:"fault,omitempty"`
	// Released is when the last hold over the lane ended, nil before the first.
	Released *Instant `json:"released,omitempty"`

	Sale Sale `json:"sale,omitempty"` // what staff decided about offering it
	// Help is the customer's call for help, nil when there is none; Stray when a carrier was hit last without
	// a session to charge, nil when staff know of none.
	Help  *HelpCall  `json:"help,omitempty"`
	Stray *time.Time `json:"stray_hit,omitempty"`

	// Uncleared is the end of the last session when its time was up, nil once the lane was said to be clear,
	// or sold. See ToClear.
	Uncleared *Uncleared `json:"uncleared,omitempty"`

	// Reservation keeps the lane for a POS that is being paid, as long as it is not over: see ReservedFor. nil before
	// the first, and once the lane was sold or given free.
	Reservation *Reservation `json:"reservation,omitempty"`

	// Turn is the lane between two sessions, nil before the end of the first and while one that has begun is on it.
	// LastTurn is the newest turn that is over, nil before the first.
	Turn     *Turn     `json:"turn,omitempty"`
	LastTurn *TurnTime `json:"last_turn,omitempty"`

	// Open are purchases that staff have to see to: the unresolved ones, and those still pending whose
	// session has ended. The list is a value as well: to change it is to make another.
	Open []*Purchase `json:"open_purchases,omitempty"`

	// From the configuration and the hardware. The lane's actor sets these; they are not saved.
	Accessible bool `json:"-"` // open for sale, unless staff say otherwise: see ForSale
	Usable     bool `json:"-"` // the hardware is in working order
	Purchasing bool `json:"-"` // the range offers lane purchasing
	AwaitsMove bool `json:"-"` // a session is about to move here
	// Unproven is since when it cannot be proven that the line is open beyond what was sold, as the hardware is not
	// reached or cannot do that; nil: it can, and the lane is sold with an open end.
	Unproven *Instant `json:"-"`
	// Heard is what the hardware has said of its line since then and the store does not have yet, oldest first.
	Heard []Heard `json:"-"`
	Terms `json:"-"`
}

// WithUnsaved returns the lane with what another value of it has from the configuration and the hardware.
func (l Lane) WithUnsaved(other Lane) Lane {
	l.Accessible, l.Usable, l.Purchasing, l.AwaitsMove = other.Accessible, other.Usable, other.Purchasing,
		other.AwaitsMove
	l.Unproven, l.Heard, l.Terms = other.Unproven, other.Heard, other.Terms
	return l
}

// Equal reports whether both are the same value. What a lane points to is never changed, so pointers are compared.
func (l Lane) Equal(other Lane) bool {
	return l.ID == other.ID && l.Session == other.Session && l.Held == other.Held && l.Log == other.Log &&
		l.Fault == other.Fault &&
		l.Released == other.Released && l.Sale == other.Sale && l.Help == other.Help && l.Stray == other.Stray &&
		l.Uncleared == other.Uncleared &&
		l.Reservation == other.Reservation && l.Turn == other.Turn && l.LastTurn == other.LastTurn &&
		slices.Equal(l.Open, other.Open) && l.Accessible == other.Accessible && l.Usable == other.Usable &&
		l.Purchasing == other.Purchasing &&
		l.AwaitsMove == other.AwaitsMove && l.Unproven == other.Unproven && slices.Equal(l.Heard, other.Heard) &&
		l.SameTerms(other.Terms)
}

// Log is how far the reports of the lane's controller have been taken in (LINK.md, Controller to gateway).
type Log struct {
	ID  string `json:"id,omitempty"`
	Seq uint64 `json:"seq,omitempty"`
}

// Change is what a command changes: the lane as it will be, and everything to save and announce with it.
type Change struct {
	Lane    Lane
	Other   *Lane   // the destination of a move as it will be
	Events  []Event // in the order of the facts
	Ended   *Ended  // the session that ended, for the history
	Answer  *SessionView
	Settled *Purchase      // that was pending, or waited for staff, and no longer does; or now waits for staff
	Closing bool           // it closes the fire line: it stays in force although it cannot be saved yet
	Turn    *time.Duration // what the lane had waited for the session that began; nil: none began, or no turn ended
	Note    string         // why a report changed nothing, for the log
	Missing uint64         // reports of the controller's log before this one that never came

	decided  Instant
	decision Decision // of the first event
	// a move or a start lets a session end after closing: see Move.AfterClosing, Schedule.AfterClosing
	pastClosing bool
}

// Changes reports whether the change leaves anything of lane different, so that there is something to save.
func (c Change) Changes(lane Lane) bool {
	return c.Lane.Session != lane.Session || c.Lane.Held != lane.Held || c.Lane.Log != lane.Log ||
		c.Lane.Fault != lane.Fault ||
		c.Lane.Sale != lane.Sale || c.Lane.Help != lane.Help || c.Lane.Stray != lane.Stray ||
		c.Lane.Uncleared != lane.Uncleared ||
		c.Lane.Reservation != lane.Reservation || c.Lane.Turn != lane.Turn || c.Lane.LastTurn != lane.LastTurn ||
		!slices.Equal(c.Lane.Open, lane.Open) || len(c.Events) > 0
}

// Deadline is when the session's time is used up, that of its open end included. There is one exactly while the
// session is running.
func (l Lane) Deadline() (Instant, bool) {
	if l.Session == nil || l.Session.Phase != Running {
		return Instant{}, false
	}
	return l.Session.Since.Add(l.Session.Left + l.Session.mayOwe()), true
}

// NextExpiry is when the session on the lane has to expire: at its deadline, and where it stays on the lane behind
// that, when it may stay no longer. There is none while its time stands still.
func (l Lane) NextExpiry() (at Instant, found bool) {
	if l.Session != nil && l.Session.StaysUntil != nil {
		return *l.Session.StaysUntil, true
	}
	return l.Deadline()
}

// Due reports whether the session has to expire at now.
func (l Lane) Due(now Instant) bool {
	at, found := l.NextExpiry()
	return found && !now.Before(at)
}

// sessionOn returns a copy of the session that a command is about. Errors: ErrSessionNotFound.
func (c *Change) sessionOn(session uuid.UUID) (Session, error) {
	if c.Lane.Session == nil || c.Lane.Session.ID != session {
		return Session{}, ErrSessionNotFound
	}
	return *c.Lane.Session, nil
}

// setSession makes s the session of the lane, and the answer.
func (c *Change) setSession(s Session, now Instant) {
	c.Lane.Session = &s
	c.Answer = c.Lane.View(now)
}
