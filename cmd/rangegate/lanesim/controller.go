package lanesim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"rangegate/lanes"
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
	if onState := controllers.settings.OnState; onState != nil {
		driver.Observe(func(epoch uint64, shown sim.Shown) { onState(lane, epoch, shown) })
	}
	return &Controller{
		Controller: driver.Controller(lane.ID), controllers: controllers, lane: lane, address: address, driver: driver,
		clock: clock, connections: make(map[*connection]struct{}),
	}
}

// Address returns the URL of the controller, or that which it dials.
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
	}
	conn := &connection{controller: c, socket: socket}
	frames, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		// no check of the origin, as there is no browser
		Subprotocols: []string{frame.Subprotocol}, InsecureSkipVerify: true,
		OnPingReceived: func(context.Context, []byte) bool { return conn.receivePing() },
	})
	if err != nil {
		return
	}
	conn.frames = frames
	_ = c.serve(conn)
}

// serve serves a connection after the WebSocket handshake, and returns why it ended.
func (c *Controller) serve(conn *connection) error {
	if !c.add(conn) {
		_ = conn.frames.CloseNow()
		return net.ErrClosed
	}
	defer c.remove(conn)
	err := errors.New("wants " + frame.Subprotocol)
	if conn.frames.Subprotocol() == frame.Subprotocol {
		err = conn.run()
	}
	conn.close(err)
	return err
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

// Cut fails the connection, and those of gateways that have not proven themselves yet. The state in force remains.
func (c *Controller) Cut(err error) {
	c.Controller.Cut(err)
	c.dropUnproven()
}

// PowerCut turns the controller off and on, as that of sim.Controller.
func (c *Controller) PowerCut(logLost bool) {
	c.Controller.PowerCut(logLost)
	c.Drop() // at once: by the time that the controller is on again, nothing answers pings on the older connection
}

// dropUnproven closes the connections that the simulated lane does not know of yet.
func (c *Controller) dropUnproven() {
	c.eachConnection(func(conn *connection) {
		if conn.link.Load() == nil {
			_ = conn.socket.Close()
		}
	})
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

// connection is one connection of a gateway. It is the link.Receiver of the simulated controller, and sends
// its reports.
type connection struct {
	controller *Controller
	frames     *websocket.Conn
	socket     net.Conn

	writing sync.Mutex // held during every write, and until the hello is written
	delayed []byte     // a report that the next one overtakes; guarded by writing

	// nil until the gateway is believed: it has said hello, and has proven itself
	link atomic.Pointer[sim.WireConnection]
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
	handshake := frame.Handshake{Key: c.controller.lane.Key, Lane: c.controller.lane.ID, Gateway: gateway.Challenge}
	if err := c.answer(gateway, &handshake); err != nil {
		return err
	}
	defer c.leave()
	for {
		c.resetLiveness()
		message, err := c.read()
		if err != nil {
			return err
		}
		line := c.link.Load()
		switch m := message.(type) {
		case frame.ProvenState:
			if line == nil {
				if line, err = c.believe(gateway, handshake, m.Proof); err != nil {
					return err
				}
			}
			if m.Session != nil {
				m.Session.Since = c.controller.clock.Now()
				if start := m.Session.Start; start != nil {
					start.At = m.Session.Since.Add(start.At.Mono)
				}
			}
			line.Send(m.State)
		case lanes.Log:
			if line != nil && !c.controller.currentFaults().loseAcks {
				line.Ack(m)
			}
		}
	}
}

func (c *connection) readHello() (frame.Greeting, error) {
	for {
		message, err := c.read()
		if err != nil {
			return frame.Greeting{}, err
		}
		switch m := message.(type) {
		case nil:
		case frame.Greeting:
			if m.ID != c.controller.lane.ID && !c.controller.currentFaults().wrongLane {
				return m, refuse(fmt.Errorf("this is the controller of lane %s", c.controller.lane.ID))
			}
			return m, nil
		default:
			return frame.Greeting{}, refuse(errors.New("the first message is the hello"))
		}
	}
}

func refuse(err error) error { return protocolError{websocket.StatusPolicyViolation, err} }

// answer answers the gateway's hello before any report. Without a key the gateway is believed at once. With
// one the controller proves that it has it, and the gateway has still to do so.
func (c *connection) answer(gateway frame.Greeting, handshake *frame.Handshake) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	answer := frame.Hello{Lane: c.controller.lane.ID}
	if handshake.Key == "" {
		line, hello, err := c.controller.driver.Accept(gateway.Lane, c)
		if err != nil {
			return refuse(err)
		}
		c.link.Store(&line)
		answer.Hello = hello
	} else {
		if gateway.Challenge == "" {
			return refuse(errors.New("this lane has a key: the hello wants a challenge"))
		}
		hello, err := c.controller.driver.Greet(gateway.Lane)
		if err != nil {
			return refuse(err)
		}
		handshake.Controller = frame.NewChallenge()
		answer.Hello, answer.Challenge, answer.Proof = hello, handshake.Controller,
			handshake.ControllerProof(hello.LogID)
	}
	if err := c.writeLocked(frame.ControllerHello(answer)); err != nil {
		c.leave()
		return err
	}
	return nil
}

// believe makes this the lane's connection, if that is the proof of a gateway with the lane's key.
func (c *connection) believe(
	gateway frame.Greeting, handshake frame.Handshake, proof string,
) (*sim.WireConnection, error) {
	if !handshake.VerifyGateway(proof, gateway.Epoch) {
		return nil, refuse(errors.New("the gateway has not proven that it has the key of this lane"))
	}
	line, _, err := c.controller.driver.Accept(gateway.Lane, c)
	if err != nil {
		return nil, refuse(err)
	}
	c.link.Store(&line)
	return &line, nil
}

// leave ends the lane's part of the connection.
func (c *connection) leave() {
	if line := c.link.Load(); line != nil {
		line.Close()
	}
}

// resetLiveness notes a sign of life of the gateway.
func (c *connection) resetLiveness() {
	if c.controller.currentFaults().halfOpen {
		return
	}
	_ = c.socket.SetReadDeadline(time.Now().Add(livenessTimeout))
	if line := c.link.Load(); line != nil {
		line.Heard()
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
		return nil, refuse(errors.New("a message that is not text"))
	case c.controller.currentFaults().halfOpen:
		return nil, nil
	}
	message, err := frame.FromGateway(text)
	if err != nil {
		return nil, refuse(err)
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
