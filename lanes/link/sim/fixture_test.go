package sim_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
)

// fixture is a simulated lane with the link up.
type fixture struct {
	*sim.Controller
	driver   *sim.Driver
	lane     link.Lane
	now      func() lanes.Instant
	conn     link.Connection
	revision uint64
}

func newFixture(t *testing.T, driver *sim.Driver, now func() lanes.Instant) *fixture {
	t.Helper()
	f := &fixture{driver: driver, lane: link.Lane{ID: uuid.New()}, now: now}
	f.Controller = driver.Controller(f.lane.ID)
	f.connect(t)
	return f
}

func (f *fixture) connect(t *testing.T) {
	t.Helper()
	conn, _, err := f.driver.Dial(t.Context(), f.lane, ignoreAll{})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	f.conn = conn
}

// send sends a state with the session in that phase from now on.
func (f *fixture) send(session lanes.Session, phase lanes.Phase, hold bool) {
	session.Phase, session.Since = phase, f.now()
	f.revision++
	f.conn.Send(link.State{Revision: f.revision, Session: &session, Hold: hold, Purchasing: session.Purchasing})
}

func (f *fixture) free() {
	f.revision++
	f.conn.Send(link.State{Revision: f.revision})
}

type ignoreAll struct{}

func (ignoreAll) Applied(uint64)        {}
func (ignoreAll) Reported(lanes.Report) {}
func (ignoreAll) Down(error)            {}
