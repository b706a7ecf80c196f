package linkconformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

const epoch = 7

// controller is one in memory that keeps every rule but those that it is told to break.
type controller struct {
	breaks string // the rule
	person bool   // somebody is at the lane, and calls for help when there is a session of an hour

	mu       sync.Mutex
	began    time.Time
	inForce  link.State
	left     time.Duration // of the session when it was last looked at
	looked   time.Time
	revision uint64 // of the newest state, for one that does not begin anew with each connection
	epoch    uint64
	current  *connection
	reports  []lanes.Report // not acked
}

// connection is one to a controller.
type connection struct {
	*controller
	receiver link.Receiver
	revision uint64
	closed   bool
}

func (c *controller) now() lanes.Instant {
	return lanes.Instant{Wall: time.Now(), Mono: time.Since(c.began)}
}

// look lets the countdown go on to now.
func (c *controller) look() {
	passed := time.Since(c.looked)
	c.looked = time.Now()
	switch s := c.inForce.Session; {
	case s == nil, s.Phase != lanes.Running:
	case c.inForce.Hold && c.breaks != "stands still":
	case c.current == nil && c.breaks == "counts down":
	default:
		c.left = max(0, c.left-passed)
	}
	if c.breaks == "has nothing left" {
		c.left = max(c.left, time.Second)
	}
}

// Dial implements link.Driver.
func (c *controller) Dial(_ context.Context, lane link.Lane, receiver link.Receiver) (link.Connection,
	link.Hello, error,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lane.Epoch < c.epoch && c.breaks != "refuses a gateway" {
		if c.breaks == "is there after a refusal" {
			return nil, link.Hello{}, errors.New("gone")
		}
		return nil, link.Hello{}, fmt.Errorf("%w: an older epoch", link.ErrFaulty)
	}
	c.epoch = lane.Epoch
	c.look()
	if before := c.current; before != nil && c.breaks != "a new connection" {
		before.closed = true
		before.receiver.Down(link.ErrReplaced)
	}
	made := &connection{controller: c, receiver: receiver}
	if c.breaks == "takes the first state" {
		made.revision = c.revision
	}
	c.current = made
	hello := link.Hello{LogID: "log", Hold: c.inForce.Hold, Left: c.left}
	if s := c.inForce.Session; s != nil {
		hello.Session, hello.Phase = s.ID, s.Phase
	}
	switch c.breaks {
	case "answers":
		hello.LogID = ""
	case "knows what is in force":
		hello.Session = uuid.Nil
	case "says another time":
		hello.Left += time.Second
	case "says so":
		hello.Hold = false
	}
	if c.breaks != "reports again" {
		for _, report := range c.reports {
			receiver.Reported(report)
		}
	}
	return made, hello, nil
}

// Send implements link.Connection.
func (c *connection) Send(s link.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || s.Revision <= c.revision && c.breaks != "a state that is older" {
		return
	}
	c.look()
	c.revision, c.controller.revision = s.Revision, s.Revision
	if s.Session == nil && c.breaks == "is free" {
		s.Session = c.inForce.Session
	}
	c.inForce, c.left = s, 0
	if s.Session != nil {
		c.left = s.Session.Remaining(c.now())
		if c.person && s.Session.Sold == time.Hour && len(c.reports) == 0 {
			report := lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportHelp}
			c.reports = append(c.reports, report)
			time.AfterFunc(time.Second, func() { c.receiver.Reported(report) })
		}
	}
	waits := s.Session != nil && s.Session.Phase == lanes.Waiting
	if c.breaks == "confirms" || c.breaks == "takes a session" && waits {
		return
	}
	c.receiver.Applied(s.Revision)
}

// Ack implements link.Connection.
func (c *connection) Ack(lanes.Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.breaks != "forgets" {
		c.reports = nil
	}
}

// Close implements link.Connection.
func (c *connection) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	c.closed = true
	if c.current == c {
		c.current = nil
	}
}

// check runs the rules against the controller, and returns those that hold and those that are broken.
func check(t *testing.T, c *controller) (holds, broken []string) {
	synctest.Test(t, func(t *testing.T) {
		c.began, c.looked = time.Now(), time.Now()
		var out bytes.Buffer
		rules := Check{Driver: c, Lane: link.Lane{ID: uuid.New(), Epoch: epoch}, Now: c.now, Out: &out}
		if c.person {
			rules.Reports = time.Minute
		}
		count := rules.Run(t.Context())
		for line := range strings.Lines(out.String()) {
			if rule, found := strings.CutPrefix(line, "holds   "); found {
				holds = append(holds, strings.TrimSpace(rule))
			}
			if rule, found := strings.CutPrefix(line, "BROKEN  "); found {
				broken = append(broken, strings.TrimSpace(rule))
			}
		}
		require.Len(t, broken, count)
	})
	return holds, broken
}

func TestAControllerThatKeepsEveryRule(t *testing.T) {
	holds, broken := check(t, &controller{person: true})
	require.Empty(t, broken)
	require.Len(t, holds, len(rules)+len(lastRules)+len(reportRules))
}

func TestWithoutAPersonNothingIsAskedOfOne(t *testing.T) {
	holds, broken := check(t, &controller{})
	require.Empty(t, broken)
	require.Len(t, holds, len(rules)+len(lastRules))
}

// Each defect of a controller is found by the rule that it breaks, with what is wrong.
func TestADefectIsFoundByItsRule(t *testing.T) {
	for breaks, want := range map[string]string{
		"answers": "answers the gateway's hello within 5 s, for its lane: the hello " +
			"names no report log",
		"confirms": "confirms a state: no \"applied\" of revision 1 within 2s",
		"takes a session": "takes a session that waits for its customer: no \"applied\" of " +
			"revision 2 within 2s",
		"knows what is in force": "knows what is in force in its next hello: session_id is",
		"says another time": "knows what is in force in its next hello: remaining_ms is 61000 of a session " +
			"that waits with 60000",
		"takes the first state": "takes the first state of a new connection, though its revision is " +
			"lower: no \"applied\"",
		"stands still": "stands still under a hold, and says so: the countdown went on to 59s",
		"says so":      "stands still under a hold, and says so: hold is false",
		"a state that is older": "a state that is older than the one in force changes nothing: an older state " +
			"released the hold",
		"counts down":              "counts down by itself, without a connection: 3s left where about 2s are",
		"has nothing left":         "has nothing left when the time is used up: 1s left",
		"a new connection":         "a new connection replaces the one before: the one before is still open after 2s",
		"refuses a gateway":        "refuses a gateway with an older epoch: it was let in",
		"is there after a refusal": "refuses a gateway with an older epoch: it went away, and did not refuse: gone",
		"is free":                  "is free when there is no session: the session is still there",
		"reports again": "reports what happens at the lane, and again until it is acknowledged: it was " +
			"not reported again",
		"forgets": "forgets what is acknowledged: it was reported again",
	} {
		t.Run(breaks, func(t *testing.T) {
			_, broken := check(t, &controller{breaks: breaks, person: true})
			require.NotEmpty(t, broken)
			require.Contains(t, strings.Join(broken, "\n"), want)
		})
	}
}

// Without a controller there is nothing to try: the check ends at once.
func TestNoControllerIsOneBrokenRule(t *testing.T) {
	holds, broken := check(t, &controller{epoch: epoch + 1})
	require.Empty(t, holds)
	require.Len(t, broken, 1)
}

// A check that is interrupted does not count as passed.
func TestACheckThatIsInterrupted(t *testing.T) {
	c := &controller{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rules := Check{Driver: c, Lane: link.Lane{Epoch: epoch}, Now: c.now, Out: &bytes.Buffer{}}
	require.Equal(t, 1, rules.Run(ctx))
}
