package actors

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

// SystemClock reads the kernel's boot clock, which goes on while the machine is suspended, and its wall clock.
type SystemClock struct {
	boot  string
	clock *bootClock
}

// NewSystemClock fails where the kernel has no boot id or no boot clock.
func NewSystemClock() (SystemClock, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return SystemClock{}, fmt.Errorf("reading the boot id: %w", err)
	}
	if _, err := askKernel(); err != nil {
		return SystemClock{}, fmt.Errorf("reading the boot clock: %w", err)
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
	return SystemClock{strings.TrimSpace(string(id)), newBootClock(awake, kernel)}, nil
}

// askKernel reads the boot clock.
func askKernel() (time.Duration, error) {
	var reading unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &reading)
	return time.Duration(reading.Nano()), err
}

// Now reads both clocks.
func (c SystemClock) Now() lanes.Instant { return c.clock.now() }

// Boot is the kernel's boot id.
func (c SystemClock) Boot() string { return c.boot }

const (
	watchEvery = time.Second
	tolerance  = time.Second // what a clock may stray from another before it is said and acted upon
)

// watchClocks compares the clocks once a second until quit. A boot clock that ran ahead of the scheduler's means
// that the machine was suspended, with every armed timer standing still: woken is called. A wall clock that ran apart
// from the boot clock was set, or drifts: stepped is called each time that it is off by more than the tolerance. By how
// much it is off since then, or since the start, drifted is told every time.
func watchClocks(clock Clock, quit <-chan struct{}, woken, stepped, drifted func(by time.Duration)) {
	ticker := time.NewTicker(watchEvery)
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
