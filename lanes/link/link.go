// Package link is the contract of a connection to a lane's hardware. The folders sim and websocket are
// drivers, and pass the suite in linktest.
//
// A link sends the complete desired state of the lane, never a queue of orders: after any outage the newest state alone
// corrects the lane.
package link

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Driver connects to the hardware of lanes. Many lanes use it at once.
type Driver interface {
	// Dial connects to the lane's controller and returns its hello. It blocks until the link is up or ctx ends. The
	// receiver may be called before Dial has returned. Errors: ErrFaulty; any other means that the controller could not
	// be reached.
	Dial(ctx context.Context, lane Lane, receiver Receiver) (Connection, Hello, error)
}

// Awaiter is a Driver that can also wait for controllers that dial.
type Awaiter interface {
	Driver
	// Awaits reports whether the lane's controller dials. Such a lane is waited for, and no other.
	Awaits(lane uuid.UUID) bool
	// Await says that the lane waits for its controller, instead of whoever waited for it before with no
	// higher epoch: a lane of a range that is being dropped here does not displace that of the range claimed
	// anew. It returns at once, and a lane that waits has no goroutine. The wait ends with the call of
	// Arrived, or with cancel; an arrival that has begun by then is still told.
	Await(lane Lane, waiter Waiter) (cancel func())
}

// Waiter is the receiver of a lane that waits for its controller, and of the connection that comes of it.
type Waiter interface {
	Receiver
	// Arrived is the end of the wait: the link is up, or err is ErrFaulty because the lane's controller has
	// dialled and is not in order. It is called once, and from a goroutine of its own; the Receiver may be
	// called before.
	Arrived(connection Connection, hello Hello, err error)
	// Contested means that a second controller of the lane was refused, which dialled from that address while
	// the link to the one at the other address was up. Both have the lane's key, if it has one.
	Contested(refused, linked string)
}

// ErrReplaced means that the controller has dialled anew, and its older connection ended for the newer one.
var ErrReplaced = errors.New("the controller has dialled anew")

// Lane is the lane to connect to, with the content of the gateway's hello (LINK.md).
type Lane struct {
	Range uuid.UUID
	ID    uuid.UUID
	Epoch uint64
	// HoldOnLoss locks the fire line when the controller loses the gateway; otherwise a running session runs
	// to its end.
	HoldOnLoss bool
	// Taps get the frames of the link. nil: nobody follows them.
	Taps *Taps
}

// ErrFaulty means that the controller answers and is not in order: it refuses the hello, belongs to another
// lane, or breaks a rule of the protocol. Other errors of Dial and Down mean that it could not be reached, or
// is no longer reachable.
var ErrFaulty = errors.New("the controller is faulty")

// ErrSilent means that the controller has sent nothing for too long, although the connection has not failed.
var ErrSilent = errors.New("the controller has been silent")

// Hello is the controller's hello, when the link comes up.
type Hello struct {
	LogID    string // names its report log
	Firmware string
	Hold     bool          // its fire line is held
	Session  uuid.UUID     // uuid.Nil: none
	Phase    lanes.Phase   // of that session, as the controller has it
	Left     time.Duration // of that session
	Beyond   time.Duration // likewise: for so long it stays open when that is used up
	OpenEnd  bool          // it can do that: lines stay open beyond what was sold
	Faults   []string      // of the hardware, in force
	// Capabilities are the names of what it can do beside the protocol, at most MaxCapabilities of them. Never
	// modified.
	Capabilities []string
	// Address is where it is, as the gateway sees it, and nothing that it says; empty for one in the process.
	Address string
}

// What is kept of a controller's capabilities.
const (
	MaxCapabilities   = 16
	LongestCapability = 64 // bytes
)

// Connection is one connection to a controller. Its methods may be called from several goroutines. They do
// not block, except that Close waits for a call of the receiver.
type Connection interface {
	// Send makes s the desired state. It replaces an older one that was not sent yet.
	Send(s State)
	// Ack tells the controller that the report with that number, and all before it in that log, are saved.
	Ack(log lanes.Log)
	// Close ends the connection. The receiver is not called after it has returned. It may be called again,
	// and after the connection has failed.
	Close()
}

// Receiver receives the messages of one connection. Its methods do not block and do not call the connection.
type Receiver interface {
	// Applied means that the state of that revision is in force on the lane.
	Applied(revision uint64)
	// Reported is a report from the lane. It is repeated on later connections until it is acked.
	Reported(lanes.Report)
	// Down means that the connection has failed. It is called once, and never after Close.
	Down(err error)
}

// State is the complete desired state of a lane's hardware.
type State struct {
	Revision   uint64         // counts from 1 in each connection
	Hold       bool           // the fire line is locked, whatever the session
	Session    *lanes.Session // nil: none, and the fire line is locked; never modified
	Purchasing bool           // lane purchasing is in effect for the session
	// WarnAt are the times left at which the controller warns by itself; none: it does not. Never modified.
	WarnAt []time.Duration
}

// Same reports whether both ask the same of the hardware.
func (s State) Same(other State) bool {
	return s.Revision == other.Revision && s.Hold == other.Hold && s.Session == other.Session &&
		s.Purchasing == other.Purchasing &&
		slices.Equal(s.WarnAt, other.WarnAt)
}

// BeginsByItself reports whether the controller opens the fire line by itself at the start of the session.
func (s State) BeginsByItself() bool {
	return !s.Hold && s.Session != nil && s.Session.Phase == lanes.Waiting && s.Session.Start != nil
}

// Open reports whether the state opens the fire line at that time.
func (s State) Open(now lanes.Instant) bool {
	return !s.Hold && s.Session != nil && s.Session.Phase == lanes.Running && s.Session.RunsFor(now) > 0
}
