package lanesim

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"rangegate/lanes"
	"rangegate/lanes/link"
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
	if c.controllers.closing.Err() != nil {
		return false
	}
	c.connections[conn] = struct{}{}
	return true
}

func (c *Controller) remove(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.connections, conn)
}

// eachConnection calls do for every connection, without the lock.
func (c *Controller) eachConnection(do func(*connection)) {
	c.mu.Lock()
	connections := slices.Collect(maps.Keys(c.connections))
	c.mu.Unlock()
	for _, conn := range connections {
		do(conn)
	}
}

// The timeouts of a controller (LINK.md).
const (
	livenessTimeout = 15 * time.Second // without a message or ping
	helloTimeout    = 5 * time.Second
	writeTimeout    = time.Second
)

// connection is one connection of a gateway. It is the link.Receiver of the simulated controller, and sends its reports.
type connection struct {
	controller *Controller
	frames     *websocket.Conn
	socket     net.Conn

	writing sync.Mutex // held during every write, and until the hello is written
	delayed []byte     // a report that the next one overtakes; guarded by writing

	link *sim.WireConnection // nil before the gateway's hello; used by the goroutine of run, which also receives pings
}

// protocolError is a rule that the gateway broke. It closes the connection with a status that names the rule.
type protocolError struct {
	status websocket.StatusCode
	error
}

// run serves the connection until it ends. The error is a protocolError, or of the socket.
func (c *connection) run() error {
	_ = c.socket.SetReadDeadline(time.Now().Add(helloTimeout))
	gateway, err := c.readHello()
	if err != nil {
		return err
	}
	if c.controller.currentFaults().wrongLane {
		return c.pose()
	}
	line, err := c.writeHello(gateway)
	if err != nil {
		return err
	}
	defer line.Close()
	for {
		c.resetLiveness()
		message, err := c.read()
		if err != nil {
			return err
		}
		switch m := message.(type) {
		case link.State:
			if m.Session != nil {
				m.Session.Since = c.controller.clock.Now()
			}
			line.Send(m)
		case lanes.Log:
			if !c.controller.currentFaults().loseAcks {
				line.Ack(m)
			}
		}
	}
}

func (c *connection) readHello() (link.Lane, error) {
	for {
		message, err := c.read()
		if err != nil {
			return link.Lane{}, err
		}
		switch m := message.(type) {
		case nil:
		case link.Lane:
			if m.ID != c.controller.lane.ID && !c.controller.currentFaults().wrongLane {
				return m, protocolError{websocket.StatusPolicyViolation, fmt.Errorf("this is the controller of lane %s", c.controller.lane.ID)}
			}
			return m, nil
		default:
			return link.Lane{}, protocolError{websocket.StatusPolicyViolation, errors.New("the first message is the hello")}
		}
	}
}

// writeHello writes the controller's hello before any report.
func (c *connection) writeHello(gateway link.Lane) (sim.WireConnection, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	line, hello, err := c.controller.driver.Accept(gateway, c)
	if err != nil {
		return line, protocolError{websocket.StatusPolicyViolation, err}
	}
	c.link = &line
	if err := c.writeLocked(frame.ControllerHello(frame.Hello{Lane: c.controller.lane.ID, Hello: hello})); err != nil {
		line.Close()
		return line, err
	}
	return line, nil
}

// resetLiveness notes a sign of life of the gateway.
func (c *connection) resetLiveness() {
	if c.controller.currentFaults().halfOpen {
		return
	}
	_ = c.socket.SetReadDeadline(time.Now().Add(livenessTimeout))
	if c.link != nil {
		c.link.Heard()
	}
}

// receivePing reports whether to answer with a pong.
func (c *connection) receivePing() bool {
	c.resetLiveness()
	return !c.controller.currentFaults().halfOpen
}

// read returns the next message, nil for one of an unknown type or one that a fault loses.
func (c *connection) read() (any, error) {
	c.controller.delayRead()
	kind, reader, err := c.frames.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(reader, frame.Longest+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > frame.Longest:
		return nil, protocolError{websocket.StatusMessageTooBig, websocket.ErrMessageTooBig}
	case kind != websocket.MessageText:
		return nil, protocolError{websocket.StatusPolicyViolation, errors.New("a message that is not text")}
	case c.controller.currentFaults().halfOpen:
		return nil, nil
	}
	message, err := frame.FromGateway(text)
	if err != nil {
		return nil, protocolError{websocket.StatusPolicyViolation, err}
	}
	return message, nil
}

// write writes messages after the hello, and closes the socket after an error.
func (c *connection) write(texts ...[]byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for _, text := range texts {
		if c.writeLocked(text) != nil {
			_ = c.socket.Close()
		}
	}
}

// writeLocked writes one message. The caller holds writing.
func (c *connection) writeLocked(text []byte) error {
	if c.controller.currentFaults().halfOpen {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return c.frames.Write(ctx, websocket.MessageText, text)
}

// close closes the connection. A protocolError is sent as the reason.
func (c *connection) close(err error) {
	var broken protocolError
	if errors.As(err, &broken) {
		text := broken.Error()
		timer := time.AfterFunc(writeTimeout, func() { _ = c.socket.Close() })
		_ = c.frames.Close(broken.status, text[:min(len(text), 123)])
		timer.Stop()
	}
	_ = c.socket.Close()
	_ = c.frames.CloseNow()
}

// Applied implements link.Receiver.
func (c *connection) Applied(revision uint64) { c.write(frame.AppliedRevision(revision)) }

// Reported implements link.Receiver.
func (c *connection) Reported(r lanes.Report) { c.report(frame.Report(r)) }

// Down implements link.Receiver.
func (c *connection) Down(error) { _ = c.socket.Close() }
