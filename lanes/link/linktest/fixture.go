package linktest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// patience limits how long a test waits for a condition.
const patience = time.Minute

// fixture is a running test with its bench.
type fixture struct {
	*testing.T
	Bench
}

func with(test func(fixture)) func(*testing.T, Bench) {
	return func(t *testing.T, bench Bench) { test(fixture{T: t, Bench: bench}) }
}

// dial connects to the lane. Its context ends at the return: the connection must outlive it.
func (s fixture) dial() (link.Connection, link.Hello, *receiver) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	received := newReceiver(s.T)
	conn, hello, err := s.Driver.Dial(ctx, s.Lane, received)
	require.NoError(s, err)
	s.Cleanup(conn.Close)
	return conn, hello, received
}

// dialAnd connects to the lane and sends a first state: a controller with a key believes the gateway from
// then on, and reports.
func (s fixture) dialAnd(state link.State) (link.Connection, link.Hello, *receiver) {
	s.Helper()
	conn, hello, received := s.dial()
	s.send(conn, received, state)
	return conn, hello, received
}

// wait waits until the condition is true.
func (s fixture) wait(description string, condition func() bool) {
	s.Helper()
	require.Eventually(s, condition, patience, time.Millisecond, description)
}

// send sends the state and waits until it is applied.
func (s fixture) send(conn link.Connection, received *receiver, state link.State) {
	s.Helper()
	conn.Send(state)
	s.wait("the state is applied", func() bool { return received.hasApplied(state.Revision) })
}

// cut fails the connection and waits for Down.
func (s fixture) cut(received *receiver) {
	s.Helper()
	s.Controller.Cut()
	s.wait("Down is called", received.isDown)
}

// waitReports waits for that many reports, and returns all.
func (s fixture) waitReports(received *receiver, reports int) []lanes.Report {
	s.Helper()
	s.wait("the reports come", func() bool { return len(received.reported()) >= reports })
	return received.reported()
}

// elapse waits until the clock has advanced by d.
func (s fixture) elapse(d time.Duration) {
	s.Helper()
	end := s.Now().Add(d)
	s.wait("the clock advances", func() bool { return !s.Now().Before(end) })
}

// session returns a session in that phase with that much time left now.
func (s fixture) session(phase lanes.Phase, left time.Duration) *lanes.Session {
	now := s.Now()
	return &lanes.Session{
		ID: uuid.New(), Group: uuid.New(), Customer: "Jo Smith", Sold: time.Hour,
		Phase: phase, Left: left, Since: now, Created: now,
	}
}

// running returns a first state with a running session.
func (s fixture) running() link.State {
	return link.State{Revision: 1, Session: s.session(lanes.Running, time.Hour)}
}

// receiver records the calls of one connection. Calls after Down, or after markClosed, fail the test at its end.
type receiver struct {
	mu      sync.Mutex
	applied []uint64
	reports []lanes.Report
	down    bool
	closed  bool
	illegal []any
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	t.Cleanup(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		assert.Empty(t, r.illegal, "calls from a connection that had failed or was closed")
	})
	return r
}

// Applied implements link.Receiver.
func (r *receiver) Applied(revision uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applied = append(r.applied, revision)
	r.check(revision)
}

// Reported implements link.Receiver.
func (r *receiver) Reported(report lanes.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, report)
	r.check(report)
}

// Down implements link.Receiver.
func (r *receiver) Down(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.check(err)
	if err == nil {
		r.illegal = append(r.illegal, "down without a reason")
	}
	r.down = true
}

func (r *receiver) check(call any) {
	if r.down || r.closed {
		r.illegal = append(r.illegal, call)
	}
}

// markClosed notes that the connection is closed: no call may follow.
func (r *receiver) markClosed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

func (r *receiver) isDown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down
}

func (r *receiver) hasApplied(revision uint64) bool { return slices.Contains(r.revisions(), revision) }

func (r *receiver) revisions() []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.applied)
}

func (r *receiver) reported() []lanes.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.reports)
}
