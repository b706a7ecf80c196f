package websocket

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gobwas/ws"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

var errSilent = fmt.Errorf("%w for %s", link.ErrSilent, silenceTimeout)

// connection is one connection to a controller, after the hellos. Whatever ends it closes the socket; only
// the goroutine that reads then calls Down.
type connection struct {
	timeouts *timeouts
	socket   *socket
	log      string // the id of the controller's report log
	receiver link.Receiver

	// calling is held during every call of the receiver. Close acquires it, and so waits for a call that has begun;
	// receivers do not block and do not call the connection.
	calling sync.Mutex
	muted   bool // no more calls of the receiver; guarded by calling

	mu      sync.Mutex
	ended   bool        // failed or closed: it accepts nothing more
	cause   error       // why it failed; nil when it was closed
	proof   string      // for the first state; empty without a key, and afterwards
	sent    uint64      // revision of the newest state that was written
	wanted  *link.State // not sent yet
	acks    []lanes.Log // not sent yet, one for each log
	writing bool        // the writing goroutine runs
	pinger  *time.Timer
	stopped func() // called once, when it has ended; nil for none

	confirmed uint64 // the newest revision that the controller has confirmed; only the goroutine that reads uses it
}

// newConnection makes a connection whose first state has that proof, if any.
func newConnection(t *timeouts, s *socket, log, proof string, receiver link.Receiver) *connection {
	c := &connection{timeouts: t, socket: s, log: log, proof: proof, receiver: receiver}
	c.mu.Lock() // ping waits until pinger is set
	c.pinger = time.AfterFunc(t.ping, c.ping)
	c.mu.Unlock()
	go c.read()
	return c
}

// Send makes s the desired state. A newer state that was not sent yet remains.
func (c *connection) Send(s link.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.wanted != nil && s.Revision < c.wanted.Revision {
		return
	}
	c.wanted = &s
	c.startWriter()
}

// Ack acks a report and all before it. Of several acks for a log only the newest is sent.
func (c *connection) Ack(log lanes.Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	for i, waiting := range c.acks {
		if waiting.ID == log.ID {
			c.acks[i].Seq = max(waiting.Seq, log.Seq)
			return
		}
	}
	c.acks = append(c.acks, log)
	c.startWriter()
}

// startWriter starts the writing goroutine unless it runs. mu is held.
func (c *connection) startWriter() {
	if !c.writing {
		c.writing = true
		go c.write()
	}
}

func (c *connection) write() {
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

// next returns the next message to write: the state before the acks, because it may close a fire line, and
// because a controller with a key believes no ack before the proof in the first state.
func (c *connection) next() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.wanted; s != nil {
		text := frame.State(frame.ProvenState{State: *s, Proof: c.proof}, c.socket.now())
		c.wanted, c.proof, c.sent = nil, "", s.Revision
		return text
	}
	if len(c.acks) > 0 && c.proof == "" {
		log := c.acks[0]
		if c.acks = c.acks[1:]; len(c.acks) == 0 {
			c.acks = nil // an idle lane has no buffer
		}
		return frame.Ack(log)
	}
	c.writing = false
	return nil
}

// ping pings the controller periodically, and fails the connection when the controller was silent for too long.
func (c *connection) ping() {
	timeouts := c.timeouts
	silence := c.socket.silence()
	if silence >= timeouts.silence {
		c.fail(errSilent)
		return
	}
	if !c.schedulePing(min(timeouts.ping, timeouts.silence-silence)) {
		return
	}
	c.socket.notePing()
	if err := c.socket.write(ws.OpPing, nil); err != nil {
		c.fail(fmt.Errorf("writing a ping: %w", err))
	}
}

func (c *connection) schedulePing(after time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.pinger.Reset(after)
	return true
}

// read reads the next message, and continues in a new goroutine: reading a message needs more stack than
// waiting for one, and a stack that has grown seldom shrinks. At the end of the connection it calls Down.
func (c *connection) read() {
	h, err := c.socket.readHeader(newMessage)
	if err == nil {
		err = c.handle(h)
	}
	if err == nil {
		go c.read()
		return
	}
	c.end(err)
}

func (c *connection) handle(h ws.Header) error {
	message, err := c.socket.readBody(h)
	if err != nil {
		return err
	}
	switch m := message.(type) {
	case frame.Applied:
		if c.confirms(uint64(m)) {
			c.socket.budget.refund()
		}
		c.call(func(receiver link.Receiver) { receiver.Applied(uint64(m)) })
	case lanes.Report:
		m.Log.ID = c.log
		c.call(func(receiver link.Receiver) { receiver.Reported(m) })
	case frame.Hello:
		return violation{ws.StatusPolicyViolation, errors.New("a second hello")}
	}
	return nil
}

// confirms reports whether the controller confirms a state that was written and not confirmed before. The
// gateway sends as many states as it is asked for, so their confirmations are no flood.
func (c *connection) confirms(revision uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := revision > c.confirmed && revision <= c.sent
	if first {
		c.confirmed = revision
	}
	return first
}

func (c *connection) call(method func(link.Receiver)) {
	c.calling.Lock()
	defer c.calling.Unlock()
	if !c.muted {
		method(c.receiver)
	}
}

// end closes the socket, and calls Down with the first cause unless the connection was closed.
func (c *connection) end(err error) {
	c.stop(err)
	c.socket.end(c.timeouts.write, err)
	c.mu.Lock()
	cause := c.cause
	c.mu.Unlock()
	if cause == nil {
		return
	}
	c.call(func(receiver link.Receiver) {
		c.muted = true
		receiver.Down(cause)
	})
}

// fail ends the connection with a cause.
func (c *connection) fail(cause error) {
	if c.stop(cause) {
		_ = c.socket.wire.Close()
	}
}

// onStop has the function called when the connection has ended: in a goroutine of its own if it has by now.
func (c *connection) onStop(stopped func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		go stopped()
		return
	}
	c.stopped = stopped
}

// stop makes the connection accept nothing more, and keeps the cause, nil for Close. It reports whether this
// was the first call.
func (c *connection) stop(cause error) bool {
	stopped, first := c.markEnded(cause)
	if stopped != nil {
		stopped()
	}
	return first
}

func (c *connection) markEnded(cause error) (stopped func(), first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, false
	}
	c.ended, c.cause, c.wanted, c.acks = true, cause, nil, nil
	c.pinger.Stop()
	return c.stopped, true
}

// Close waits for a call of the receiver that has begun, and prevents further ones.
func (c *connection) Close() {
	c.stop(nil)
	_ = c.socket.wire.Close()
	c.calling.Lock()
	defer c.calling.Unlock()
	c.muted = true
}
