// Package link says what a connection to a lane's hardware is. Each folder below it is a driver: code that speaks one
// kind of link. Every driver passes the suite in linktest.
//
// A link is told the state that is wanted of the lane, whole, never a queue of orders: whatever was missed while it
// was down, the newest state alone makes the lane right again.
package link

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Driver connects to the hardware of lanes. It is used by many lanes at once.
type Driver interface {
	// Dial connects to the lane's controller and gives its hello. It blocks until the link is up or ctx ends. What
	// comes in afterwards goes to the receiver, which may be called before Dial has returned.
	Dial(ctx context.Context, lane Lane, to Receiver) (Connection, Hello, error)
}

// Lane names the lane to connect to and what its controller is told in the gateway's hello (LINK.md).
type Lane struct {
	Range uuid.UUID
	ID    uuid.UUID
	Epoch uint64
	// HoldOnLoss locks the fire line when the controller loses the gateway; otherwise what runs goes on to its end.
	HoldOnLoss bool
}

// ErrFaulty is of a controller that is there and not in order: it refuses the hello, is another lane's, or breaks a rule
// of the protocol. Errors of Dial and Down that are not ErrFaulty mean that it could not be reached, or not any more.
var ErrFaulty = errors.New("the controller is faulty")

// ErrSilent is of a controller that has given no sign of life for too long, although nothing says that it is gone.
var ErrSilent = errors.New("the controller has been silent")

// Hello is what the controller says of itself when the link comes up.
type Hello struct {
	LogID    string // names its report log
	Firmware string
	Hold     bool          // its fire line is held
	Session  uuid.UUID     // uuid.Nil: none
	Phase    lanes.Phase   // of that session, as the controller has it
	Left     time.Duration // of that session
	Faults   []string      // of the hardware, in force
}

// Connection is one connection's life. None of its methods blocks.
type Connection interface {
	// Send makes s the state that is wanted. A newer one replaces one that is not sent yet.
	Send(s State)
	// Ack tells the controller that the report seq of the log and all before it are saved.
	Ack(log lanes.Log)
	// Close ends the connection and releases all it holds. Once it has returned the receiver hears no more of it.
	// It may be called again, and after the connection has failed.
	Close()
}

// Receiver hears of one connection. Its methods do not block and do not call the connection.
type Receiver interface {
	// Applied: the state of that revision is in force on the lane.
	Applied(revision uint64)
	// Reported: something happened on the lane. A report comes again on a later connection until it is acked.
	Reported(lanes.Report)
	// Down: the connection has failed. Called once, and never for one that was closed.
	Down(err error)
}

// State is everything that is wanted of a lane's hardware.
type State struct {
	Revision   uint64         // counts from 1 in each connection
	Hold       bool           // the fire line is locked, whatever the session
	Session    *lanes.Session // nil: none, the fire line is locked; what it points to is never changed
	Purchasing bool           // lane purchasing is in effect for the session
}

// Open tells whether the state lets anyone shoot at now.
func (s State) Open(now lanes.Instant) bool {
	return !s.Hold && s.Session != nil && s.Session.Phase == lanes.Running && s.Session.Remaining(now) > 0
}
