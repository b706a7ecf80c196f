package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/replay"
	"rangegate/lanes/store"
	"rangegate/test/linear"
	"rangegate/test/support"
)

// simulate runs a plan, and returns what happened if something was found.
func simulate(t *testing.T, p plan) (trail []string) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, p)
		w.run()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.failed {
			trail = w.trail
		}
	})
	return trail
}

const (
	clientsCount   = 4
	checkoutsCount = 2                // of each range
	settleWithin   = 90 * time.Second // after the last fault: until everything is ready, linked and delivered
)

func (w *world) run() {
	for _, m := range w.machines {
		w.start(m)
	}
	w.eventually("every range is served", w.unserved)
	for _, r := range w.ranges {
		(&client{world: w, number: 300}).
			command(context.Background(), r, 1, linear.Call{Kind: "create", Lane: moveFrom, Minutes: 240})
	}
	w.setFaulty(true)
	ctx, cancel := context.WithTimeout(context.Background(), w.plan.load)
	var load sync.WaitGroup
	for n := range clientsCount {
		load.Go(func() { (&client{world: w, number: n}).work(ctx) })
	}
	for _, r := range w.ranges {
		load.Go(func() { w.staff(ctx, r) })
		load.Go(func() { w.relays(ctx, r) })
		load.Go(func() { w.operators(ctx, r) })
		for n := range checkoutsCount {
			load.Go(func() { (&client{world: w, number: 500 + 10*r.number + n}).checkouts(ctx, r) })
		}
	}
	load.Go(func() { w.customers(ctx) })
	load.Go(func() { w.harm(ctx) })
	load.Wait()
	cancel()
	w.setFaulty(false)
	for _, m := range w.machines {
		m.clk.correct()
	}
	w.eventually("every range is served again", w.unserved)
	for _, r := range w.ranges {
		ctx, cancel := context.WithTimeout(context.Background(), settleWithin)
		w.releaseAll(ctx, r)
		cancel()
	}
	w.eventually("controllers show what the gateways have", w.unlinked)
	w.eventually("every start comes, and every grace ends", w.overdue)
	w.eventually("every event was attempted", w.unattempted)
	w.judgeHistories()
	w.judgeEvents()
	w.judgeRecord()
	w.t.Log("judged:", w.judge.counted())
	for _, m := range w.machines {
		m.stop()
	}
	w.running.Wait()
	w.http.CloseIdleConnections()
	time.Sleep(5 * time.Minute) // what is idle closes
}

func (w *world) setFaulty(faulty bool) {
	w.trace("faults: %v", faulty)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faulty = faulty
}

// eventually fails unless nothing is missing within a bound.
func (w *world) eventually(wanted string, missing func() string) {
	last := ""
	for end := time.Now().Add(settleWithin); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if last = missing(); last == "" {
			return
		}
	}
	w.fail("%s: %s", wanted, last)
}

// unserved names a range that some machine does not serve, or hand on.
func (w *world) unserved() string {
	for _, r := range w.ranges {
		for _, m := range w.machines {
			at := support.Client{
				API: "http://" + m.host + ":8080" + support.V2, Range: r.id.String(),
				Token: r.token, HTTP: w.http,
			}
			if got, err := at.Do(http.MethodGet, "/lanes", ""); err != nil || got.Status != http.StatusOK {
				return fmt.Sprintf("range %d by %s: %d %s %v", r.number, m.name, got.Status, got.Body, err)
			}
		}
	}
	return ""
}

// get reads from some machine, until one answers: a range may be moving to another one.
func (w *world) get(r *rangeOf, path string, into any) (err error) {
	for end := time.Now().Add(settleWithin); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = w.tryGet(r, path, into); err == nil {
			return nil
		}
	}
	return err
}

func (w *world) tryGet(r *rangeOf, path string, into any) error {
	got, err := (&client{world: w}).ask(r, http.MethodGet, path, "")
	if err == nil && got.Status != http.StatusOK {
		err = fmt.Errorf("%d %s", got.Status, got.Body)
	}
	if err == nil && got.Outdated {
		err = fmt.Errorf("an owner of before has answered")
	}
	if err != nil {
		return fmt.Errorf("range %d %s: %w", r.number, path, err)
	}
	return json.Unmarshal([]byte(got.Body), into)
}

// unlinked names a lane whose controller shows another state than its gateway.
func (w *world) unlinked() string {
	for _, r := range w.ranges {
		var statuses []support.LaneStatus
		if err := w.get(r, "/lanes/status", &statuses); err != nil {
			return err.Error()
		}
		for i, status := range statuses {
			shown, session := w.controller(r.lanes[i]).Shown(), ""
			if status.Session != nil {
				session = *status.Session
			}
			switch {
			case status.Link != "up":
				return fmt.Sprintf("range %d lane %d: the link is %s", r.number, i, status.Link)
			case session != "" && session != shown.Session.String() || (session == "") != (shown.Session == [16]byte{}):
				return fmt.Sprintf("range %d lane %d has session %q, and its controller %s", r.number, i,
					session, shown.Session)
			case shown.Hold != status.Hold || shown.Open != (status.Phase == "running" && !status.Hold):
				return fmt.Sprintf("range %d lane %d is %s, held %v, and its controller shows %+v", r.number, i,
					status.Phase, status.Hold, shown)
			case shown.Hold:
				return fmt.Sprintf("range %d lane %d is still held", r.number, i)
			}
		}
	}
	return ""
}

// events reads the log of a range.
func (w *world) events(r *rangeOf) (log []support.Event, err error) {
	for after := "0"; ; {
		var page struct {
			Events []support.Event
			Next   string
		}
		if err := w.get(r, "/events?limit=1000&after="+after, &page); err != nil || len(page.Events) == 0 {
			return log, err
		}
		log, after = append(log, page.Events...), page.Next
	}
}

// unattempted names an event that waits for its attempt.
func (w *world) unattempted() string {
	for _, r := range w.ranges {
		log, err := w.events(r)
		if err != nil {
			return err.Error()
		}
		if i := slices.IndexFunc(log, func(e support.Event) bool { return e.Attempt == nil }); i >= 0 {
			return fmt.Sprintf("range %d: %s of lane %s", r.number, log[i].Payload.Event, log[i].Payload.Lane)
		}
	}
	return ""
}

// judgeHistories checks that everything that clients were answered fits one order of requests, for each lane.
func (w *world) judgeHistories() {
	for _, r := range w.ranges {
		for i := range r.histories {
			(&client{world: w, number: 200}).read(r, i)
			if unexplained := r.histories[i].Judge(); unexplained != "" {
				w.fail("range %d, history %d: no order of requests explains the answers: %s", r.number, i, unexplained)
			}
		}
	}
}

// wasLost is true if what was written then was lost by a fail-over.
func (w *world) wasLost(at time.Time) bool {
	const ahead = 2 * time.Second // by which an attempt is on record before it arrives
	return slices.ContainsFunc(w.lost, func(lost [2]time.Time) bool {
		return !at.Before(lost[0]) && at.Before(lost[1].Add(ahead))
	})
}

// judgeEvents checks that every event was received once at most, in the order of the log for each lane, and
// that the log has all that was received. The order of an attempt that was interrupted is not judged
// (docs/ownership.md). An owner that gives its range away while a fail-over loses an event, or its attempt,
// takes the knowledge along.
func (w *world) judgeEvents() {
	before := w.integrator.received()
	logs := map[*rangeOf][]support.Event{}
	for _, r := range w.ranges {
		log, err := w.events(r)
		if err != nil {
			w.fail("%v", err)
		}
		logs[r] = log
	}
	logged, arrived := map[string]bool{}, map[string]int{}
	all := w.integrator.received() // what a log has as delivered has come by now
	for i, a := range all {
		if first, twice := arrived[a.ID]; twice && !w.wasLost(all[first].at) {
			w.fail("%s of lane %s, %s, was received twice", a.Event, a.Lane, a.ID)
		}
		arrived[a.ID] = i
	}
	for _, r := range w.ranges {
		last := map[string]int{}
		for _, e := range logs[r] {
			id := "msg_" + e.ID
			logged[id] = true
			at, received := arrived[id]
			switch outcome := e.Outcome(); {
			case outcome[0] == '2' && !received:
				w.fail("range %d: %s is logged as delivered, and was not received", r.number, e.Payload.Event)
			case !received || e.Payload.Event == "purchaseRequest" || e.Interrupted():
			case at < last[e.Payload.Lane]:
				w.fail("range %d: %s of lane %s was received out of order", r.number, e.Payload.Event, e.Payload.Lane)
			default:
				last[e.Payload.Lane] = at
			}
		}
	}
	for _, a := range before {
		if !logged[a.ID] && !w.wasLost(a.at) {
			w.fail("%s of lane %s, %s, was received, and is in no log", a.Event, a.Lane, a.ID)
		}
	}
}

// warnings are those of one of the ranges, longest first.
var warnings = []time.Duration{50 * time.Second, 20 * time.Second}

// judgeWarnings checks that no session is warned twice at the same time left, unless its time was changed between.
func (w *world) judgeWarnings(log []lanes.Logged) {
	reached := map[uuid.UUID]int{} // of each session: how many of the warnings it has reached
	for _, entry := range log {
		switch event := entry.Event; event.Kind {
		case lanes.SessionModified:
			reached[event.Session] = 0
		case lanes.SessionEnding:
			now := 0
			for _, left := range warnings {
				if event.Ending.Remaining <= left {
					now++
				}
			}
			if now <= reached[event.Session] {
				w.fail("session %s was warned again, with %v left", event.Session, event.Ending.Remaining)
			}
			reached[event.Session] = now
		}
	}
}

// judgeRecord computes every session that has ended again from what the store has of it, whatever machines,
// clocks and fail-overs have done meanwhile (package lanes/replay).
func (w *world) judgeRecord() {
	const all = 1 << 20
	ctx := context.Background()
	saved := w.server.Open(store.Retention{})
	for _, r := range w.ranges {
		of := store.InAnyEpoch(r.id)
		history, err := saved.History(ctx, of, 0, all)
		if err != nil {
			w.fail("range %d: %v", r.number, err)
		}
		log, err := saved.Events(ctx, of, 0, all)
		if err != nil {
			w.fail("range %d: %v", r.number, err)
		}
		computed := replay.New(replay.Window{LogWhole: true, HistoryWhole: true}, func(d replay.Difference) {
			w.fail("range %d: session %s does not come out as it is on record: %s", r.number, d.Session, d.What)
			w.trace("recorded: %+v, computed: %+v", d.Recorded, d.Computed)
			for _, entry := range d.Events {
				e := entry.Event
				w.trace("event %d: %s %s %v %+v", entry.Cursor, e.ID, e.Kind, e.At, e.Decision)
			}
		})
		for _, record := range history {
			computed.Record(record)
		}
		for _, entry := range log {
			computed.Event(entry)
		}
		w.judgeWarnings(log)
		if r.number != forAll { // the other one has a webhook that is not told
			w.judgeExpiries(log, history)
		}
		computed.Finish()
		w.trace("range %d: computed again %+v", r.number, computed.Figures)
	}
	_ = saved.Close()
}
