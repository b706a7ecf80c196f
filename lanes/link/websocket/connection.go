package websocket

import (
	"fmt"
	"sync"
	"time"

	"github.com/gobwas/ws"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// connection is one connection's life, from the hellos on. Whatever ends it closes the socket, and the goroutine that
// reads notices: that one alone tells the receiver.
type connection struct {
	driver *Driver
	socket *socket
	log    string // the name of the controller's
	to     link.Receiver

	// speaking is held during every call of the receiver. Close takes it, and so waits for a call under way; as
	// receivers do not block and do not call the connection, that is never long.
	speaking sync.Mutex
	silent   bool // guarded by speaking: the receiver hears no more

	mu      sync.Mutex
	over    bool        // failed or closed: it takes nothing more
	cause   error       // why it failed; nil when it was closed
	wanted  *link.State // not sent yet
	acks    []lanes.Log // not sent yet, one a log
	writing bool        // the goroutine is there
	pulse   *time.Timer
}

func newConnection(d *Driver, s *socket, log string, to link.Receiver) *connection {
	c := &connection{driver: d, socket: s, log: log, to: to}
	c.mu.Lock() // the first beat waits until there is a pulse
	c.pulse = time.AfterFunc(d.waits.ping, c.beat)
	c.mu.Unlock()
	go c.listen()
	return c
}

// Send makes s the state that is wanted. An older one does not replace one that is not sent yet.
func (c *connection) Send(s link.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.wanted != nil && s.Revision < c.wanted.Revision {
		return
	}
	c.wanted = &s
	c.write()
}

// Ack is cumulative, so of acks not sent yet the newest of a log is enough.
func (c *connection) Ack(log lanes.Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	for i, waiting := range c.acks {
		if waiting.ID == log.ID {
			c.acks[i].Seq = max(waiting.Seq, log.Seq)
			return
		}
	}
	c.acks = append(c.acks, log)
	c.write()
}

// write sees to it that somebody writes. mu is held.
func (c *connection) write() {
	if !c.writing {
		c.writing = true
		go c.writeAll()
	}
}

func (c *connection) writeAll() {
	for {
		text := c.next()
		if text == nil {
			return
		}
		if err := c.socket.write(ws.OpText, text); err != nil {
			c.fail(fmt.Errorf("writing: %w", err))
			return
		}
	}
}

// next is what is to be written now: the state before the acks, as it may close a fire line.
func (c *connection) next() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.wanted; s != nil {
		c.wanted = nil
		return frame.State(*s, c.driver.settings.Now())
	}
	if len(c.acks) > 0 {
		log := c.acks[0]
		if c.acks = c.acks[1:]; len(c.acks) == 0 {
			c.acks = nil // an idle lane keeps no buffer
		}
		return frame.Ack(log)
	}
	c.writing = false
	return nil
}

// fail ends the connection for that cause.
func (c *connection) fail(cause error) {
	if c.stop(cause) {
		_ = c.socket.wire.Close()
	}
}

// stop takes nothing more from here on, for that cause; nil: it is being closed. It tells whether it was the first to.
func (c *connection) stop(cause error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.over, c.cause, c.wanted, c.acks = true, cause, nil, nil
	c.pulse.Stop()
	return true
}

// Close waits for a call of the receiver that is under way, and lets no other begin.
func (c *connection) Close() {
	c.stop(nil)
	_ = c.socket.wire.Close()
	c.speaking.Lock()
	defer c.speaking.Unlock()
	c.silent = true
}
