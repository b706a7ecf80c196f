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

// What a controller does that is in order is told in lanes/link/websocket, by linktest; here is what can be wrong.

const patience = 10 * time.Second

// rig is a lane with a gateway that connects to it, and a clock that can be put ahead.
type rig struct {
	*testing.T
	*lanesim.Controller
	lane   link.Lane
	driver *websocket.Driver
	ahead  *atomic.Int64
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, lane: link.Lane{Range: uuid.New(), ID: uuid.New(), Epoch: 1}, ahead: new(atomic.Int64)}
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

func (r *rig) now() lanes.Instant {
	now := time.Now()
	return lanes.Instant{Wall: now.UTC(), Mono: now.Sub(start) + time.Duration(r.ahead.Load())}
}

func (r *rig) dial() (link.Connection, link.Hello, *ear) {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	heard := &ear{applied: make(chan uint64, 100), reports: make(chan lanes.Report, 100), down: make(chan error, 1)}
	conn, hello, err := r.driver.Dial(ctx, r.lane, heard)
	require.NoError(r, err)
	r.Cleanup(conn.Close)
	return conn, hello, heard
}

// shooting dials, and has a session run.
func (r *rig) shooting() (link.Connection, link.Hello, *ear) {
	r.Helper()
	conn, hello, heard := r.dial()
	conn.Send(link.State{Revision: 1, Session: r.session()})
	got(r, heard.applied)
	return conn, hello, heard
}

func (r *rig) session() *lanes.Session {
	return &lanes.Session{ID: uuid.New(), Group: uuid.New(), Customer: "Jo", Phase: lanes.Running, Left: time.Hour, Since: r.now()}
}

type ear struct {
	applied chan uint64
	reports chan lanes.Report
	down    chan error
}

func (e *ear) Applied(revision uint64) { e.applied <- revision }
func (e *ear) Reported(r lanes.Report) { e.reports <- r }
func (e *ear) Down(err error)          { e.down <- err }

func got[T any](t testing.TB, from <-chan T) (one T) {
	t.Helper()
	select {
	case one = <-from:
	case <-time.After(patience):
		require.Fail(t, "it never came")
	}
	return one
}

func TestCloseLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	all := []lanesim.Lane{
		{ID: uuid.New(), Listen: "127.0.0.1:0"},
		{ID: uuid.New(), Listen: "127.0.0.1:0", Path: "/b"},
	}
	hardware, err := lanesim.New(lanesim.Settings{
		Now: (&rig{ahead: new(atomic.Int64)}).now, Shooters: true, Faults: lanesim.Kinds, Every: time.Millisecond, Seed: 1,
	}, all...)
	require.NoError(t, err)
	hardware.Controller(all[1].ID).Hang(true)
	targets := map[uuid.UUID]websocket.Target{}
	for _, lane := range all {
		targets[lane.ID] = websocket.Target{Address: hardware.Controller(lane.ID).Address()}
	}
	driver := websocket.New(websocket.Settings{Now: (&rig{ahead: new(atomic.Int64)}).now, Lanes: targets})
	for _, lane := range all {
		go func() {
			conn, _, err := driver.Dial(t.Context(), link.Lane{Range: uuid.New(), ID: lane.ID}, &ear{down: make(chan error, 1)})
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
	now := (&rig{ahead: new(atomic.Int64)}).now
	first, err := lanesim.New(lanesim.Settings{Now: now}, lanesim.Lane{ID: uuid.New(), Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	first.Close() // its port is free now
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
	_, err = lanesim.New(lanesim.Settings{Now: now}, lanesim.Lane{ID: a, Listen: listen}, lanesim.Lane{ID: b, Listen: listen})
	assert.ErrorContains(t, err, "already")
}

func TestMishapsComeFromTheSeed(t *testing.T) {
	lane := uuid.New()
	assert.Equal(t, lanesim.Foreseen(1, lane, 50), lanesim.Foreseen(1, lane, 50))
	assert.NotEqual(t, lanesim.Foreseen(1, lane, 50), lanesim.Foreseen(2, lane, 50))
	assert.NotEqual(t, lanesim.Foreseen(1, lane, 50), lanesim.Foreseen(1, uuid.New(), 50))
}

func TestEveryKindCanHappen(t *testing.T) {
	for _, kind := range lanesim.Kinds {
		r := newRig(t)
		r.shooting()
		r.Have(kind, true)
		r.Have(kind, false)
		require.Eventually(t, func() bool {
			conn, _, err := r.driver.Dial(t.Context(), r.lane, &ear{make(chan uint64, 9), make(chan lanes.Report, 9), make(chan error, 1)})
			if err == nil {
				conn.Close()
			}
			return err == nil
		}, patience, time.Millisecond, "%s is over", kind)
	}
}

func portOf(t *testing.T, hardware *lanesim.Controllers) string {
	ports := hardware.Ports()
	require.Len(t, ports, 1)
	return ports[0]
}
