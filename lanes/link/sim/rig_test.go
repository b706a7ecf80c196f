package sim_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
)

// rig is one simulated lane with the link up.
type rig struct {
	*sim.Controller
	driver   *sim.Driver
	lane     link.Lane
	now      func() lanes.Instant
	conn     link.Connection
	revision uint64
}

func newRig(t *testing.T, driver *sim.Driver, now func() lanes.Instant) *rig {
	t.Helper()
	r := &rig{driver: driver, lane: link.Lane{ID: uuid.New()}, now: now}
	r.Controller = driver.Controller(r.lane.ID)
	r.connect(t)
	return r
}

func (r *rig) connect(t *testing.T) {
	t.Helper()
	conn, _, err := r.driver.Dial(t.Context(), r.lane, deaf{})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	r.conn = conn
}

// want sends a state with the session in that phase, its time counted from now.
func (r *rig) want(session lanes.Session, phase lanes.Phase, hold bool) {
	session.Phase, session.Since = phase, r.now()
	r.revision++
	r.conn.Send(link.State{Revision: r.revision, Session: &session, Hold: hold, Purchasing: session.Purchasing})
}

func (r *rig) free() {
	r.revision++
	r.conn.Send(link.State{Revision: r.revision})
}

type deaf struct{}

func (deaf) Applied(uint64)        {}
func (deaf) Reported(lanes.Report) {}
func (deaf) Down(error)            {}
