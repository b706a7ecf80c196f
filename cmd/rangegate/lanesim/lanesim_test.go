package lanesim_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
)

// The tests of lanes/link/websocket cover a controller without faults, with linktest; these tests cover the faults.

const timeout = time.Minute

// fixture is a lane with a driver that connects to it, and a clock that can be moved ahead.
type fixture struct {
	*testing.T
	*lanesim.Controller
	lane   link.Lane
	driver *websocket.Driver
	ahead  *atomic.Int64
}

func newFixture(t *testing.T) *fixture {
	r := &fixture{T: t, lane: link.Lane{Range: uuid.New(), ID: uuid.New(), Epoch: 1}, ahead: new(atomic.Int64)}
	hardware, err := lanesim.New(lanesim.Settings{Now: r.now}, lanesim.Lane{ID: r.lane.ID, Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(hardware.Close)
	r.Controller = hardware.Controller(r.lane.ID)
	r.driver = websocket.New(websocket.Settings{
		Now: r.now, Lanes: map[uuid.UUID]websocket.Target{r.lane.ID: {Address: r.Address()}},
	})
	return r
}

var start = time.Now()

func (r *fixture) now() lanes.Instant {
	now := time.Now()
	return lanes.Instant{Wall: now.UTC(), Mono: now.Sub(start) + time.Duration(r.ahead.Load())}
}

func (r *fixture) dial() (link.Connection, link.Hello, *receiver) {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	received := &receiver{
		applied: make(chan uint64, 100), reports: make(chan lanes.Report, 100),
		down: make(chan error, 1),
	}
	conn, hello, err := r.driver.Dial(ctx, r.lane, received)
	require.NoError(r, err)
	r.Cleanup(conn.Close)
	return conn, hello, received
}

// startSession dials and starts a session.
func (r *fixture) startSession() (link.Connection, link.Hello, *receiver) {
	r.Helper()
	conn, hello, received := r.dial()
	conn.Send(link.State{Revision: 1, Session: r.session()})
	receive(r, received.applied)
	return conn, hello, received
}

func (r *fixture) session() *lanes.Session {
	return &lanes.Session{
		ID: uuid.New(), Group: uuid.New(), Customer: "Jo", Phase: lanes.Running, Left: time.Hour,
		Since: r.now(),
	}
}

type receiver struct {
	applied chan uint64
	reports chan lanes.Report
	down    chan error
}

func (r *receiver) Applied(revision uint64)      { r.applied <- revision }
func (r *receiver) Reported(report lanes.Report) { r.reports <- report }
func (r *receiver) Down(err error)               { r.down <- err }

func receive[T any](t testing.TB, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(timeout):
		require.Fail(t, "timeout")
	}
	return value
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	all := []lanesim.Lane{
		{ID: uuid.New(), Listen: "127.0.0.1:0"},
		{ID: uuid.New(), Listen: "127.0.0.1:0", Path: "/b"},
	}
	hardware, err := lanesim.New(lanesim.Settings{
		Now: (&fixture{ahead: new(atomic.Int64)}).now, Shooters: true, Faults: lanesim.Kinds,
		Every: time.Millisecond, Seed: 1,
	}, all...)
	require.NoError(t, err)
	hardware.Controller(all[1].ID).Hang(true)
	targets := map[uuid.UUID]websocket.Target{}
	for _, lane := range all {
		targets[lane.ID] = websocket.Target{Address: hardware.Controller(lane.ID).Address()}
	}
	driver := websocket.New(websocket.Settings{Now: (&fixture{ahead: new(atomic.Int64)}).now, Lanes: targets})
	for _, lane := range all {
		go func() {
			conn, _, err := driver.Dial(t.Context(), link.Lane{Range: uuid.New(), ID: lane.ID},
				&receiver{down: make(chan error, 1)})
			if err == nil {
				t.Cleanup(conn.Close)
			}
		}()
	}
	hardware.Close()
	hardware.Close()
	goleak.VerifyNone(t, before)
}

func TestLanesMayShareAnAddress(t *testing.T) {
	now := (&fixture{ahead: new(atomic.Int64)}).now
	first, err := lanesim.New(lanesim.Settings{Now: now}, lanesim.Lane{ID: uuid.New(), Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	first.Close() // frees its port
	listen := "127.0.0.1:" + portOf(t, first)
	a, b := uuid.New(), uuid.New()
	both, err := lanesim.New(lanesim.Settings{Now: now},
		lanesim.Lane{ID: a, Listen: listen, Path: "/a"}, lanesim.Lane{ID: b, Listen: listen, Path: "/b"})
	require.NoError(t, err)
	defer both.Close()
	assert.Equal(t, "ws://"+listen+"/b", both.Controller(b).Address())
	assert.Nil(t, both.Controller(uuid.New()))

	_, err = lanesim.New(lanesim.Settings{Now: now}, lanesim.Lane{ID: a, Listen: listen, Path: "/a"})
	assert.ErrorContains(t, err, "in use")
	both.Close()
	_, err = lanesim.New(lanesim.Settings{Now: now}, lanesim.Lane{ID: a, Listen: listen},
		lanesim.Lane{ID: b, Listen: listen})
	assert.ErrorContains(t, err, "already")
}

func TestRandomFaultsDependOnTheSeed(t *testing.T) {
	lane := uuid.New()
	assert.Equal(t, lanesim.RandomFaults(1, lane, 50), lanesim.RandomFaults(1, lane, 50))
	assert.NotEqual(t, lanesim.RandomFaults(1, lane, 50), lanesim.RandomFaults(2, lane, 50))
	assert.NotEqual(t, lanesim.RandomFaults(1, lane, 50), lanesim.RandomFaults(1, uuid.New(), 50))
}

func TestEveryKindCanHappen(t *testing.T) {
	for _, kind := range lanesim.Kinds {
		r := newFixture(t)
		r.startSession()
		r.SetKind(kind, true)
		r.SetKind(kind, false)
		require.Eventually(t, func() bool {
			conn, _, err := r.driver.Dial(t.Context(), r.lane,
				&receiver{make(chan uint64, 9), make(chan lanes.Report, 9), make(chan error, 1)})
			if err == nil {
				conn.Close()
			}
			return err == nil
		}, timeout, time.Millisecond, "after %s", kind)
	}
}

func portOf(t *testing.T, hardware *lanesim.Controllers) string {
	ports := hardware.Ports()
	require.Len(t, ports, 1)
	return ports[0]
}
