package lanesim

import (
	"sync"
	"time"

	"rangegate/lanes"
)

// clock is a controller's own.
type clock struct {
	now func() lanes.Instant

	mu      sync.Mutex
	behind  time.Duration  // the time that it has stood still, in all
	stopped *lanes.Instant // nil: it goes
}

// Now is the time by this clock.
func (c *clock) Now() lanes.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped != nil {
		return *c.stopped
	}
	return c.now().Add(-c.behind)
}

func (c *clock) stop(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reads := c.now().Add(-c.behind)
	switch {
	case on && c.stopped == nil:
		c.stopped = &reads
	case !on && c.stopped != nil:
		c.behind += reads.Since(*c.stopped)
		c.stopped = nil
	}
}

// StopClock lets the controller's clock stand still: its countdown does too, and its reports say that they are new.
// Taken back, the clock goes on from where it stood.
func (c *Controller) StopClock(on bool) { c.clock.stop(on) }
