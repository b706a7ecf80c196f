package websocket

import (
	"errors"

	"github.com/gobwas/ws"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// listen takes the next frame, or the message that begins with it, and leaves what comes after it to another goroutine:
// taking one needs more stack than waiting for one, and what a stack has grown by it seldom gives back. When the
// connection has ended it says so.
func (c *connection) listen() {
	h, err := c.socket.header(between)
	if err == nil {
		err = c.hear(h)
	}
	if err == nil {
		go c.listen()
		return
	}
	c.end(err)
}

// end is of a connection that failed, for that reason unless there was another before. One that was closed just ends.
func (c *connection) end(err error) {
	c.stop(err)
	c.socket.end(c.driver.waits.write, err)
	c.mu.Lock()
	cause := c.cause
	c.mu.Unlock()
	if cause == nil {
		return
	}
	c.tell(func(to link.Receiver) {
		c.silent = true
		to.Down(cause)
	})
}

func (c *connection) hear(h ws.Header) error {
	message, err := c.socket.rest(h)
	if err != nil {
		return err
	}
	switch m := message.(type) {
	case frame.Applied:
		c.tell(func(to link.Receiver) { to.Applied(uint64(m)) })
	case lanes.Report:
		m.Log.ID = c.log
		c.tell(func(to link.Receiver) { to.Reported(m) })
	case frame.Hello:
		return broken{ws.StatusPolicyViolation, errors.New("a second hello")}
	}
	return nil
}

func (c *connection) tell(what func(link.Receiver)) {
	c.speaking.Lock()
	defer c.speaking.Unlock()
	if !c.silent {
		what(c.to)
	}
}
