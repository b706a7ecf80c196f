// Package clocktest has a clock that tests set.
package clocktest

import (
	"fmt"
	"sync"
	"time"

	"rangegate/lanes"
)

// Clock is a clock.Clock. They follow the scheduler's time until a test sets them.
type Clock struct {
	begun time.Time

	mu      sync.Mutex
	stepped time.Duration // the wall clock was set by so much
	slept   time.Duration // the machine was suspended for so long: both clocks go on, the scheduler does not
	booted  time.Duration // of begun, by the boot clock
	boot    int
	stall   time.Duration // of the next reader
}

// New follows the scheduler from now on.
func New() *Clock { return &Clock{begun: time.Now(), booted: time.Hour} }

// Now implements clock.Clock.
func (c *Clock) Now() lanes.Instant {
	c.mu.Lock()
	ran := time.Since(c.begun) + c.slept
	now := lanes.Instant{Wall: c.begun.Add(ran + c.stepped).UTC().Round(0), Mono: c.booted + ran}
	stall := c.stall
	c.stall = 0
	c.mu.Unlock()
	time.Sleep(stall)
	return now
}

// Boot implements clock.Clock.
func (c *Clock) Boot() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("boot-%d", c.boot)
}

// Step sets the wall clock.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stepped += d
}

// Suspend makes the machine sleep.
func (c *Clock) Suspend(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept += d
}

// Stall makes the next reader wait for d after its reading, as on a machine whose processors are busy.
func (c *Clock) Stall(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stall = d
}

// Reboot starts the boot clock again from a minute, under another name.
func (c *Clock) Reboot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot++
	c.booted = time.Minute - (time.Since(c.begun) + c.slept)
}
