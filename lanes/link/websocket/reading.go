package websocket

import (
	"context"
	"errors"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// listen takes the next message, and leaves the one after it to another goroutine: reading a message needs more stack
// than waiting for one, and what a stack has grown by it seldom gives back. When the connection has ended it says so.
func (c *connection) listen() {
	err := c.hear()
	if err == nil {
		go c.listen()
		return
	}
	c.stop(err)
	c.socket.end(c.driver.waits.write, err)
	c.mu.Lock()
	if c.cause != nil {
		err = c.cause
	}
	c.mu.Unlock()
	c.tell(func(to link.Receiver) {
		c.silent = true
		to.Down(err)
	})
}

func (c *connection) hear() error {
	message, err := c.socket.read(context.Background())
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
		return broken{errors.New("a second hello")}
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
