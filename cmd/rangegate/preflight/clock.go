package preflight

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"rangegate/actors/clock"
)

// clocks are the machine's: the boot clock, by which sessions run, and the wall clock, which dates what is on record and
// signs what is sent.
func clocks(context.Context) []Finding {
	clock, err := clock.NewSystem()
	if err != nil {
		return []Finding{{Fail, "clock", err.Error(), "the gateway needs Linux with /proc and the boot clock"}}
	}
	all := []Finding{wallClock(clock.Now().Wall), synchronised()}
	if slept, err := suspended(); err == nil && slept > time.Second {
		all = append(all, Finding{
			Warn, "clock", fmt.Sprintf("this machine was suspended for %s since it was started: no lane is controlled meanwhile", slept.Round(time.Second)),
			"turn suspending off: systemctl mask sleep.target suspend.target hibernate.target",
		})
	}
	return all
}

// What no clock shows that is right.
const earliest, latest = 2025, 2100

func wallClock(now time.Time) Finding {
	shows := now.UTC().Format(time.RFC3339)
	if now.Year() < earliest || now.Year() >= latest {
		return Finding{
			Fail, "clock", "the wall clock shows " + shows,
			"set it (timedatectl set-time), and see that the machine keeps its time while it is off: certificates count as invalid",
		}
	}
	return ok("clock", "the wall clock shows %s", shows)
}

const enableNTP = "enable NTP (timedatectl set-ntp true, or chrony): receivers refuse events whose signature is some minutes off"

// synchronised asks the kernel whether somebody keeps its clock right, and how far off it may be.
func synchronised() Finding {
	var state unix.Timex // asks, and sets nothing
	status, err := unix.Adjtimex(&state)
	return ofNTP(status, state, err)
}

func ofNTP(status int, state unix.Timex, err error) Finding {
	const unsynchronised = 0x40 // STA_UNSYNC
	switch {
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS):
		return Finding{Warn, "clock", "whether it is synchronised cannot be known here", enableNTP}
	case err != nil:
		return Finding{Warn, "clock", "whether it is synchronised is not known: " + err.Error(), enableNTP}
	case status == unix.TIME_ERROR || state.Status&unsynchronised != 0:
		return Finding{Warn, "clock", "it is not synchronised", enableNTP}
	}
	within := time.Duration(state.Maxerror) * time.Microsecond
	if within > 10*time.Second {
		return Finding{Warn, "clock", fmt.Sprintf("it is synchronised to within %s only", within.Round(time.Second)), enableNTP}
	}
	return ok("clock", "synchronised to within %s", within.Round(time.Millisecond))
}

// suspended is for how long the machine was, since it was started.
func suspended() (time.Duration, error) {
	var boot, running unix.Timespec
	if err := errors.Join(unix.ClockGettime(unix.CLOCK_MONOTONIC, &running), unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)); err != nil {
		return 0, err
	}
	return time.Duration(boot.Nano() - running.Nano()), nil
}
