package lanes

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// The length of a session, in minutes (SPEC.md part 8).
const (
	MinMinutes = 1
	MaxMinutes = 480
)

// Phase is the state of a session.
type Phase string

// The phases of a session that is on a lane. A session that has ended is on no lane: it is an Ended.
const (
	Waiting Phase = "waiting" // created, the customer has not entered; no time is used
	Running Phase = "running" // its time runs
	Paused  Phase = "paused"  // its time stands still
)

// Session is lane time that was sold, and how much of it is left. It is a value: to change one is to make another.
type Session struct {
	ID       uuid.UUID `json:"session_id"`
	Group    uuid.UUID `json:"group_id"`
	Customer string    `json:"customer_name"`
	// as asked at creation; it takes effect where the range has purchasing
	Purchasing bool          `json:"enable_purchasing"`
	Sold       time.Duration `json:"sold_ns"` // in all, whole minutes
	Phase      Phase         `json:"phase"`
	// when the clock last started (running) or stopped (paused); negative: owed
	Left     time.Duration `json:"left_ns"`
	Since    Instant       `json:"since"` // when that was; created, for a waiting session
	Created  Instant       `json:"created"`
	Began    *Instant      `json:"began,omitempty"`     // nil until the customer entered
	Rested   time.Duration `json:"rested_ns"`           // time in pauses that are over
	ByHold   bool          `json:"paused_by_hold"`      // the pause was made by a hold, whose end resumes it
	Facts    uint64        `json:"facts"`               // events so far: the next one's number is Facts+1
	Purchase *Purchase     `json:"purchase,omitempty"`  // the latest, nil before the first
	RanOn    time.Duration `json:"ran_on_ns,omitempty"` // that ran while the gateway was down, for staff to make up
	// Advanced is by how much Advance has shortened the time left since the last event, for the Decision of the next.
	Advanced time.Duration `json:"advanced_ns,omitempty"`
	// WarnAt are the times left at which the session is warned, longest first; nil: those of the range, empty: none.
	WarnAt []time.Duration `json:"warn_at_ns,omitzero"`
	Told   time.Duration   `json:"told_ns,omitempty"` // the time left down to which it was warned; 0: what was sold
	// Grace is asked for at the sale; it takes effect where the range has one. StaysUntil is when the session leaves
	// the lane, once its deadline is behind it; nil: it is not.
	Grace      bool     `json:"grace,omitempty"`
	StaysUntil *Instant `json:"stays_until,omitempty"`
	// OpenEnd is the time that may be used in all, where that may be more than what was sold; 0: it has no open end
	// (see openend.go). Settled is what was used beyond what was sold, and paid later. GoneBeyond: that it goes on
	// has been told.
	OpenEnd    time.Duration `json:"open_end_ns,omitempty"`
	Settled    time.Duration `json:"settled_ns,omitempty"`
	GoneBeyond bool          `json:"gone_beyond,omitempty"`
	// Unproven is since when nobody can prove that the line is open beyond what was sold; nil: it is known. Uncharged
	// is what was given back since the last event, for that or as the line opened late; the next Decision has it.
	Unproven  *Instant      `json:"unproven,omitempty"`
	Uncharged time.Duration `json:"uncharged_ns,omitempty"`
	// Start is the start that the session was given to begin with others, nil without one.
	Start *Start `json:"start,omitempty"`
	// Turn is what the lane had waited on which the session began, nil before that and where it is not known.
	Turn *time.Duration `json:"turn_ns,omitempty"`
	// GoesOnWith are the sessions that it goes on with, the latest first: it was reopened from the first of them, and
	// that one from the next.
	GoesOnWith []uuid.UUID `json:"goes_on_with,omitempty"`
	// Correlation is what the POS gave the session to know it by, nil when it gave nothing.
	Correlation *Correlation `json:"correlation,omitempty"`
}

// The bounds of a Correlation. The API checks them.
const (
	MaxExternalID    = 128  // characters
	MaxMetadata      = 20   // pairs
	MaxMetadataBytes = 2048 // of all names and values together
)

// Correlation is what the POS knows a session by: an id of its own, which other sessions may have too, and
// pairs of texts. The session and its events share one, which nobody changes. It may name a customer, and is
// never logged.
type Correlation struct {
	ExternalID string            `json:"external_id,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
}

// IDOrNone returns the external id; empty without one, also of nil.
func (c *Correlation) IDOrNone() string {
	if c == nil {
		return ""
	}
	return c.ExternalID
}

// Remaining is what is left at now of what was sold: never negative, never more than when the clock last started.
func (s Session) Remaining(now Instant) time.Duration { return max(0, s.balance(now)) }

// Used is the time that ran, up to now, of what was sold. Used and Remaining always make up Sold; see Beyond.
func (s Session) Used(now Instant) time.Duration { return s.Sold - s.Remaining(now) }

// Beyond is what the session has used beyond what was sold, up to now. It is zero for one without an open end.
func (s Session) Beyond(now Instant) Beyond {
	return Beyond{Used: s.Settled + max(0, -s.balance(now)), Settled: s.Settled}
}

// HasOpenEnd reports whether the session was sold with an open end.
func (s Session) HasOpenEnd() bool { return s.OpenEnd > 0 }

// mayOwe is how much more than what was sold may be used.
func (s Session) mayOwe() time.Duration { return max(0, s.OpenEnd-s.Sold) }

// RunsFor is how long the session may run from now on, its open end included; without one it is what remains.
func (s Session) RunsFor(now Instant) time.Duration { return s.counted(now) + s.mayOwe() }

// counted is what was sold less what has run by the clock, whoever can prove it. It is negative beyond what was sold,
// and never more than when the clock last started.
func (s Session) counted(now Instant) time.Duration {
	if s.Phase != Running {
		return s.Left
	}
	return min(max(-s.mayOwe(), s.Left-now.Since(s.Since)), s.Left)
}

// balance is what was sold less what was used. It is negative beyond what was sold: then it is owed.
func (s Session) balance(now Instant) time.Duration {
	balance := s.counted(now)
	if s.Phase != Running || s.Unproven == nil {
		return balance
	}
	proven := s.Left - max(0, s.Unproven.Since(s.Since))
	return max(balance, min(0, proven))
}

// forgo leaves out what ran and cannot be proven. It is done before the clock stops, or more is sold.
func (s Session) forgo(now Instant) Session {
	if s.Phase == Running && s.balance(now) != s.counted(now) {
		s.Left, s.Since, s.Unproven = s.balance(now), now, &now
	}
	return s
}

// PausedFor is the time spent in pauses, up to now.
func (s Session) PausedFor(now Instant) time.Duration {
	if s.Phase == Paused {
		return s.Rested + max(0, now.Since(s.Since))
	}
	return s.Rested
}

// InGrace reports whether the session's time is used up, and its grace is not over.
func (s Session) InGrace() bool { return s.StaysUntil != nil && s.Phase == Paused }

// Continues reports whether it is that session, or goes on with it.
func (s Session) Continues(session uuid.UUID) bool {
	return s.ID == session || slices.Contains(s.GoesOnWith, session)
}

// ago is the instant so long before now, and not before the session was created: what a controller says of how long ago
// something happened may be wrong by centuries.
func (s Session) ago(age time.Duration, now Instant) Instant {
	then := now.Add(-max(0, age))
	if then.Before(s.Created) {
		return s.Created
	}
	return then
}

// begin starts the time of a waiting session at the instant the customer entered.
func (s Session) begin(at Instant) Session {
	s.Began, s.Phase, s.Since = &at, Running, at
	return s
}

// pause stops the clock of a running session.
func (s Session) pause(now Instant, byHold bool) Session {
	s = s.forgo(now)
	s.Left = s.balance(now)
	s.Phase, s.Since, s.ByHold = Paused, now, byHold
	return s
}

// resume starts the clock of a paused session again.
func (s Session) resume(now Instant) Session {
	s.Rested = s.PausedFor(now)
	s.Phase, s.Since, s.ByHold = Running, now, false
	return s
}
