// Package sim is simulated lane hardware, in process. It behaves as LINK.md demands of a controller; what it leaves
// out is the wire. A lane that nothing happens on holds no goroutine and no timer (a countdown is worked out when
// somebody looks), and about 400 bytes (TestAnIdleLaneIsCheap).
//
// A Controller outlives the connections to it, as real hardware does. Locks are taken in this order:
// connection.speaking, Autopilot.mu, Controller.mu. Receivers are called with only speaking held.
package sim

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Driver connects to simulated controllers: one a lane, made when it is first asked for.
type Driver struct {
	now       func() lanes.Instant
	autopilot atomic.Pointer[Autopilot]

	mu          sync.Mutex
	controllers map[uuid.UUID]*Controller
}

var _ link.Driver = (*Driver)(nil)

// New is a driver whose controllers count time by now. Countdowns use its Mono only.
func New(now func() lanes.Instant) *Driver {
	return &Driver{now: now, controllers: make(map[uuid.UUID]*Controller)}
}

// Controller is the lane's controller. It was powered up when it was first asked for.
func (d *Driver) Controller(lane uuid.UUID) *Controller {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, known := d.controllers[lane]
	if !known {
		c = &Controller{driver: d, log: newReportLog()}
		d.controllers[lane] = c
	}
	return c
}

// Dial never waits: it connects at once, or fails at once when ctx has ended or the controller refuses.
func (d *Driver) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	if err := ctx.Err(); err != nil {
		return nil, link.Hello{}, err
	}
	conn, hello, err := d.Controller(lane.ID).connect(lane, to, false)
	if err != nil {
		return nil, link.Hello{}, err
	}
	return conn, hello, nil
}

// noticed tells the autopilot, if one is on, that something else is in force on the controller. It is called without
// the controller's lock; the autopilot looks for itself, so notices may come in any order.
func (d *Driver) noticed(c *Controller) {
	if autopilot := d.autopilot.Load(); autopilot != nil {
		autopilot.look(c)
	}
}

func (d *Driver) all() []*Controller {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]*Controller, 0, len(d.controllers))
	for _, c := range d.controllers {
		all = append(all, c)
	}
	return all
}
