package lanesim

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"rangegate/lanes/link/sim"
	"rangegate/lanes/link/websocket/frame"
)

// Controller is the simulated controller of one lane on a real socket, with its faults.
type Controller struct {
	*sim.Controller
	controllers *Controllers
	lane        Lane
	address     string
	driver      *sim.Driver // of this controller alone, as each has a clock of its own
	clock       *clock

	mu          sync.Mutex
	faults      faults
	connections map[*connection]struct{}
}

func newController(controllers *Controllers, lane Lane, address string) *Controller {
	clock := &clock{now: controllers.settings.Now}
	driver := sim.New(clock.Now)
	return &Controller{
		Controller: driver.Controller(lane.ID), controllers: controllers, lane: lane, address: address, driver: driver,
		clock: clock, connections: make(map[*connection]struct{}),
	}
}

// Address returns the URL of the controller.
func (c *Controller) Address() string { return c.address }

type socketKey struct{} // of a request's net.Conn in its context

// ServeHTTP serves one connection of a gateway, from the WebSocket handshake to its end.
func (c *Controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.controllers.running.Add(1)
	defer c.controllers.running.Done()
	socket := r.Context().Value(socketKey{}).(net.Conn)
	switch faults := c.currentFaults(); {
	case faults.refuse:
		http.Error(w, "this controller refuses connections", http.StatusServiceUnavailable)
		return
	case faults.hang:
		c.hang(r.Context())
		return
	case !c.authorized(r.Header.Get("Authorization")):
		http.Error(w, "wrong key", http.StatusUnauthorized)
		return
	}
	conn := &connection{controller: c, socket: socket}
	frames, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{frame.Subprotocol}, InsecureSkipVerify: true, // no check of the origin, as there is no browser
		OnPingReceived: func(context.Context, []byte) bool { return conn.receivePing() },
	})
	if err != nil {
		return
	}
	conn.frames = frames
	if !c.add(conn) {
		_ = frames.CloseNow()
		return
	}
	defer c.remove(conn)
	if frames.Subprotocol() != frame.Subprotocol {
		conn.close(errors.New("wants " + frame.Subprotocol))
		return
	}
	conn.close(conn.run())
}

func (c *Controller) authorized(authorization string) bool {
	want := "Bearer " + c.lane.Key
	return c.lane.Key == "" || subtle.ConstantTimeCompare([]byte(authorization), []byte(want)) == 1
}

// add notes the connection, and returns false when the controllers are closing.
func (c *Controller) add(conn *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.controllers.closing:
		return false
	default:
		c.connections[conn] = struct{}{}
		return true
	}
}

func (c *Controller) remove(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.connections, conn)
}

// eachConnection calls do for every connection, without the lock.
func (c *Controller) eachConnection(do func(*connection)) {
	c.mu.Lock()
	connections := make([]*connection, 0, len(c.connections))
	for conn := range c.connections {
		connections = append(connections, conn)
	}
	c.mu.Unlock()
	for _, conn := range connections {
		do(conn)
	}
}
