package linktest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// patience is how long a story waits for what must come.
const patience = 10 * time.Second

// scene is a story being told.
type scene struct {
	*testing.T
	Bench
}

func told(story func(scene)) func(*testing.T, Bench) {
	return func(t *testing.T, bench Bench) { story(scene{T: t, Bench: bench}) }
}

// dial connects to the lane. The context ends with the dial, as a connection has to outlive it.
func (s scene) dial() (link.Connection, link.Hello, *ear) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	heard := newEar(s.T)
	conn, hello, err := s.Driver.Dial(ctx, s.Lane, heard)
	require.NoError(s, err)
	s.Cleanup(conn.Close)
	return conn, hello, heard
}

// wait is until the condition holds.
func (s scene) wait(what string, holds func() bool) {
	s.Helper()
	require.Eventually(s, holds, patience, time.Millisecond, what)
}

// send sends the state and waits until it is applied.
func (s scene) send(conn link.Connection, heard *ear, state link.State) {
	s.Helper()
	conn.Send(state)
	s.wait("the state is applied", func() bool { return heard.hasApplied(state.Revision) })
}

// cut fails the connection and waits until its receiver knows.
func (s scene) cut(heard *ear) {
	s.Helper()
	s.Controller.Cut()
	s.wait("the receiver hears that the connection failed", heard.isDown)
}

// hears waits for so many reports, and gives all that came.
func (s scene) hears(heard *ear, reports int) []lanes.Report {
	s.Helper()
	s.wait("the reports come", func() bool { return len(heard.reported()) >= reports })
	return heard.reported()
}

// pass waits until the clock has gone on by d.
func (s scene) pass(d time.Duration) {
	s.Helper()
	end := s.Now().Add(d)
	s.wait("the clock goes on", func() bool { return !s.Now().Before(end) })
}

// session is a session in that phase with so much time left now.
func (s scene) session(phase lanes.Phase, left time.Duration) *lanes.Session {
	now := s.Now()
	return &lanes.Session{
		ID: uuid.New(), Group: uuid.New(), Customer: "Jo Smith", Sold: time.Hour,
		Phase: phase, Left: left, Since: now, Created: now,
	}
}

// running is the first state of a story in which someone shoots.
func (s scene) running() link.State {
	return link.State{Revision: 1, Session: s.session(lanes.Running, time.Hour)}
}
