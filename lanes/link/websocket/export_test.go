package websocket

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/gobwas/ws"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// SetTimeouts shortens LINK.md's times for tests.
func (d *Driver) SetTimeouts(hello, ping, silence, write time.Duration) {
	d.timeouts = timeouts{hello, ping, silence, write}
}

// Silence returns the time since the controller's last sign of life.
func Silence(c link.Connection) time.Duration { return c.(*connection).socket.silence() }

// Connected returns a connection after the handshake and the hellos.
func Connected(wire net.Conn, receiver link.Receiver) link.Connection {
	d := New(Settings{Now: func() lanes.Instant { return lanes.Instant{} }})
	return newConnection(&d.timeouts, newSocket(ws.StateClientSide, wire, wire, d.settings), "log", "", receiver)
}

// SetSent makes the connection one that has written that many states.
func SetSent(conn link.Connection, states uint64) {
	c := conn.(*connection)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = states
}

// SpendBudget returns a function that takes an empty message out of a new budget at that millisecond.
func SpendBudget() func(millisecond int) error {
	b := new(budget)
	return func(millisecond int) error { return b.spend(time.Duration(millisecond)*time.Millisecond, 0) }
}

// Upgrade makes only the handshake.
func Upgrade(wire net.Conn) error {
	s := &socket{side: ws.StateClientSide, frames: wire, wire: wire}
	return s.upgrade(context.Background(), &url.URL{Scheme: "ws", Host: "lane.example", Path: "/"})
}

// Admission is the admission of an acceptor, with attempts of a network for a range and links of one.
type Admission struct{ admission }

// Ask is an attempt.
func (a *Admission) Ask(now time.Duration, perSecond int, network string, rangeID uuid.UUID) (wait time.Duration) {
	return a.ask(now, perSecond, origin{netip.MustParsePrefix(network), rangeID})
}

// Linked is a link.
func (a *Admission) Linked(now time.Duration, perSecond int, rangeID uuid.UUID) {
	a.linked(now, perSecond, rangeID)
}

// Origins returns how many origins the admission knows.
func (a *Admission) Origins() int { return len(a.attempts) }

// Places returns how many lanes the acceptor knows of.
func (a *Acceptor) Places() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.slots)
}
