package sim

import (
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// lostAfter is how long a gateway may be silent before what its hello said of on_loss comes into force (LINK.md).
const lostAfter = 15 * time.Second

// watch is how a controller watches over the gateway. A connection inside the process shows by itself that the gateway
// is there, as long as it is up; over a real wire every message and ping does (Line.Heard).
type watch struct {
	hold  bool          // what the hello said: lock the fire line when the gateway is lost
	heard time.Duration // the last sign of life, by the controller's own clock
}

// look reads the clock, and puts in force what the controller has done by itself until now. mu is held.
func (c *Controller) look() lanes.Instant {
	now := c.driver.now()
	present := c.newest != nil && !c.newest.wired
	if lost := c.watch.heard + lostAfter; c.watch.hold && !present && !c.line.hold && now.Mono >= lost {
		c.line = c.line.heldAt(lost)
	}
	return now
}

// heard notes a sign of life. The controller's mu is held.
func (conn *connection) heard() {
	if c := conn.controller; c.newest == conn {
		c.watch.heard = c.look().Mono
	}
}

// left notes that the connection is no more. The controller's mu is held.
func (conn *connection) left(now lanes.Instant) {
	if !conn.wired {
		conn.controller.watch.heard = now.Mono
	}
}

// Line is a connection to a controller over a real wire, for whoever listens at the controller's end of it.
type Line struct{ *connection }

// Heard is a sign of life of the gateway that is no state and no ack.
func (l Line) Heard() {
	l.controller.mu.Lock()
	defer l.controller.mu.Unlock()
	l.heard()
}

// Answer is Dial for a gateway that has said hello over a real wire.
func (d *Driver) Answer(lane link.Lane, to link.Receiver) (Line, link.Hello, error) {
	conn, hello, err := d.Controller(lane.ID).connect(lane, to, true)
	return Line{conn}, hello, err
}

var _ link.Connection = Line{}
