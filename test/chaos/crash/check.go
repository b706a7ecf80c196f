package crash

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// check judges what the gateway shows, and takes it over into the records. A fault ends the test.
func (x *trial) check() {
	x.t.Helper()
	x.reports()
	v := x.look()
	v.faults = append(v.faults, x.converge()...)
	x.refute(v.faults)
	x.adopt(v)
}

// refute ends the test if there are faults, or clients have found some.
func (x *trial) refute(found []string) {
	x.t.Helper()
	x.mu.Lock()
	faults := slices.Concat(x.faults, found)
	x.mu.Unlock()
	if len(faults) > 0 {
		x.t.Log(x.explain(faults))
		require.Fail(x.t, fmt.Sprintf("%d faults", len(faults)), strings.Join(faults[:min(len(faults), 20)], "\n"))
	}
}

// settle waits until nothing is wrong with what the gateway shows, for as long as it may take that after the store is
// back. What is wrong even then, check says.
func (x *trial) settle() {
	x.reports()
	for limit := now() + 5*time.Second; now() < limit && len(x.look().faults) > 0; {
		wait(x.t.Context(), 100*time.Millisecond)
	}
}

// reports waits until what happened on the lanes is saved, for as long as links take to come up.
func (x *trial) reports() {
	for limit := now() + converges; now() < limit && x.hardware.unacked() > 0; {
		wait(x.t.Context(), 10*time.Millisecond)
	}
}

// look judges what the gateway shows.
func (x *trial) look() *verdict {
	before := 0
	if x.receiver != nil {
		before = len(x.receiver.Arrived())
	}
	p, err := takePicture(x.gateway)
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

// adopt takes over what was found out.
func (x *trial) adopt(v *verdict) {
	for _, c := range x.clients {
		c.settled, c.lost = append(c.settled, c.lost...), nil
	}
	for _, f := range v.found {
		x.tally.count("sessions compared")
		if f.request != nil {
			f.request.happened = f.happened
			x.tally.count(fmt.Sprintf("unknown outcomes, happened: %v", f.happened))
		}
		switch {
		case f.is == nil:
			continue
		case f.of == nil:
			f.client.enter(f.request, *f.is)
		default:
			if f.of.phase == running && f.is.reason == "expired" && x.down.lo < f.is.endedAt.lo && f.is.endedAt.hi < x.down.hi {
				x.tally.count("ran out while the gateway was down")
			}
			if f.of.phase == running {
				x.widths = append(x.widths, f.of.deadline.hi-f.of.deadline.lo)
			}
			*f.of = *f.is
			f.client.forgetEnded()
		}
	}
}

// repeat has every client send again what it may.
func (x *trial) repeat() {
	var work sync.WaitGroup
	for _, c := range x.clients {
		work.Go(func() { c.repeat(x.gateway) })
	}
	work.Wait()
}

// fault writes down what a client found wrong by itself.
func (x *trial) fault(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.faults = append(x.faults, fmt.Sprintf(format, args...))
}
