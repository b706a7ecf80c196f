package crash

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// check compares what the gateway shows with the records, and brings these up to date. A fault ends the test, after a
// standstill only one that stays.
func (x *fixture) check() {
	x.t.Helper()
	x.waitReports()
	v := x.look()
	if len(v.faults) > 0 && x.stillness() >= maxTransit {
		x.waitSettled()
		v = x.look()
	}
	v.faults = append(v.faults, x.converge()...)
	x.failOn(v.faults)
	x.adopt(v)
}

// failOn ends the test when there are faults, these or those that clients have found.
func (x *fixture) failOn(found []string) {
	x.t.Helper()
	x.mu.Lock()
	faults := slices.Concat(x.faults, found)
	x.mu.Unlock()
	if len(faults) > 0 {
		x.t.Log(x.explain(faults))
		require.Fail(x.t, fmt.Sprintf("%d faults", len(faults)), strings.Join(faults[:min(len(faults), 20)], "\n"))
	}
}

// waitSettled waits until the gateway shows no fault: after an outage it saves what is in force one by one. What
// is wrong for longer is found by check.
func (x *fixture) waitSettled() {
	x.waitReports()
	for limit := now() + converges; now() < limit && len(x.look().faults) > 0; {
		support.Wait(x.t.Context(), 100*time.Millisecond)
	}
}

// waitReports waits until what happened on the lanes is saved, at most as long as links take to come up.
func (x *fixture) waitReports() {
	for limit := now() + converges; now() < limit && x.hardware.unacked() > 0; {
		support.Wait(x.t.Context(), 10*time.Millisecond)
	}
}

// look compares what the gateway shows with the records.
func (x *fixture) look() *verdict {
	before := 0
	if x.receiver != nil {
		before = len(x.receiver.Arrived())
	}
	p, err := readState(x.gateway)
	if err == nil {
		err = continues(p.log, x.log)
	}
	if err != nil {
		return &verdict{faults: []string{err.Error()}}
	}
	x.log = p.log
	v := judge(x.clients, p)
	v.reported(x.hardware, p)
	if x.receiver != nil {
		v.delivered(p.log, before, x.receiver.Arrived(), x.contested)
	}
	return v
}

// adopt brings the records up to date.
func (x *fixture) adopt(v *verdict) {
	for _, c := range x.clients {
		c.settled, c.lost = append(c.settled, c.lost...), nil
	}
	for _, f := range v.found {
		x.counters.count("sessions compared")
		if f.request != nil {
			f.request.happened = f.happened
			x.counters.count(fmt.Sprintf("unknown outcomes, happened: %v", f.happened))
		}
		switch {
		case f.actual == nil:
			continue
		case f.recorded == nil:
			f.client.enter(f.request, *f.actual)
		default:
			if f.recorded.phase == running && f.actual.reason == "expired" && x.down.lo < f.actual.endedAt.lo &&
				f.actual.endedAt.hi < x.down.hi {
				x.counters.count("ran out while the gateway was down")
			}
			if f.recorded.phase == running {
				x.widths = append(x.widths, f.recorded.deadline.hi-f.recorded.deadline.lo)
			}
			*f.recorded = *f.actual
			f.client.forgetEnded()
		}
	}
}

// checkAfterOutage waits until the gateway serves again and has saved what was in force meanwhile, and checks
// it before and after the clients have sent requests again.
func (x *fixture) checkAfterOutage() {
	x.t.Helper()
	x.process().Ready()
	x.waitSettled()
	x.check()
	x.repeat()
	x.check()
}

// repeat has every client send requests again.
func (x *fixture) repeat() {
	var work sync.WaitGroup
	for _, c := range x.clients {
		work.Go(func() { c.repeat(x.gateway) })
	}
	work.Wait()
}

// fault records what a client has found wrong.
func (x *fixture) fault(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.faults = append(x.faults, fmt.Sprintf(format, args...))
}
