package lanes

import (
	"crypto/sha1"
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
	c.Events = append(c.Events, Event{ID: factID(s.ID, s.Facts), Kind: kind, Session: s.ID, Lane: lane, At: at.Wall})
}

// factID is the UUID of version 5 (RFC 9562) in the session's namespace whose name is the number, in eight bytes. It is
// uuid.NewSHA1 without its four allocations, of which every command would have some.
func factID(session uuid.UUID, number uint64) uuid.UUID {
	var name [len(session) + 8]byte
	copy(name[:], session[:])
	binary.BigEndian.PutUint64(name[len(session):], number)
	sum := sha1.Sum(name[:])
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 5<<4
	id[8] = id[8]&0x3f | 0x80
	return id
}
