package websocket

import (
	"fmt"
	"time"

	"github.com/gobwas/ws"

	"rangegate/lanes/link"
)

var errSilent = fmt.Errorf("%w for %s", link.ErrSilent, silentFor)

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
	c.socket.pings()
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
