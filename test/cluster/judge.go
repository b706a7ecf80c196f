package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/test/linear"
	"rangegate/test/support"
)

// shownFaults is how many faults of a kind are logged: one mistake easily shows at every range.
const shownFaults = 8

// fault fails the test.
func (c *cluster) fault(format string, about ...any) {
	c.faultsMu.Lock()
	defer c.faultsMu.Unlock()
	if c.faults == nil {
		c.faults = map[string]int{}
	}
	if c.faults[format]++; c.faults[format] <= shownFaults {
		c.t.Errorf(format, about...)
	}
}

// judge ends every session, and compares what clients, controllers and the receiver have seen with each other
// and with what the nodes show. It returns what judgeControllers does.
func (c *cluster) judge() (newOwners int) {
	c.t.Helper()
	support.EventuallyNone(c.t, "every kind of request has been made", c.notMadeYet)
	c.stopWork()
	c.judgeLanes()
	newOwners = c.judgeControllers()
	c.judgeTime()
	c.judgeEvents()
	for what, times := range c.faults {
		if times > shownFaults {
			c.t.Logf("%d times: %s", times, what)
		}
	}
	return newOwners
}

// judgeLanes checks that everything that clients were answered fits one order of requests, for each lane:
// what was acknowledged has happened, what was refused has not, whichever node was asked.
func (c *cluster) judgeLanes() {
	c.t.Helper()
	var mu sync.Mutex
	counted := map[string]int{}
	c.eachRange(func(probe *client, r *rangeFixture) {
		for _, l := range r.lanes {
			for range 2 * len(c.nodes) { // through every node, more or less
				probe.read(l)
			}
			unexplained := l.history.Judge()
			mu.Lock()
			for kind, times := range l.history.Count() {
				counted[kind] += times
			}
			mu.Unlock()
			if unexplained != "" {
				c.fault("range %d lane %d: no order of requests explains the answers: %s", r.number,
					l.number, unexplained)
			}
		}
	})
	c.t.Logf("requests: %v; %d reads more were answered by an owner of before", counted, c.outdatedReads.Load())
}

// notMadeYet are the kinds of requests, with their outcome, that the clients have to make and have not. A
// load without one of them would show nothing of it, however long it took.
func (c *cluster) notMadeYet() []string {
	made := map[string]bool{}
	for _, r := range c.ranges {
		for _, l := range r.lanes {
			for kind := range l.history.Count() {
				made[kind] = true
			}
		}
	}
	needed := []string{
		"create done", "create refused", "modify done", "pause done", "resume done", "stop done",
		"read done", "buy done", "move done",
	}
	return slices.DeleteFunc(needed, func(kind string) bool { return made[kind] })
}

// judgeControllers checks that no controller has put a state in force of a gateway with a lower epoch than it
// had seen, and that each one has what the nodes show. It returns how often one changed to a newer owner.
func (c *cluster) judgeControllers() (newOwners int) {
	c.t.Helper()
	c.hardware.mu.Lock()
	for lane, states := range c.hardware.heard {
		for i, s := range states[1:] {
			if s.epoch < states[i].epoch {
				c.fault("lane %s put a state of epoch %d in force after one of %d", lane, s.epoch, states[i].epoch)
			}
			if s.epoch != states[i].epoch {
				newOwners++
			}
		}
	}
	c.hardware.mu.Unlock()
	c.t.Logf("controllers changed to a newer owner %d times", newOwners)
	c.waitControllers()
	return newOwners
}

// waitControllers waits until each controller is connected and has what the nodes show.
func (c *cluster) waitControllers() {
	c.t.Helper()
	c.eachRange(func(probe *client, r *rangeFixture) {
		differs := ""
		for end := time.Now().Add(support.Patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if differs = c.compareControllers(probe, r); differs == "" {
				return
			}
		}
		c.fault("%s", differs)
		c.logNodes(r.id())
	})
}

func (c *cluster) compareControllers(probe *client, r *rangeFixture) (differs string) {
	var statuses []support.LaneStatus
	if err := probe.get(r, "/lanes/status", &statuses); err != nil {
		return err.Error()
	}
	for i, status := range statuses {
		shown := c.hardware.controller(r.number, i).Shown()
		session := ""
		if status.Session != nil {
			session = *status.Session
		}
		switch {
		case status.Link != "up":
			return fmt.Sprintf("range %d lane %d: the link is %s", r.number, i, status.Link)
		case session != "" && session != shown.Session.String() || (session == "") != (shown.Session == [16]byte{}):
			return fmt.Sprintf("range %d lane %d has session %s, and its controller %s", r.number, i,
				session, shown.Session)
		case shown.Hold != status.Hold || shown.Open != (status.Phase == "running" && !status.Hold):
			return fmt.Sprintf("range %d lane %d is %s, and its fire line open: %v", r.number, i,
				status.Phase, shown.Open)
		}
	}
	return ""
}

// get reads from any node until one answers.
func (c *client) get(r *rangeFixture, path string, into any) (err error) {
	for end := time.Now().Add(support.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		n := c.choose()
		if n == nil {
			continue
		}
		var answered linear.Answer
		if answered, err = c.ask(n, r, http.MethodGet, path, ""); err != nil {
			continue
		}
		if answered.Status == http.StatusOK && !answered.Outdated {
			return json.Unmarshal([]byte(answered.Body), into)
		}
		err = fmt.Errorf("GET %s of range %d: %d %s", path, r.number, answered.Status, answered.Body)
	}
	return err
}

// moveError is by how much the time of a session may be off for each time that its range had another owner:
// the offsets of both machines to the clock of Redis are measured to half a round trip, on a machine that
// runs ten busy processes. Uncorrected it would be up to 3 s at once.
const moveError = 100 * time.Millisecond

// judgeTime ends the long sessions and checks that used and left are what was sold, and that what was used is
// the time that went by here, whichever machines it was counted on.
func (c *cluster) judgeTime() {
	c.t.Helper()
	ended := make([]linear.Span, len(c.ranges))
	c.eachRange(func(probe *client, r *rangeFixture) {
		l := r.lanes[longLane]
		ended[r.number].Lo = now()
		probe.command(c.t.Context(), l, linear.Call{Kind: "stop", Session: l.getNewest()})
		ended[r.number].Hi = now()
	})
	var mu sync.Mutex
	var worst time.Duration
	c.eachRange(func(probe *client, r *rangeFixture) {
		var page struct{ Sessions []support.Session }
		err := probe.get(r, "/history?limit=1000", &page)
		mu.Lock()
		defer mu.Unlock()
		if !assert.NoError(c.t, err) {
			return
		}
		found := false
		for _, s := range page.Sessions {
			sold := time.Duration(s.Minutes) * time.Minute
			if off := s.Used.Duration + s.Left.Duration - sold; off.Abs() > 2*time.Millisecond {
				c.fault("range %d, session %s: %s used and %s left of %s", r.number, s.ID, s.Used, s.Left, sold)
			}
			if s.ID != r.lanes[longLane].getNewest() {
				continue
			}
			found = true
			least, most := ended[r.number].Lo-r.longAt.Hi, ended[r.number].Hi-r.longAt.Lo
			off := max(0, least-s.Used.Duration, s.Used.Duration-most)
			worst = max(worst, off)
			if moves := c.hardware.owners(r.number, longLane) - 1; off > time.Duration(1+moves)*moveError {
				c.fault("range %d, session %s used %s, and between %s and %s went by, with %d moves", r.number, s.ID,
					s.Used, least, most, moves)
			}
		}
		if !found {
			c.fault("range %d: the session that was stopped is not in the history", r.number)
		}
	})
	c.t.Logf("time used differs from time that went by by %s at most", worst)
}

const purchaseRequest = string(lanes.PurchaseRequest)

// judgeEvents checks that every event of every range was received once at most, in the order of the log for
// each lane, and that the log has all that was received. The order of an attempt that was interrupted is not
// judged: a node that was suspended in the middle of it may send it when it goes on, after the next owner has
// sent later ones (docs/ownership.md).
func (c *cluster) judgeEvents() {
	c.t.Helper()
	var mu sync.Mutex
	logs := map[*rangeFixture][]support.Event{}
	c.eachRange(func(probe *client, r *rangeFixture) {
		log, err := probe.attemptedEvents(r)
		mu.Lock()
		defer mu.Unlock()
		assert.NoError(c.t, err)
		logs[r] = log
	})
	arrived := map[string]int{} // when, by id: read after the logs, which wait until everything is attempted
	perLane := map[string][]string{}
	for i, a := range c.receiver.Arrived() {
		if _, twice := arrived[a.ID]; twice {
			c.fault("%s of lane %s, %s, was received twice", a.Event, a.Lane, a.ID)
		}
		if a.Overlaps {
			c.fault("%s of lane %s was received before the one before it was answered", a.Event, a.Lane)
		}
		arrived[a.ID] = i
		perLane[a.Lane] = append(perLane[a.Lane], a.ID)
	}
	counted := map[string]int{}
	for r, log := range logs {
		logged := map[string]bool{}
		last := map[string]int{}
		for _, e := range log {
			id := "msg_" + e.ID
			logged[id] = true
			at, received := arrived[id]
			outcome := e.Outcome()
			counted[fmt.Sprintf("%s, received %v", outcome, received)]++
			if outcome == "200" && !received {
				c.fault("range %d: %s is logged as delivered, and was not received", r.number, e.Payload.Event)
			}
			switch {
			case !received || e.Payload.Event == purchaseRequest: // which waits for no other event
			case e.Interrupted():
				if at < last[e.Payload.Lane] {
					counted["interrupted, received late"]++
				}
			case at < last[e.Payload.Lane]:
				c.fault("range %d: %s of lane %s was received out of order", r.number, e.Payload.Event, e.Payload.Lane)
			default:
				last[e.Payload.Lane] = at
			}
		}
		for n := range laneCount {
			for _, id := range perLane[r.laneID(n)] {
				if !logged[id] {
					c.fault("range %d: %s was received, and is in no log", r.number, id)
				}
			}
		}
	}
	c.t.Logf("events: %v", counted)
	require.Positive(c.t, counted["200, received true"])
}

// attemptedEvents reads the range's log when every event was attempted. The outcome of one whose node died
// meanwhile is never known.
func (c *client) attemptedEvents(r *rangeFixture) (log []support.Event, err error) {
	for end := time.Now().Add(support.Patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		log = nil
		for after := "0"; ; {
			var page struct {
				Events []support.Event
				Next   string
			}
			if err = c.get(r, "/events?limit=1000&after="+after, &page); err != nil {
				return nil, err
			}
			if len(page.Events) == 0 {
				break
			}
			log, after = append(log, page.Events...), page.Next
		}
		if !slices.ContainsFunc(log, func(e support.Event) bool { return e.Attempt == nil }) {
			return log, nil
		}
	}
	return nil, fmt.Errorf("range %d: events are not attempted", r.number)
}
