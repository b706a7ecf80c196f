package preflight

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"rangegate/actors"
	"rangegate/actors/clock"
	"rangegate/config"
)

// clocks checks the boot clock, which measures sessions, and the wall clock, which dates records and signatures.
func clocks(context.Context) []Finding {
	clock, err := clock.NewSystem()
	if err != nil {
		return []Finding{{Fail, "clock", err.Error(), "the gateway needs Linux with /proc and the boot clock"}}
	}
	all := []Finding{checkWallClock(clock.Now().Wall), checkSynchronised()}
	if slept, err := suspendedTime(); err == nil && slept > time.Second {
		all = append(all, Finding{
			Warn, "clock", fmt.Sprintf("this machine was suspended for %s since its start: no lane is controlled meanwhile", slept.Round(time.Second)),
			"turn suspend off: systemctl mask sleep.target suspend.target hibernate.target",
		})
	}
	return all
}

// The years that a wall clock may show: minYear up to, and without, maxYear.
const minYear, maxYear = 2025, 2100

func checkWallClock(now time.Time) Finding {
	shows := now.UTC().Format(time.RFC3339)
	if now.Year() < minYear || now.Year() >= maxYear {
		return Finding{
			Fail, "clock", "the wall clock shows " + shows,
			"set it (timedatectl set-time), and check the machine's battery: certificates count as invalid",
		}
	}
	return ok("clock", "the wall clock shows %s", shows)
}

const enableNTP = "enable NTP (timedatectl set-ntp true, or chrony): receivers refuse events whose signature is some minutes off"

// checkSynchronised asks the kernel whether its clock is synchronised, and for its maximum error.
func checkSynchronised() Finding {
	var state unix.Timex // without modes it changes nothing
	status, err := unix.Adjtimex(&state)
	return checkNTP(status, state, err)
}

func checkNTP(status int, state unix.Timex, err error) Finding {
	const unsynchronised = 0x40 // STA_UNSYNC
	switch {
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS):
		return Finding{Warn, "clock", "the kernel does not tell whether it is synchronised", enableNTP}
	case err != nil:
		return Finding{Warn, "clock", "whether it is synchronised is unknown: " + err.Error(), enableNTP}
	case status == unix.TIME_ERROR || state.Status&unsynchronised != 0:
		return Finding{Warn, "clock", "it is not synchronised", enableNTP}
	}
	within := time.Duration(state.Maxerror) * time.Microsecond
	if within > 10*time.Second {
		return Finding{Warn, "clock", fmt.Sprintf("it is synchronised to within %s only", within.Round(time.Second)), enableNTP}
	}
	return ok("clock", "synchronised to within %s", within.Round(time.Millisecond))
}

// suspendedTime returns for how long the machine was suspended since its start.
func suspendedTime() (time.Duration, error) {
	var boot, running unix.Timespec
	if err := errors.Join(unix.ClockGettime(unix.CLOCK_MONOTONIC, &running), unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)); err != nil {
		return 0, err
	}
	return time.Duration(boot.Nano() - running.Nano()), nil
}

// baseFiles are the open files of every configuration: the store, logs, listeners, the Go runtime's own.
const baseFiles = 100

// productFiles are the connections of a range to its products API and to the products' pictures.
const productFiles = 40

// openFiles compares the file limit of this process, which may differ from the service's, with the configuration's needs.
func (s Settings) openFiles(context.Context) []Finding {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return []Finding{{Warn, "open files", "their limit is unknown: " + err.Error(), "set it to at least twice the number of lanes"}}
	}
	return []Finding{checkFileLimit(s.Config, limit.Cur)}
}

// checkFileLimit doubles the need of links and integrators, as clients' connections may take the other half.
func checkFileLimit(c config.Config, limit uint64) Finding {
	links, integrators := 0, 0
	for _, r := range c.Ranges {
		for _, lane := range r.Lanes {
			if lane.Link.Driver == config.DriverWebSocket {
				links++
			}
		}
		if r.Webhook != nil {
			integrators += r.Webhook.Concurrency + actors.PurchaseSlots + actors.SimulationSlots
		}
		if r.Products != nil {
			integrators += productFiles
		}
	}
	always, wanted := uint64(links+baseFiles), uint64(2*(links+integrators+baseFiles))
	found := fmt.Sprintf("a process may have %d: %s and what belongs to them need %d, and %d leave room for every client and event",
		limit, count(links, "link"), always, wanted)
	do := fmt.Sprintf("raise the limit: LimitNOFILE=%d in the unit, or ulimit -n for this shell", wanted)
	switch {
	case limit < always:
		return Finding{Fail, "open files", found, do}
	case limit < wanted:
		return Finding{Warn, "open files", found, do}
	}
	return ok("open files", "%s", found)
}
