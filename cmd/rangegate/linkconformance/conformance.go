// Package linkconformance runs the rules of the lane link (docs/hardware.md) against a controller, as the gateway would,
// and prints which of them hold. Makers of controllers use it without a gateway, by rangegate check-controller.
package linkconformance

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// replyTimeout is the time for what a controller has to do at once.
const replyTimeout = 2 * time.Second

// Check is a run of the rules against one controller.
type Check struct {
	Driver link.Driver
	Lane   link.Lane
	Now    func() lanes.Instant
	Out    io.Writer
	// Reports is the time for a person to do something at the lane; 0 leaves out the rules that need a person.
	Reports time.Duration

	received *receiver // of the current connection
	conn     link.Connection
}

// rule is one promise of the protocol. Its test returns the problem, or "" when the rule holds.
type rule struct {
	name string
	test func(*Check, context.Context) string
}

// Run tests one rule after the other and returns the number of broken ones. It ends early when ctx ends, which counts as
// a broken rule, and when the first rule is broken, as there is no controller then.
func (c *Check) Run(ctx context.Context) (broken int) {
	defer c.disconnect()
	tested := rules
	if c.Reports > 0 {
		tested = slices.Concat(rules, reportRules)
	}
	for i, rule := range tested {
		if ctx.Err() != nil {
			return broken + 1
		}
		problem := rule.test(c, ctx)
		if problem == "" {
			c.printf("holds   %s\n", rule.name)
			continue
		}
		broken++
		c.printf("BROKEN  %s: %s\n", rule.name, problem)
		if i == 0 {
			return broken
		}
	}
	return broken
}

func (c *Check) printf(format string, values ...any) { _, _ = fmt.Fprintf(c.Out, format, values...) }

// dial connects anew. The connection before, if any, stays open until then.
func (c *Check) dial(ctx context.Context) (link.Hello, error) {
	received := newReceiver()
	conn, hello, err := c.Driver.Dial(ctx, c.Lane, received)
	if err == nil {
		c.disconnect()
		c.conn, c.received = conn, received
	}
	return hello, err
}

func (c *Check) disconnect() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// apply sends the state and waits until the controller confirms it.
func (c *Check) apply(ctx context.Context, s link.State) (problem string) {
	if c.conn == nil {
		return "there is no connection to try it on"
	}
	c.conn.Send(s)
	if !c.received.wait(ctx, replyTimeout, func() bool { return c.received.applied >= s.Revision }) {
		return fmt.Sprintf("no \"applied\" of revision %d within %s", s.Revision, replyTimeout)
	}
	return ""
}

// checkHello connects anew and checks the controller's hello.
func (c *Check) checkHello(ctx context.Context, problem func(link.Hello) string) string {
	hello, err := c.dial(ctx)
	if err != nil {
		return err.Error()
	}
	return problem(hello)
}

var sessionID = uuid.MustParse("5e55104e-0000-4000-8000-000000000001")

// session returns a session with so much time left now.
func (c *Check) session(phase lanes.Phase, left time.Duration) *lanes.Session {
	now := c.Now()
	return &lanes.Session{
		ID: sessionID, Group: sessionID, Customer: "Jo Smith", Sold: left, Phase: phase, Left: left, Since: now, Created: now,
		Purchasing: true,
	}
}

// receiver keeps what the controller sends on one connection.
type receiver struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	applied uint64
	reports []lanes.Report
	down    error
}

func newReceiver() *receiver { return &receiver{changed: make(chan struct{})} }

// Applied implements link.Receiver.
func (r *receiver) Applied(revision uint64) {
	r.update(func() { r.applied = max(r.applied, revision) })
}

// Reported implements link.Receiver.
func (r *receiver) Reported(report lanes.Report) {
	r.update(func() { r.reports = append(r.reports, report) })
}

// Down implements link.Receiver.
func (r *receiver) Down(err error) { r.update(func() { r.down = err }) }

func (r *receiver) reported() []lanes.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.reports)
}

func (r *receiver) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.changed)
	r.changed = make(chan struct{})
}

// wait waits until the condition, which it checks under the lock, and returns false on a timeout.
func (r *receiver) wait(ctx context.Context, timeout time.Duration, condition func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		r.mu.Lock()
		ok, changed := condition(), r.changed
		r.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
