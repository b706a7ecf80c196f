// Package linkconformance runs the rules of the lane link (docs/hardware.md) against a controller, as the
// gateway would, and prints which of them hold. Makers of controllers use it without a gateway, by rangegate
// check-controller.
package linkconformance

import (
	"context"
	"crypto/tls"
	"errors"
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
	// Address and TLS are where the controller answers, for connections that the driver does not make.
	Address string
	TLS     *tls.Config
	// Incoming is the Driver, for a controller that dials; nil for one that is dialled.
	Incoming *Incoming
	// Keyed is set for a lane with a key, and adds the rules about those who do not have it.
	Keyed bool

	received *receiver // of the current connection
	conn     link.Connection
}

// rule is one promise of the protocol. Its test returns an error when the rule is broken.
type rule struct {
	name string
	test func(*Check, context.Context) error
}

// Run tests one rule after the other and returns the number of broken ones. It ends early when ctx ends,
// which counts as a broken rule, and when the first rule is broken, as there is no controller then.
func (c *Check) Run(ctx context.Context) (broken int) {
	defer c.disconnect()
	tested := slices.Clone(rules)
	if c.Incoming != nil {
		tested = slices.DeleteFunc(tested, func(r rule) bool { return r.name == replacesRule })
		tested = append(tested, incomingRules...)
	}
	if c.Keyed {
		tested = append(tested, keyRules...)
	}
	tested = append(tested, lastRules...)
	if c.Reports > 0 {
		tested = append(tested, reportRules...)
	}
	for i, rule := range tested {
		if ctx.Err() != nil {
			return broken + 1
		}
		err := rule.test(c, ctx)
		if err == nil {
			c.printf("holds   %s\n", rule.name)
			continue
		}
		broken++
		c.printf("BROKEN  %s: %v\n", rule.name, err)
		if i == 0 {
			return broken
		}
	}
	return broken
}

func (c *Check) printf(format string, values ...any) { _, _ = fmt.Fprintf(c.Out, format, values...) }

// dial connects anew. The connection before, if any, stays open until then, unless the controller dials: one
// that is connected does not.
func (c *Check) dial(ctx context.Context) (link.Hello, error) {
	if c.Incoming != nil {
		c.disconnect()
	}
	received := newReceiver()
	conn, hello, err := c.Driver.Dial(ctx, c.Lane, received)
	if err == nil {
		c.disconnect()
		c.conn, c.received = conn, received
	}
	return hello, err
}

// dialAnd connects anew and sends a first state, as a controller of a lane with a key believes no gateway before.
func (c *Check) dialAnd(ctx context.Context, s link.State) (link.Hello, error) {
	hello, err := c.dial(ctx)
	if err == nil {
		err = c.apply(ctx, s)
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
func (c *Check) apply(ctx context.Context, s link.State) error {
	if c.conn == nil {
		return errors.New("there is no connection to try it on")
	}
	c.conn.Send(s)
	if !c.received.wait(ctx, replyTimeout, func() bool { return c.received.applied >= s.Revision }) {
		return fmt.Errorf("no \"applied\" of revision %d within %s", s.Revision, replyTimeout)
	}
	return nil
}

var sessionID = uuid.MustParse("5e55104e-0000-4000-8000-000000000001")

// session returns a session with so much time left now.
func (c *Check) session(phase lanes.Phase, left time.Duration) *lanes.Session {
	now := c.Now()
	return &lanes.Session{
		ID: sessionID, Group: sessionID, Customer: "Jo Smith", Sold: left, Phase: phase, Left: left,
		Since: now, Created: now,
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

func (r *receiver) isDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down != nil
}

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

// replacesRule cannot be tested with a controller that dials: it has one connection at a time.
const replacesRule = "a new connection replaces the one before"

// shortSession is the time of the session that runs out. One of a controller that dials lasts until it has
// dialled again.
func (c *Check) shortSession() time.Duration {
	if c.Incoming != nil {
		return 10 * time.Second
	}
	return 3 * time.Second
}

// rules are tested in order. Each one begins with the state that the one before left.
var rules = []rule{
	{"answers the gateway's hello within 5 s, for its lane", func(c *Check, ctx context.Context) error {
		hello, err := c.dial(ctx)
		if err == nil && hello.LogID == "" {
			return errors.New("the hello names no report log")
		}
		return err
	}},
	{"confirms a state", func(c *Check, ctx context.Context) error {
		return c.apply(ctx, link.State{Revision: 1})
	}},
	{"takes a session that waits for its customer", func(c *Check, ctx context.Context) error {
		return c.apply(ctx, link.State{
			Revision: 2, Session: c.session(lanes.Waiting, time.Minute),
			WarnAt: []time.Duration{10 * time.Second},
		})
	}},
	{"knows what is in force in its next hello", func(c *Check, ctx context.Context) error {
		hello, err := c.dial(ctx)
		switch {
		case err == nil && hello.Session != sessionID:
			return fmt.Errorf("session_id is %s, not %s", hello.Session, sessionID)
		case err == nil && hello.Left != time.Minute:
			return fmt.Errorf("remaining_ms is %d of a session that waits with 60000", hello.Left.Milliseconds())
		}
		return err
	}},
	{
		"takes the first state of a new connection, though its revision is lower",
		func(c *Check, ctx context.Context) error {
			return c.apply(ctx, link.State{Revision: 1, Hold: true, Session: c.session(lanes.Running, time.Minute)})
		},
	},
	{"stands still under a hold, and says so", func(c *Check, ctx context.Context) error {
		pause(ctx, time.Second)
		hello, err := c.dial(ctx)
		switch {
		case err == nil && !hello.Hold:
			return errors.New("hold is false")
		case err == nil && hello.Left < 59*time.Second+500*time.Millisecond:
			return fmt.Errorf("the countdown went on to %s", hello.Left)
		}
		return err
	}},
	{"a state that is older than the one in force changes nothing", func(c *Check, ctx context.Context) error {
		if err := c.apply(ctx, link.State{Revision: 5, Hold: true}); err != nil {
			return err
		}
		c.conn.Send(link.State{Revision: 3})
		pause(ctx, time.Second/2)
		hello, err := c.dial(ctx)
		if err == nil && !hello.Hold {
			return errors.New("an older state released the hold")
		}
		return err
	}},
	{"counts down by itself, without a connection", func(c *Check, ctx context.Context) error {
		if err := c.apply(ctx, link.State{
			Revision: 1,
			Session:  c.session(lanes.Running, c.shortSession()),
		}); err != nil {
			return err
		}
		began := c.Now()
		c.disconnect()
		pause(ctx, time.Second)
		hello, err := c.dial(ctx)
		left := max(0, c.shortSession()-c.Now().Since(began))
		if off := hello.Left - left; err == nil && off.Abs() > time.Second/2 {
			return fmt.Errorf("%s left where about %s are", hello.Left, left)
		}
		return err
	}},
	{"has nothing left when the time is used up", func(c *Check, ctx context.Context) error {
		c.disconnect()
		pause(ctx, c.shortSession())
		hello, err := c.dial(ctx)
		if err == nil && hello.Left != 0 {
			return fmt.Errorf("%s left", hello.Left)
		}
		return err
	}},
	{
		"with an open end, if it has declared that it can, it goes on at zero and locks at the bound",
		func(c *Check, ctx context.Context) error {
			session := c.session(lanes.Running, time.Second)
			session.OpenEnd = session.Sold + c.shortSession()
			if err := c.apply(ctx, link.State{Revision: 1, Session: session}); err != nil {
				return err
			}
			began := c.Now()
			c.disconnect()
			pause(ctx, 1500*time.Millisecond)
			hello, err := c.dial(ctx)
			if err != nil || !hello.OpenEnd {
				return err
			}
			beyond := max(0, time.Second+c.shortSession()-c.Now().Since(began))
			if off := hello.Beyond - beyond; off.Abs() > time.Second/2 || hello.Left != 0 {
				return fmt.Errorf("remaining_ms is %d and beyond_ms %d, where 0 and about %d are",
					hello.Left.Milliseconds(), hello.Beyond.Milliseconds(), beyond.Milliseconds())
			}
			c.disconnect()
			pause(ctx, beyond)
			if hello, err = c.dial(ctx); err == nil && hello.Beyond != 0 {
				return fmt.Errorf("beyond_ms is %d when the bound is reached", hello.Beyond.Milliseconds())
			}
			return err
		},
	},
	{replacesRule, func(c *Check, ctx context.Context) error {
		// On a lane with a key the gateway proves itself with it.
		if err := c.apply(ctx, link.State{Revision: 1}); err != nil {
			return err
		}
		before, conn := c.received, c.conn
		c.conn = nil
		if _, err := c.dialAnd(ctx, link.State{Revision: 1}); err != nil {
			return err
		}
		defer conn.Close()
		if !before.wait(ctx, replyTimeout, func() bool { return before.down != nil }) {
			return fmt.Errorf("the one before is still open after %s", replyTimeout)
		}
		return nil
	}},
	{"refuses a gateway with an older epoch", func(c *Check, ctx context.Context) error {
		older := c.Lane
		older.Epoch--
		if c.Incoming != nil {
			c.disconnect()
		}
		conn, _, err := c.Driver.Dial(ctx, older, newReceiver())
		switch {
		case err == nil:
			conn.Close()
			return errors.New("it was let in")
		case !errors.Is(err, link.ErrFaulty):
			return fmt.Errorf("it went away, and did not refuse: %w", err)
		}
		return nil
	}},
}

// lastRules leave the lane as it was found: free.
var lastRules = []rule{
	{"is free when there is no session", func(c *Check, ctx context.Context) error {
		if _, err := c.dial(ctx); err != nil {
			return err
		}
		if err := c.apply(ctx, link.State{Revision: 1}); err != nil {
			return err
		}
		hello, err := c.dial(ctx)
		if err == nil && hello.Session != uuid.Nil {
			return errors.New("the session is still there")
		}
		return err
	}},
}

// reportRules need a person at the lane.
var reportRules = []rule{
	{"reports what happens at the lane, and again until it is acknowledged", func(c *Check, ctx context.Context) error {
		waiting := link.State{Revision: 1, Session: c.session(lanes.Waiting, time.Hour), Purchasing: true}
		if err := c.apply(ctx, waiting); err != nil {
			return err
		}
		c.printf("        do something at the lane now: enter, call for help, or buy (%s)\n", c.Reports)
		if !c.received.wait(ctx, c.Reports, func() bool { return len(c.received.reports) > 0 }) {
			return errors.New("nothing was reported")
		}
		first := c.received.reported()[0]
		if _, err := c.dialAnd(ctx, waiting); err != nil {
			return err
		}
		if !c.received.wait(ctx, replyTimeout,
			func() bool { return len(c.received.reports) > 0 && c.received.reports[0].Log == first.Log }) {
			return errors.New("it was not reported again in a new connection, although nobody had acknowledged it")
		}
		return nil
	}},
	{"forgets what is acknowledged", func(c *Check, ctx context.Context) error {
		reports := c.received.reported()
		if c.conn == nil || len(reports) == 0 {
			return errors.New("nothing was reported")
		}
		c.conn.Ack(reports[len(reports)-1].Log)
		pause(ctx, time.Second)
		if _, err := c.dialAnd(ctx, link.State{Revision: 1}); err != nil {
			return err
		}
		if c.received.wait(ctx, time.Second, func() bool { return len(c.received.reports) > 0 }) {
			return errors.New("it was reported again")
		}
		return nil
	}},
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
