package support

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/lanes/link/websocket"
)

// Controllers are lane controllers that answer over WebSockets. They run in the tests' own process, so they outlive the
// gateway as real ones do.
type Controllers struct {
	*lanesim.Controllers
	t           testing.TB
	first, last int
}

var processStart = time.Now()

// Now is the clock of the controllers.
func Now() lanes.Instant {
	now := time.Now()
	return lanes.Instant{Wall: now.UTC(), Mono: now.Sub(processStart)}
}

// NewControllers powers up the controllers of the lanes with those numbers, until the test ends. The key of a
// controller is the id of its lane.
func NewControllers(t testing.TB, first, last int) *Controllers {
	var served []lanesim.Lane
	for n := first; n <= last; n++ {
		served = append(served, lanesim.Lane{ID: uuid.MustParse(LaneID(n)), Listen: "127.0.0.1:0", Key: LinkKey(n)})
	}
	return start(t, first, last, served)
}

// NewDialling powers up the controllers of the lanes with those numbers, which dial the address: a URL of
// http or ws without a path. Their keys are those of NewControllers, and IncomingLane configures their lanes.
func NewDialling(t testing.TB, address string, first, last int, trust ...*tls.Config) *Controllers {
	var served []lanesim.Lane
	for n := first; n <= last; n++ {
		lane := lanesim.Lane{ID: uuid.MustParse(LaneID(n)), Dial: LinkURL(address, n), Key: LinkKey(n)}
		for _, trusted := range trust {
			lane.TLS = trusted
		}
		served = append(served, lane)
	}
	return start(t, first, last, served)
}

// LinkURL is the URL that the controller of the lane dials at that address of a gateway or a proxy.
func LinkURL(address string, lane int) string {
	return strings.Replace(address, "http", "ws", 1) + websocket.LanePath + LaneID(lane)
}

// IncomingLane is a lane of a configuration whose controller dials.
func IncomingLane(n int, more ...string) string {
	return Lane(n, append(more, fmt.Sprintf("link: {driver: incoming, key: %q}", LinkKey(n)))...)
}

// IncomingLanes are lanes with those numbers whose controllers dial.
func IncomingLanes(first, last int) (lanes []string) {
	for n := first; n <= last; n++ {
		lanes = append(lanes, IncomingLane(n))
	}
	return lanes
}

// ListenForControllers is the section of a configuration for controllers that dial any free port.
const ListenForControllers = "controllers: {address: 127.0.0.1:0}"

func start(t testing.TB, first, last int, served []lanesim.Lane) *Controllers {
	controllers, err := lanesim.New(lanesim.Settings{Now: Now}, served...)
	require.NoError(t, err)
	t.Cleanup(controllers.Close)
	return &Controllers{controllers, t, first, last}
}

// Controller is that of the lane.
func (c *Controllers) Controller(lane int) *lanesim.Controller {
	return c.Controllers.Controller(uuid.MustParse(LaneID(lane)))
}

// Lane is a lane of a configuration, linked to its controller.
func (c *Controllers) Lane(n int, more ...string) string {
	return Lane(n, append(more, Link(c.Controller(n).Address(), LinkKey(n)))...)
}

// Lanes are all lanes for a configuration.
func (c *Controllers) Lanes() (lanes []string) {
	for n := c.first; n <= c.last; n++ {
		lanes = append(lanes, c.Lane(n))
	}
	return lanes
}

// WaitOpen waits until the lane's fire line is open, in that session.
func (c *Controllers) WaitOpen(lane int, session string) {
	c.t.Helper()
	Eventually(c.t, fmt.Sprintf("lane %d opens", lane), func() bool {
		shown := c.Controller(lane).Shown()
		return shown.Open && shown.Session.String() == session
	}, c.seen(lane))
}

// WaitLocked waits until the lane's fire line is locked, with no session on it.
func (c *Controllers) WaitLocked(lane int) {
	c.t.Helper()
	Eventually(c.t, fmt.Sprintf("lane %d locks", lane), func() bool {
		shown := c.Controller(lane).Shown()
		return !shown.Open && shown.Session == uuid.Nil
	}, c.seen(lane))
}

// WaitAcked waits until every report of the controller is saved.
func (c *Controllers) WaitAcked(lane int) {
	c.t.Helper()
	Eventually(c.t, fmt.Sprintf("the reports of lane %d are acked", lane),
		func() bool { return c.Controller(lane).Unacked() == 0 },
		func() any { return c.Controller(lane).Unacked() })
}

// seen is what the controller shows, for the failure of a wait.
func (c *Controllers) seen(lane int) func() any {
	return func() any { return c.Controller(lane).Shown() }
}

// Silence has the controller miss everything while its connection stays open.
func (c *Controllers) Silence(lane int) { c.Controller(lane).HalfOpen(true) }

// Restore ends Silence: the controller answers again, on another connection.
func (c *Controllers) Restore(lane int) {
	c.Controller(lane).HalfOpen(false)
	c.Controller(lane).Drop()
}
