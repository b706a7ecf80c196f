package sim

import (
	"sync"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// connection is one connection's life. Its receiver is called from a goroutine that lives only while there is
// something to tell: never from inside Send, Ack or a method of the controller, just as with hardware on a wire.
type connection struct {
	controller *Controller
	to         link.Receiver
	wired      bool // over a real wire: see watch

	// speaking is held during every call of the receiver. Close takes it, and so waits for a call under way; as
	// receivers do not block and do not call the connection, that is never long.
	speaking sync.Mutex

	// The rest is guarded by the controller's mu.
	over    bool                  // failed or closed: it takes nothing more and has nothing more to tell
	taken   bool                  // a state was applied in this connection
	wanted  *link.State           // not applied yet
	outbox  []func(link.Receiver) // not told yet, in order
	telling bool                  // the goroutine is there
}

// Send applies the state at once, unless the controller is stalled. A state older than the last one taken changes
// nothing; the first one is always taken.
func (conn *connection) Send(s link.State) {
	c := conn.controller
	c.mu.Lock()
	conn.heard()
	applied := false
	if !conn.over && (conn.wanted == nil || s.Revision >= conn.wanted.Revision) {
		conn.wanted = &s
		applied = conn.apply()
	}
	c.mu.Unlock()
	if applied {
		c.driver.noticed(c)
	}
}

// apply puts the wanted state in force, if there is one and it may be. The controller's mu is held.
func (conn *connection) apply() bool {
	c, s := conn.controller, conn.wanted
	if s == nil || c.stalled {
		return false
	}
	conn.wanted = nil
	if conn.taken && s.Revision < c.line.revision {
		return false
	}
	conn.taken = true
	c.line = inForce(*s, c.driver.now())
	revision := s.Revision
	conn.tell(func(to link.Receiver) { to.Applied(revision) })
	return true
}

// Ack forgets the reports of that log up to that number.
func (conn *connection) Ack(log lanes.Log) {
	c := conn.controller
	c.mu.Lock()
	defer c.mu.Unlock()
	conn.heard()
	if !conn.over {
		c.log.ack(log)
	}
}

// Close waits for a call of the receiver that is under way, and lets no other begin.
func (conn *connection) Close() {
	conn.speaking.Lock()
	defer conn.speaking.Unlock()
	c := conn.controller
	c.mu.Lock()
	defer c.mu.Unlock()
	conn.over, conn.outbox, conn.wanted = true, nil, nil
	if c.newest == conn {
		conn.left(c.look())
		c.newest = nil
	}
}

// report tells the receiver what happened, with the age that it has then. The controller's mu is held.
func (conn *connection) report(log string, h happening) {
	now := conn.controller.driver.now
	conn.tell(func(to link.Receiver) { to.Reported(h.report(log, now())) })
}

// fail ends the connection; the receiver hears of it after all that came before. The controller's mu is held.
func (conn *connection) fail(err error) {
	conn.tell(func(to link.Receiver) { to.Down(err) })
	conn.over, conn.wanted = true, nil
}

func (conn *connection) tell(what func(link.Receiver)) {
	conn.outbox = append(conn.outbox, what)
	if !conn.telling {
		conn.telling = true
		go conn.tellAll()
	}
}

func (conn *connection) tellAll() {
	for conn.tellNext() {
	}
}

// tellNext takes the next call out of the box under speaking: once Close has had that lock, the box is empty for good.
func (conn *connection) tellNext() bool {
	conn.speaking.Lock()
	defer conn.speaking.Unlock()
	if what := conn.next(); what != nil {
		what(conn.to)
		return true
	}
	return false
}

func (conn *connection) next() func(link.Receiver) {
	conn.controller.mu.Lock()
	defer conn.controller.mu.Unlock()
	if len(conn.outbox) == 0 {
		conn.outbox, conn.telling = nil, false
		return nil
	}
	what := conn.outbox[0]
	conn.outbox = conn.outbox[1:]
	return what
}
