// Package sim is simulated lane hardware in the process. It behaves as LINK.md requires of a controller, without the wire.
// An idle lane has no goroutine and no timer (a countdown is computed when it is read), and uses about 400 bytes
// (TestAnIdleLaneIsCheap).
//
// A Controller outlives its connections, as hardware does. Locks are acquired in this order: connection.calling,
// Autopilot.mu, Controller.mu. Receivers are called with only calling held.
package sim

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Driver connects to simulated controllers, one for each lane. It makes a controller at its first use.
type Driver struct {
	now       func() lanes.Instant
	autopilot atomic.Pointer[Autopilot]

	mu          sync.Mutex
	controllers map[uuid.UUID]*Controller
}

var _ link.Driver = (*Driver)(nil)

// New makes a driver whose controllers use that clock. Countdowns use only its Mono.
func New(now func() lanes.Instant) *Driver {
	return &Driver{now: now, controllers: make(map[uuid.UUID]*Controller)}
}

// Controller returns the lane's controller, which was powered up at its first use.
func (d *Driver) Controller(lane uuid.UUID) *Controller {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, found := d.controllers[lane]
	if !found {
		c = &Controller{driver: d, log: newReportLog()}
		d.controllers[lane] = c
	}
	return c
}

// Dial does not block: it fails when ctx has ended or the controller refuses, and otherwise connects.
func (d *Driver) Dial(ctx context.Context, lane link.Lane, receiver link.Receiver) (link.Connection, link.Hello, error) {
	if err := ctx.Err(); err != nil {
		return nil, link.Hello{}, err
	}
	conn, hello, err := d.Controller(lane.ID).connect(lane, receiver, false)
	if err != nil {
		return nil, link.Hello{}, err
	}
	return conn, hello, nil
}

// Accept is Dial for a gateway that has sent its hello over a wire.
func (d *Driver) Accept(lane link.Lane, receiver link.Receiver) (WireConnection, link.Hello, error) {
	conn, hello, err := d.Controller(lane.ID).connect(lane, receiver, true)
	return WireConnection{conn}, hello, err
}

// stateChanged notifies the autopilot, if one runs. The caller does not hold the controller's lock; calls may come in any
// order, since the autopilot reads the state itself.
func (d *Driver) stateChanged(c *Controller) {
	if autopilot := d.autopilot.Load(); autopilot != nil {
		autopilot.update(c)
	}
}

func (d *Driver) allControllers() []*Controller {
	d.mu.Lock()
	defer d.mu.Unlock()
	controllers := make([]*Controller, 0, len(d.controllers))
	for _, c := range d.controllers {
		controllers = append(controllers, c)
	}
	return controllers
}
