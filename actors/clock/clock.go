// Package clock reads the machine's clocks and watches them: instants, suspends, steps of the wall clock, and the date by which what is
// old goes. The gateway has one System; everything else is given a Clock.
package clock

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rangegate/lanes"
)

// Clock reads the two clocks of the machine.
type Clock interface {
	Now() lanes.Instant
	// Boot names the run of the machine whose Mono readings these are.
	Boot() string
}

// System reads the kernel's boot clock, which goes on while the machine is suspended, and its wall clock.
type System struct {
	boot  string
	clock *bootClock
}

// NewSystem fails where the kernel has no boot id or no boot clock.
func NewSystem() (System, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return System{}, fmt.Errorf("reading the boot id: %w", err)
	}
	if _, err := askKernel(); err != nil {
		return System{}, fmt.Errorf("reading the boot clock: %w", err)
	}
	begun := time.Now()
	awake := func() (time.Time, time.Duration) {
		now := time.Now()
		return now.UTC().Round(0), now.Sub(begun)
	}
	kernel := func() time.Duration {
		reading, err := askKernel()
		if err != nil {
			panic(err) // it answered above
		}
		return reading
	}
	return System{strings.TrimSpace(string(id)), newBootClock(awake, kernel)}, nil
}

// askKernel reads the boot clock.
func askKernel() (time.Duration, error) {
	var reading unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &reading)
	return time.Duration(reading.Nano()), err
}

// Now reads both clocks.
func (c System) Now() lanes.Instant { return c.clock.now() }

// Boot is the kernel's boot id.
func (c System) Boot() string { return c.boot }

const (
	WatchEvery = time.Second // that Watch compares the clocks
	tolerance  = time.Second // by which a clock may differ from another before that is logged and acted upon
)

// Watch compares the clocks once a second until quit. A boot clock that ran ahead of the scheduler's means
// that the machine was suspended, with every armed timer standing still: woken is called. A wall clock that ran apart
// from the boot clock was set, or drifts: stepped is called each time that it is off by more than the tolerance. By how
// much it is off since then, or since the start, drifted is told every time.
func Watch(clock Clock, quit <-chan struct{}, woken, stepped, drifted func(by time.Duration)) {
	ticker := time.NewTicker(WatchEvery)
	defer ticker.Stop()
	last, scheduled := clock.Now(), time.Now()
	agreed := last // the readings that the wall clock is held against
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
		}
		now, tick := clock.Now(), time.Now()
		ran := now.Since(last)
		if slept := ran - tick.Sub(scheduled); slept > tolerance {
			woken(slept)
		}
		by := now.Wall.Sub(agreed.Wall) - now.Since(agreed)
		if by.Abs() > tolerance {
			stepped(by)
			agreed, by = now, 0
		}
		drifted(by)
		last, scheduled = now, tick
	}
}

// Retention is the date by which what is old goes: idempotency keys, events, the history and the names in it. A forward
// step of the wall clock is trusted only after trustedAfter: one that is set right by then has cost nothing. Its methods
// are for one goroutine.
type Retention struct {
	agreed lanes.Instant // the last reading of the clocks that was trusted
}

const trustedAfter = 24 * time.Hour // as long as an idempotency key is kept: none goes before its term is over

// NewRetention goes on from the range's last checkpoint, where that belongs to this boot: the wall clock may have been set
// since.
func NewRetention(clock Clock, last lanes.Checkpoint) Retention {
	if last.Boot == clock.Boot() {
		return Retention{last.At}
	}
	return Retention{clock.Now()}
}

// Date is the date at now.
func (c *Retention) Date(now lanes.Instant) time.Time {
	ran := now.Since(c.agreed)
	if date := c.agreed.Wall.Add(ran); now.Wall.Sub(date) > tolerance && ran <= trustedAfter {
		return date
	}
	c.agreed = now
	return now.Wall
}
