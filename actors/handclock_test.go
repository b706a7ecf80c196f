package actors

import (
	"fmt"
	"sync"
	"time"

	"rangegate/lanes"
)

// handClock is the machine's two clocks. They follow the scheduler's time until a test sets them.
type handClock struct {
	begun time.Time

	mu      sync.Mutex
	stepped time.Duration // the wall clock was set by so much
	slept   time.Duration // the machine was suspended for so long: both clocks go on, the scheduler does not
	booted  time.Duration // of begun, by the boot clock
	boot    int
}

func newHandClock() *handClock { return &handClock{begun: time.Now(), booted: time.Hour} }

func (c *handClock) Now() lanes.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	ran := time.Since(c.begun) + c.slept
	return lanes.Instant{Wall: c.begun.Add(ran + c.stepped).UTC().Round(0), Mono: c.booted + ran}
}

func (c *handClock) Boot() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("boot-%d", c.boot)
}

// step sets the wall clock.
func (c *handClock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stepped += d
}

// suspend makes the machine sleep.
func (c *handClock) suspend(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept += d
}

// reboot starts the boot clock again from a minute, under another name.
func (c *handClock) reboot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot++
	c.booted = time.Minute - (time.Since(c.begun) + c.slept)
}
