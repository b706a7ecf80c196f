package crash

import (
	"fmt"
	"strings"

	"rangegate/test/support"
)

// attempt is the delivery of an event, as the log has it.
type attempt struct {
	Status  int
	Error   string
	Outcome string
}

func (a *attempt) String() string {
	if a == nil {
		return "not attempted"
	}
	return fmt.Sprintf("attempted: %d %s", a.Status, a.Error)
}

// interrupted tells whether the outcome of the attempt is unknown, or not known yet.
func (a attempt) interrupted() bool {
	return a.Outcome == "under_way" || strings.HasPrefix(a.Error, "interrupted")
}

// delivered compares the event log with what arrived: nothing twice, nothing that is not in the log, per lane
// and per session in the order of the log, and everything that the log has as answered. The first arrivals,
// as many as before says, came before the log was read, which has to have their attempts.
func (v *verdict) delivered(log []event, before int, arrived []support.Arrival, contested bool) {
	place := make(map[string]int, len(log))
	for i, e := range log {
		place["msg_"+e.ID] = i
	}
	seen := make(map[string]support.Arrival, len(arrived))
	newest := map[string]int{} // lane or session → place in the log of the newest that arrived
	for n, a := range arrived {
		if _, again := seen[a.ID]; again {
			v.fault("event %s arrived twice: %+v", a.ID, a)
		}
		seen[a.ID] = a
		i, found := place[a.ID]
		switch {
		case !found && n >= before:
			continue // younger than the log that was read
		case !found:
			v.fault("event %s arrived, and is not in the log: %+v", a.ID, a)
			continue
		case n < before && log[i].Attempt == nil:
			v.fault("event %s arrived, and nobody has attempted it by the log: %+v", a.ID, a)
		case log[i].Payload.Event != a.Event || log[i].Payload.Session != a.Session || log[i].Payload.Lane != a.Lane:
			v.fault("event %s is %+v, and arrived as %+v", a.ID, log[i].Payload, a)
		}
		if contested && log[i].Attempt != nil && log[i].Attempt.interrupted() {
			continue // begun by a gateway that still runs, while the next one delivers later events
		}
		for _, key := range []string{a.Lane, a.Session} {
			if last, found := newest[key]; found && last > i {
				v.fault("event %+v arrived after a later one of %s, %+v", log[i], key, log[last])
			}
			newest[key] = i
		}
	}
	for _, e := range log {
		if e.Attempt == nil || e.Attempt.Status == 0 {
			continue
		}
		if a, arrived := seen["msg_"+e.ID]; !arrived || a.Status != e.Attempt.Status {
			v.fault("event %s was answered %d by the log, and by the receiver's record %d (arrived: %v)",
				e.ID, e.Attempt.Status, a.Status, arrived)
		}
	}
}
