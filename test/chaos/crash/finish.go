package crash

import (
	"time"

	"rangegate/test/support"
)

// killAndFinish finishes after one more kill, so that what was saved last has to come back.
func (x *fixture) killAndFinish() {
	x.t.Helper()
	x.kill()
	x.start()
	x.check()
	x.finish()
}

// finish waits until every event is delivered, checks once more, and logs the counters.
func (x *fixture) finish() {
	x.t.Helper()
	for limit := now() + time.Minute; now() < limit && x.pending() > 0; {
		support.Wait(x.t.Context(), 200*time.Millisecond)
		x.look()
	}
	if left := x.pending(); left > 0 {
		x.fault("%d events are not attempted", left)
	}
	x.check()
	if x.receiver != nil {
		x.account()
	}
	for _, s := range x.hardware.shooters {
		x.counters.add("reports of lanes", len(s.reports))
	}
	x.counters.add("entries of customers", len(x.hardware.entered))
	for _, c := range x.clients {
		for _, s := range c.sessions {
			x.counters.recordError(s.worstError)
		}
	}
	x.failOn(nil)
	x.t.Log(x.figures())
}

// pending is the number of events in the log, as last read, that were not attempted.
func (x *fixture) pending() (many int) {
	for _, e := range x.log {
		if e.Attempt == nil {
			many++
		}
	}
	return many
}

// account counts the outcomes of the events. Those that were not interrupted have to have arrived.
func (x *fixture) account() {
	arrived := map[string]bool{}
	for _, a := range x.receiver.Arrived() {
		arrived[a.ID] = true
	}
	for _, e := range x.log {
		switch arrives := arrived["msg_"+e.ID]; {
		case e.Attempt == nil:
		case e.Attempt.interrupted() && arrives:
			x.counters.count("events interrupted, arrived")
		case e.Attempt.interrupted():
			x.counters.count("events interrupted, lost")
		case !arrives:
			x.fault("event %s did not arrive, and nothing interrupted it: %+v", e.ID, *e.Attempt)
		case e.Attempt.Error == "":
			x.counters.count("events delivered")
		default:
			x.counters.count("events the receiver refused")
		}
	}
}
