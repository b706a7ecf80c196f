package websocket

import (
	"errors"
	"fmt"
	"time"

	"github.com/gobwas/ws"
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
	if err := c.socket.write(ws.OpPing, nil); err != nil {
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
