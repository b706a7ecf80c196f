package websocket

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var errSilent = errors.New("the controller has been silent for 15 s")

// beat pings the controller every few seconds, and gives it up when it has been silent for too long.
func (c *connection) beat() {
	waits := c.driver.waits
	silent := c.socket.silent()
	if silent >= waits.silent {
		c.fail(errSilent)
		return
	}
	if !c.beatAgain(min(waits.ping, waits.silent-silent)) {
		return
	}
	// The pong counts whenever it comes: it is not waited for longer than it takes to know that the ping was written.
	ctx, cancel := context.WithTimeout(context.Background(), 2*waits.write)
	defer cancel()
	if err := c.socket.frames.Ping(ctx); err != nil && ctx.Err() == nil {
		c.fail(fmt.Errorf("writing a ping: %w", err))
	}
}

func (c *connection) beatAgain(after time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.pulse.Reset(after)
	return true
}
