package crash

import "time"

// finish has every event delivered, judges the range once more, and says what it went through.
func (x *trial) finish() {
	x.t.Helper()
	for limit := now() + time.Minute; now() < limit && x.pending() > 0; {
		wait(x.t.Context(), 200*time.Millisecond)
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
		x.tally.add("reports of lanes", len(s.reports))
	}
	x.tally.add("entries of customers", len(x.hardware.entered))
	for _, c := range x.clients {
		for _, s := range c.sessions {
			x.tally.strays(s.stray)
		}
	}
	x.refute(nil)
	x.t.Log(x.figures())
}

// pending is how many events of the log, as last read, nobody has begun to deliver.
func (x *trial) pending() (many int) {
	for _, e := range x.log {
		if e.Attempt == nil {
			many++
		}
	}
	return many
}

// account counts what became of the events. Those that nothing interrupted have to have arrived.
func (x *trial) account() {
	arrived := map[string]bool{}
	for _, a := range x.receiver.Arrived() {
		arrived[a.ID] = true
	}
	for _, e := range x.log {
		switch came := arrived["msg_"+e.ID]; {
		case e.Attempt == nil:
		case e.Attempt.interrupted() && came:
			x.tally.count("events interrupted, arrived")
		case e.Attempt.interrupted():
			x.tally.count("events interrupted, lost")
		case !came:
			x.fault("event %s did not arrive, and nothing interrupted it: %+v", e.ID, *e.Attempt)
		case e.Attempt.Error == "":
			x.tally.count("events delivered")
		default:
			x.tally.count("events the receiver refused")
		}
	}
}
