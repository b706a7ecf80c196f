package lanes

import (
	"time"

	"github.com/google/uuid"
)

// SessionView is a picture of a session at one instant (WIRE.md, Views).
type SessionView struct {
	ID        uuid.UUID
	Lane      uuid.UUID
	Group     uuid.UUID
	Customer  string
	Phase     Phase
	Minutes   int // sold in all
	Remaining time.Duration
	Created   time.Time
	Began     *time.Time // nil until it began
	StartsAt  *time.Time // when it begins by its start; nil: it has none, or has begun
	// GraceEndsAt is when its grace is over, in which it is; nil: it is in none.
	GraceEndsAt *time.Time
	Purchasing  bool // in effect: asked for, and offered by the range
	// OpenEnd is how many minutes may be used in all, 0: it has no open end. Beyond is what was used beyond what was
	// sold.
	OpenEnd int
	Beyond  Beyond

	Correlation *Correlation // nil: none; never modified
}

// View is the picture of the session on the lane at now, nil when the lane is free. It is short enough to be
// inlined, so that a caller that keeps a copy instead of the pointer has no allocation.
func (l Lane) View(now Instant) *SessionView {
	if l.Session == nil {
		return nil
	}
	view := l.view(now)
	return &view
}

func (l *Lane) view(now Instant) SessionView {
	view := l.Session.view(l.ID, l.Session.Remaining(now))
	view.Beyond = l.Session.Beyond(now)
	view.Purchasing = view.Purchasing && l.Purchasing
	return view
}

// View is the picture of the session as it ended.
func (e Ended) View() *SessionView {
	view := e.Session.view(e.Lane, e.Session.Left)
	view.Beyond = Beyond{Used: e.Beyond, Settled: e.Session.Settled}
	return &view
}

func (s *Session) view(lane uuid.UUID, remaining time.Duration) SessionView {
	view := SessionView{
		ID: s.ID, Lane: lane, Group: s.Group, Customer: s.Customer, Phase: s.Phase,
		Minutes: int(s.Sold / time.Minute), Remaining: remaining,
		Created: s.Created.Wall, Purchasing: s.Purchasing, Correlation: s.Correlation,
		OpenEnd: int(s.OpenEnd / time.Minute),
	}
	switch {
	case s.Began != nil:
		view.Began = &s.Began.Wall
	case s.Start != nil:
		view.StartsAt = &s.Start.At.Wall
	}
	if s.InGrace() {
		view.GraceEndsAt = &s.StaysUntil.Wall
	}
	return view
}

// LinkState is the state of a lane's link.
type LinkState string

// The states of a link.
const (
	LinkUp   LinkState = "up"
	LinkDown LinkState = "down"
	// LinkFaulty is a controller that is there and not in order.
	LinkFaulty LinkState = "faulty"
)

// LaneStatus is what the range sees of a lane: its place in the layout, its value, and its link.
type LaneStatus struct {
	Place
	Lane      Lane
	Link      LinkState
	LinkSince time.Time
	Contest   *Contest // a second controller was refused of late; nil: none was; never modified
	NotUsable string   // why the lane is not usable, empty when it is
	Parked    bool     // it is not usable for repeated defects of the gateway
	Locked    bool     // its hardware has confirmed that the fire line is held, and was told nothing else since
	Hardware  Hardware
}

// Contest is a second controller that dialled for a lane whose link was up, and was refused.
type Contest struct {
	At      time.Time
	Refused string // its address
	Linked  string // that of the controller that stayed
}
