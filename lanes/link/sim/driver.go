// Package sim is simulated lane hardware in the process. It behaves as LINK.md requires of a controller,
// without the wire. An idle lane has no goroutine and no timer (a countdown is computed when it is read), and
// uses about 400 bytes (TestAnIdleLaneIsCheap).
//
// A Controller outlives its connections, as hardware does. Locks are acquired in this order: connection.calling,
// Autopilot.mu, Controller.mu. Receivers are called with only calling held.
package sim

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Driver connects to simulated controllers, one for each lane. It makes a controller at its first use.
type Driver struct {
	now       func() lanes.Instant
	observe   func(epoch uint64, shown Shown) // nil: nobody observes
	autopilot atomic.Pointer[Autopilot]

	mu          sync.Mutex
	controllers map[uuid.UUID]*Controller
}

var _ link.Driver = (*Driver)(nil)

// New makes a driver whose controllers use that clock. Countdowns use only its Mono.
func New(now func() lanes.Instant) *Driver {
	return &Driver{now: now, controllers: make(map[uuid.UUID]*Controller)}
}

// Observe has the driver tell of every state that a controller puts in force, and of the epoch of the gateway
// that has sent it. It is called in the order of the states, with the controller's lock held, and has to be
// set before the first dial.
func (d *Driver) Observe(observe func(epoch uint64, shown Shown)) { d.observe = observe }

// Controller returns the lane's controller, which was powered up at its first use.
func (d *Driver) Controller(lane uuid.UUID) *Controller {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, found := d.controllers[lane]
	if !found {
		c = &Controller{driver: d, log: newReportLog()}
		d.controllers[lane] = c
	}
	return c
}

// Dial does not block: it fails when ctx has ended or the controller refuses, and otherwise connects.
func (d *Driver) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	if err := ctx.Err(); err != nil {
		return nil, link.Hello{}, err
	}
	t := tap{d, lane.Taps, lane.ID}
	t.greeting(lane)
	conn, hello, err := d.Controller(lane.ID).connect(lane, receiver, false)
	if err != nil {
		return nil, link.Hello{}, err
	}
	return conn, hello, nil
}

// Greet returns the hello for a gateway over a wire that has still to prove that it has the lane's key. It
// changes nothing at the controller and remembers nothing of the gateway: Accept does, once the gateway has
// proven itself.
func (d *Driver) Greet(lane link.Lane) (link.Hello, error) { return d.Controller(lane.ID).greet(lane) }

// Accept is Dial for a gateway that has sent its hello over a wire, and has proven itself on a lane with a key.
func (d *Driver) Accept(lane link.Lane, receiver link.Receiver) (WireConnection, link.Hello, error) {
	conn, hello, err := d.Controller(lane.ID).connect(lane, receiver, true)
	return WireConnection{conn}, hello, err
}

// stateChanged notifies the autopilot, if one runs. The caller does not hold the controller's lock; calls may
// come in any order, since the autopilot reads the state itself.
func (d *Driver) stateChanged(c *Controller) {
	if autopilot := d.autopilot.Load(); autopilot != nil {
		autopilot.update(c)
	}
}

func (d *Driver) allControllers() []*Controller {
	d.mu.Lock()
	defer d.mu.Unlock()
	controllers := make([]*Controller, 0, len(d.controllers))
	for _, c := range d.controllers {
		controllers = append(controllers, c)
	}
	return controllers
}

// connection is one connection to a controller. A goroutine calls the receiver, and exists only while calls
// are queued: the receiver is never called inside Send, Ack or a method of the controller, as with hardware
// on a wire.
type connection struct {
	controller *Controller
	receiver   link.Receiver
	wired      bool // over a wire: see liveness
	tap        tap

	// calling is held during every call of the receiver. Close acquires it, and so waits for a call that has begun;
	// receivers do not block and do not call the connection.
	calling sync.Mutex

	// The controller's mu guards these.
	ended      bool                  // failed or closed: it accepts nothing and queues no more calls
	stateTaken bool                  // it has applied a state
	wanted     *link.State           // not applied yet
	queue      []func(link.Receiver) // calls of the receiver, in order
	running    bool                  // the goroutine runs
}

var _ link.Connection = (*connection)(nil)

// Send applies the state at once, unless the controller is stalled. It ignores a state older than the last
// one; the first one is never ignored.
func (conn *connection) Send(s link.State) {
	c := conn.controller
	c.mu.Lock()
	conn.heard()
	applied := false
	if !conn.ended {
		conn.tap.state(s)
	}
	if !conn.ended && (conn.wanted == nil || s.Revision >= conn.wanted.Revision) {
		conn.wanted = &s
		applied = conn.apply()
	}
	c.mu.Unlock()
	if applied {
		c.driver.stateChanged(c)
	}
}

// apply applies the wanted state, if there is one and the controller is not stalled. The controller's mu is held.
func (conn *connection) apply() bool {
	c, s := conn.controller, conn.wanted
	if s == nil || c.stalled {
		return false
	}
	conn.wanted = nil
	if conn.stateTaken && s.Revision < c.line.Revision {
		return false
	}
	conn.stateTaken = true
	c.line = newFireLine(*s, c.driver.now(), c.older)
	c.observe()
	revision := s.Revision
	conn.enqueue(func(receiver link.Receiver) {
		conn.tap.applied(revision)
		receiver.Applied(revision)
	})
	return true
}

// Ack removes the reports of that log up to that number.
func (conn *connection) Ack(log lanes.Log) {
	c := conn.controller
	c.mu.Lock()
	defer c.mu.Unlock()
	conn.heard()
	if !conn.ended {
		conn.tap.ack(log)
		c.log.ack(log)
	}
}

// Close waits for a call of the receiver that has begun, and prevents further ones.
func (conn *connection) Close() {
	conn.calling.Lock()
	defer conn.calling.Unlock()
	c := conn.controller
	c.mu.Lock()
	defer c.mu.Unlock()
	conn.ended, conn.queue, conn.wanted = true, nil, nil
	if c.newest == conn {
		conn.left(c.update())
		c.newest = nil
	}
}

// heard notes a sign of life of the gateway. The controller's mu is held.
func (conn *connection) heard() {
	if c := conn.controller; c.newest == conn {
		c.liveness.heard = c.update().Mono
	}
}

// left notes that the connection has ended. The controller's mu is held.
func (conn *connection) left(now lanes.Instant) {
	if !conn.wired {
		conn.controller.liveness.heard = now.Mono
	}
}

// report queues a report, whose age is computed when it is sent: clocks need not agree. The controller's mu is held.
func (conn *connection) report(r report) {
	now := conn.controller.driver.now
	conn.enqueue(func(receiver link.Receiver) {
		r.Age = now().Mono - r.at
		conn.tap.report(r.Report)
		receiver.Reported(r.Report)
	})
}

// fail ends the connection; the call of Down follows all queued calls. The controller's mu is held.
func (conn *connection) fail(err error) {
	conn.enqueue(func(receiver link.Receiver) { receiver.Down(err) })
	conn.ended, conn.wanted = true, nil
}

func (conn *connection) enqueue(call func(link.Receiver)) {
	conn.queue = append(conn.queue, call)
	if !conn.running {
		conn.running = true
		go func() {
			for conn.callNext() {
			}
		}()
	}
}

// callNext removes the next call from the queue while it holds calling: after Close the queue is empty for good.
func (conn *connection) callNext() bool {
	conn.calling.Lock()
	defer conn.calling.Unlock()
	call := conn.next()
	if call == nil {
		return false
	}
	call(conn.receiver)
	return true
}

func (conn *connection) next() func(link.Receiver) {
	conn.controller.mu.Lock()
	defer conn.controller.mu.Unlock()
	if len(conn.queue) == 0 {
		conn.queue, conn.running = nil, false
		return nil
	}
	call := conn.queue[0]
	conn.queue = conn.queue[1:]
	return call
}

// WireConnection is a connection over a wire, for the program at the controller's end of it.
type WireConnection struct{ *connection }

// Heard resets the liveness timer, for a ping or an unknown message.
func (w WireConnection) Heard() {
	w.controller.mu.Lock()
	defer w.controller.mu.Unlock()
	w.heard()
}
