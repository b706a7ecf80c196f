package lanes

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// Kind names a fact, as the webhook does (SPEC.md part 6).
type Kind string

// The kinds of events that lanes and sessions give rise to.
const (
	Help            Kind = "help"
	CarrierHit      Kind = "carrierHit"
	SessionCreated  Kind = "sessionCreated"
	SessionStarted  Kind = "sessionStarted"
	SessionPaused   Kind = "sessionPaused"
	SessionResumed  Kind = "sessionResumed"
	SessionStopped  Kind = "sessionStopped"
	SessionModified Kind = "sessionModified"
	PurchaseRequest Kind = "purchaseRequest"
)

// Event is a fact about a session on a lane.
type Event struct {
	ID      uuid.UUID `json:"id"`
	Kind    Kind      `json:"event"`
	Session uuid.UUID `json:"session_id"`
	Lane    uuid.UUID `json:"lane_id"`
	At      time.Time `json:"at"`              // UTC, when it happened
	Items   []Item    `json:"items,omitempty"` // of a PurchaseRequest
}

// Logged is an event in the range's event log. Cursors ascend in the order of the facts being saved.
type Logged struct {
	Cursor    uint64   `json:"cursor"`
	Event     Event    `json:"event"`
	Simulated bool     `json:"simulated,omitempty"`
	Attempt   *Attempt `json:"attempt,omitempty"` // nil while it is pending
	// Trace is the trace id of the request that it follows from, for the log: empty for what a timer or the hardware did.
	Trace string `json:"trace,omitempty"`
}

// happened appends a fact about the session to the change. The event's id is made of the session's id and the
// number of the fact, so the same decision taken again names it the same.
func (c *Change) happened(kind Kind, s *Session, lane uuid.UUID, at Instant) {
	s.Facts++
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], s.Facts)
	c.Events = append(c.Events, Event{
		ID: uuid.NewSHA1(s.ID, number[:]), Kind: kind, Session: s.ID, Lane: lane, At: at.Wall,
	})
}
