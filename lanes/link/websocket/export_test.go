package websocket

import (
	"time"

	"rangegate/lanes/link"
)

// Hurry makes the driver wait for so long, for tests that cannot wait for LINK.md's times.
func (d *Driver) Hurry(hello, ping, silent, write time.Duration) {
	d.waits = waits{hello, ping, silent, write}
}

// Silent is how long the controller has given no sign of life.
func Silent(c link.Connection) time.Duration { return c.(*connection).socket.silent() }
