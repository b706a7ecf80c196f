// Package clock reads the machine's clocks and watches them: instants, suspends, steps of the wall clock, and
// the date by which records expire. The gateway has one System; everything else is given a Clock.
package clock

import (
	"context"
	"fmt"
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

// System reads the kernel's boot clock, which goes on while the machine is suspended, and its wall clock. A
// reading takes 0.4 µs: a system call. So what handles a message reads it once and passes the instant along.
type System struct{ boot string }

// NewSystem fails where the kernel has no boot id or no boot clock.
func NewSystem() (System, error) {
	id, err := readBootID()
	if err != nil {
		return System{}, fmt.Errorf("reading the boot id: %w", err)
	}
	if _, err := readBootClock(); err != nil {
		return System{}, fmt.Errorf("reading the boot clock: %w", err)
	}
	return System{id}, nil
}

const (
	oneInstant  = time.Millisecond // how far the two readings of an instant may lie apart
	maxReadings = 5
)

// Now reads both clocks.
func (c System) Now() lanes.Instant { return readTogether(time.Now, readBootClock) }

// readTogether reads both clocks, and again if the process was interrupted between the two readings: on a
// busy machine one was 69 ms later than the other. The last reading counts in any case.
func readTogether(readWall func() time.Time, readBoot func() (time.Duration, error)) lanes.Instant {
	for reading := 1; ; reading++ {
		before := readWall()
		mono, err := readBoot()
		if err != nil {
			panic(err) // it answered NewSystem
		}
		wall := readWall()
		if wall.Sub(before) <= oneInstant || reading == maxReadings {
			return lanes.Instant{Wall: wall.Add(wallClockAhead).UTC().Round(0), Mono: mono}
		}
	}
}

// Boot is the kernel's boot id.
func (c System) Boot() string { return c.boot }

func readBootClock() (time.Duration, error) {
	var reading unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &reading)
	return time.Duration(reading.Nano()) + bootClockAhead, err
}

const (
	// WatchEvery is how often Watch compares the clocks.
	WatchEvery = time.Second
	tolerance  = time.Second // by which a clock may differ from another before that is logged and acted upon
)

// Watch compares the clocks once a second until quit. When the boot clock ran ahead of the scheduler's, the
// machine was suspended with every armed timer standing still: woken is called. When the wall clock is off
// the boot clock by more than the tolerance, it was set or drifts: stepped is called. drifted is called every
// time with how much it is off since then, or since the start.
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

// Retention is the clock by which idempotency keys, events, the history and the names in it expire. A forward
// step of the wall clock is trusted only after trustedAfter: one that is set right by then has cost nothing.
// Its methods are for one goroutine.
type Retention struct {
	agreed lanes.Instant // the last reading of the clocks that was trusted
}

const trustedAfter = 24 * time.Hour // as long as an idempotency key is kept: none expires early

// NewRetention starts from the range's last checkpoint, if it has one: the wall clock may have been set since.
// Only that clock says how long ago another boot was, and right after a start of the machine it may be wrong.
// So that time counts as a step: after a long time off, records expire up to trustedAfter later.
// What a checkpoint itself bears is trusted: a step that was not trusted yet is after the next start.
func NewRetention(clock Clock, last lanes.Checkpoint) Retention {
	now := clock.Now()
	switch last.Boot {
	case "": // nothing was saved yet
		return Retention{now}
	case clock.Boot():
		return Retention{last.At}
	}
	return Retention{lanes.Instant{Wall: last.At.Wall, Mono: now.Mono}}
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

// Sleep waits. It returns false if life ends first.
func Sleep(life context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-life.Done():
		return false
	}
}
