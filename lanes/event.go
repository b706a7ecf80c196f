package lanes

import (
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
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
	// A webhook gets these only where it names them: a receiver may refuse kinds that it does not know.
	SessionEnding  Kind = "sessionEnding"
	SessionExpired Kind = "sessionExpired"
	SessionBeyond  Kind = "sessionBeyond"
)

// Kinds are all of them.
var Kinds = []Kind{
	Help, CarrierHit, SessionCreated, SessionStarted, SessionPaused, SessionResumed, SessionStopped, SessionModified,
	PurchaseRequest, SessionEnding, SessionExpired, SessionBeyond,
}

// OnlyNamed reports whether a webhook gets events of the kind only where it names it.
func (k Kind) OnlyNamed() bool {
	return k == SessionEnding || k == SessionExpired || k == SessionBeyond
}

// Event is a fact about a session on a lane, as the webhook tells it.
type Event struct {
	ID      uuid.UUID `json:"id"`
	Kind    Kind      `json:"event"`
	Session uuid.UUID `json:"session_id"`
	Lane    uuid.UUID `json:"lane_id"`
	At      time.Time `json:"at"`               // UTC, when it happened
	Items   []Item    `json:"items,omitempty"`  // of a PurchaseRequest
	Ending  *Ending   `json:"ending,omitempty"` // of a SessionEnding
	// GraceEndsAt is until when the session of a SessionExpired stays on its lane, in UTC; nil: it has ended.
	GraceEndsAt *time.Time `json:"grace_ends_at,omitempty"`
	// Beyond is that of the session, of the SessionStopped of one with an open end. The event log has it, and the
	// webhook does not.
	Beyond *Beyond `json:"beyond,omitempty"`
	// Correlation is that of the session. The event log has it, and the webhook does not.
	Correlation *Correlation `json:"correlation,omitempty"`
	// Decision is what the event follows from. Of the events of one change the first has it, and no event of a gateway
	// that did not record it. The event log has it, and the webhook does not.
	Decision *Decision `json:"decision,omitempty"`
}

// Logged is an event in the range's event log: what has happened, and what has become of its delivery. Of an event
// that goes to several webhooks the log has an entry for each: the first one is the event's own, the others are
// Copies. Cursors ascend in the order of the facts being saved.
type Logged struct {
	Cursor    uint64 `json:"cursor"`
	Event     Event  `json:"event"`
	Simulated bool   `json:"simulated,omitempty"`
	// Trace is the trace id of the request that it follows from, for the log: empty for what a timer or the
	// hardware did.
	Trace string `json:"trace,omitempty"`
	// Span is the place of that request in its trace. It is not stored: zero after a restart.
	Span Span `json:"-"`
	Delivery
}

// Span is a place in a trace, of W3C Trace Context. Zero: nobody has said where.
type Span struct {
	ID      [8]byte
	Sampled bool // whoever began the trace has it recorded
}

// Delivery is what has become of an event at one webhook. It changes with each attempt; the event does not.
type Delivery struct {
	Webhook string   `json:"webhook,omitempty"` // its name; empty for the only one of a range
	Copy    bool     `json:"copy,omitempty"`    // readers of the log have the event from another entry
	Attempt *Attempt `json:"attempt,omitempty"` // the newest; nil while there was none
	// Again is true while the event waits to be sent once more, because somebody has asked for it. Earlier
	// are the attempts before the newest, oldest first: the first one, and the last of the others.
	Again   bool      `json:"again,omitempty"`
	Earlier []Attempt `json:"earlier,omitempty"`
}

// Pending reports whether an attempt has to be made.
func (d Delivery) Pending() bool { return d.Attempt == nil || d.Again || d.AwaitsRetry() }

// AwaitsRetry reports whether the newest attempt failed and another one follows at its RetryAt.
func (d Delivery) AwaitsRetry() bool {
	return !d.Again && d.Attempt != nil && !d.Attempt.RetryAt.IsZero()
}

// EventSelection is a part of the event log, for whoever asks for its events again.
type EventSelection struct {
	After, Until uint64 // cursors; Until is the last one
	Kinds        []Kind // none: all of them
	Webhook      string // the deliveries to that one; empty: those that readers of the log see
	Whole        bool   // refused with ErrEventsGone if events behind After are not kept any more
}

// ErrEventsGone means that events of the selection are not kept any more.
var ErrEventsGone = errors.New("events of the selection are not kept any more")

// Redelivery is what came of such a request: how many events are sent again, and the cursor behind which the
// next request has to go on, of the log with that LogID; 0 when all were looked at.
type Redelivery struct {
	Events int
	Next   uint64
	Log    uint64
}

// Redelivered reports whether an attempt to deliver the event was begun before the newest one, so that the
// receiver may have it.
func (d Delivery) Redelivered() bool {
	return slices.ContainsFunc(d.Earlier, func(a Attempt) bool {
		return !strings.HasPrefix(a.Error, NotSent) && !strings.HasPrefix(a.Error, Dropped)
	})
}

// Redeliverable reports whether the event may be sent again: it is not one to decide on, and its delivery has
// ended or awaits a retry.
func (l Logged) Redeliverable() bool {
	return l.Event.Kind != PurchaseRequest && (l.AwaitsRetry() || !l.Pending()) && l.Attempt.Error != UnderWay
}

// maxAttemptsKept bounds what is kept of attempts before the newest.
const maxAttemptsKept = 20

// Reopened returns a pending event as its next attempt begins: without an attempt, behind those that were made.
func (l Logged) Reopened() Logged {
	if l.Attempt != nil {
		ended := *l.Attempt
		ended.RetryAt = time.Time{}
		l.Earlier = append(slices.Clone(l.Earlier), ended)
		if len(l.Earlier) > maxAttemptsKept {
			l.Earlier = slices.Delete(l.Earlier, 1, 2)
		}
	}
	l.Attempt, l.Again = nil, false
	return l
}

// addEvent appends an event of the session. Its id is made of the session's id and the event's number, so
// that the same decision taken again gives the same id.
func (c *Change) addEvent(kind Kind, s *Session, lane uuid.UUID, at Instant) {
	if len(c.Events) == 0 {
		c.decision.Late, c.decision.Advanced, c.decision.Uncharged = c.decided.Since(at), s.Advanced, s.Uncharged
		c.decision.Stepped = c.decided.Wall.Sub(at.Wall) - c.decision.Late
	}
	s.Facts++
	s.Advanced, s.Uncharged = 0, 0
	c.Events = append(c.Events, Event{
		ID: EventID(s.ID, s.Facts), Kind: kind, Session: s.ID, Lane: lane, At: at.Wall, Correlation: s.Correlation,
	})
}

// EventID is the id of a session's event with that number, the first being 1: the UUID of version 5 (RFC 9562) in the
// session's namespace whose name is the number, in eight bytes. It is uuid.NewSHA1 without its four allocations.
func EventID(session uuid.UUID, number uint64) uuid.UUID {
	var name [len(session) + 8]byte
	copy(name[:], session[:])
	binary.BigEndian.PutUint64(name[len(session):], number)
	sum := sha1.Sum(name[:])
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 5<<4
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Attempt is a delivery of an event, or why there was none. The first one is written before the request goes out, as
// interrupted, and again when the outcome is known: a crash between the two leaves it interrupted.
type Attempt struct {
	At     time.Time `json:"at"`
	Status int       `json:"status,omitempty"` // the receiver's HTTP status, 0 when it gave none
	// empty for a delivery; else one of the words below, and maybe ": " and more
	Error    string        `json:"error,omitempty"`
	Duration time.Duration `json:"duration_ns"`
	// What follows from it by the range's RetryPolicy: when the event is tried again, or that it no longer
	// is. Both are zero without one.
	RetryAt time.Time `json:"retry_at,omitzero"`
	GivenUp bool      `json:"given_up,omitempty"`
}

// The errors of attempts, each the first words of Attempt.Error.
const (
	Refused     = "refused"     // the receiver answered, and not with 2xx
	TimedOut    = "timed out"   // no answer in time
	Unreachable = "unreachable" // the request could not be sent
	Interrupted = "interrupted" // begun, and nobody saw its end
	NotSent     = "not sent"    // never begun, and never will be
	Dropped     = "dropped"     // never begun: too many events were waiting, or their range has left
)

// UnderWay is the error of an attempt that is being made now, to whoever reads the event log. It is saved as
// Interrupted.
const UnderWay = "under way"

// Why an event is not sent: when it happened, or when it was to be sent, no webhook was configured, or none
// that gets its kind; or the webhook had answered 410 (Attempt.Gone).
const (
	NoWebhook   = NotSent + ": no webhook is configured"
	NotWanted   = NotSent + ": no webhook gets events of this kind"
	WebhookGone = NotSent + ": the webhook has answered 410 Gone, and gets nothing until the configuration is reloaded"
)

// Outcomes are the words that there are for what became of an event.
var Outcomes = []string{"delivered", "refused", "timed_out", "unreachable", "interrupted", "not_sent", "dropped"}

// Outcome is one word for what became of the event, one of Outcomes.
func (a Attempt) Outcome() string {
	word, _, _ := strings.Cut(a.Error, ":")
	if word == "" {
		return "delivered"
	}
	return strings.ReplaceAll(word, " ", "_")
}

// Answered reports whether the receiver gave a status, whichever.
func (a Attempt) Answered() bool { return a.Status != 0 }

// Gone reports whether the receiver wants no more events at this address.
func (a Attempt) Gone() bool { return a.Status == 410 }
