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

// Controller is one lane's: a sim.Controller, and what may be wrong with the way to it.
type Controller struct {
	*sim.Controller
	of      *Controllers
	lane    Lane
	address string
	driver  *sim.Driver // of this one controller, as each has its own clock
	clock   *clock

	mu    sync.Mutex
	wrong wrong
	talks map[*talk]struct{}
}

// wrong is what is wrong at the moment, beside what sim.Controller knows of.
type wrong struct {
	refuses, hangs, poses     bool // reaching.go
	halfOpen, slow            bool // wire.go
	losesAcks, twice, shuffle bool // reporting.go
}

func newController(of *Controllers, lane Lane, address string) *Controller {
	clock := &clock{now: of.settings.Now}
	driver := sim.New(clock.Now)
	return &Controller{
		Controller: driver.Controller(lane.ID), of: of, lane: lane, address: address, driver: driver, clock: clock,
		talks: make(map[*talk]struct{}),
	}
}

// Address is the URL that a gateway dials.
func (c *Controller) Address() string { return c.address }

func (c *Controller) is() wrong {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrong
}

func (c *Controller) set(change func(*wrong)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.wrong)
}

type wireOf struct{} // the key of a request's connection

// ServeHTTP is the WebSocket handshake, and all that follows.
func (c *Controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.of.talking.Add(1)
	defer c.of.talking.Done()
	wire := r.Context().Value(wireOf{}).(net.Conn)
	switch wrong := c.is(); {
	case wrong.refuses:
		http.Error(w, "this controller refuses connections", http.StatusServiceUnavailable)
		return
	case wrong.hangs:
		c.hang(r.Context())
		return
	case !c.knows(r.Header.Get("Authorization")):
		http.Error(w, "wrong key", http.StatusUnauthorized)
		return
	}
	t := &talk{with: c, wire: wire}
	frames, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{frame.Subprotocol}, InsecureSkipVerify: true, // the origin: there is no browser here
		OnPingReceived: func(context.Context, []byte) bool { return t.pinged() },
	})
	if err != nil {
		return
	}
	t.frames = frames
	if !c.begin(t) {
		_ = frames.CloseNow()
		return
	}
	defer c.ended(t)
	if frames.Subprotocol() != frame.Subprotocol {
		t.end(errors.New("wants " + frame.Subprotocol))
		return
	}
	t.end(t.run())
}

func (c *Controller) knows(authorization string) bool {
	want := "Bearer " + c.lane.Key
	return c.lane.Key == "" || subtle.ConstantTimeCompare([]byte(authorization), []byte(want)) == 1
}

// begin counts the conversation in, unless the controllers are closing.
func (c *Controller) begin(t *talk) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.of.closing:
		return false
	default:
		c.talks[t] = struct{}{}
		return true
	}
}

func (c *Controller) ended(t *talk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.talks, t)
}

// each calls what for every conversation, outside the lock.
func (c *Controller) each(what func(*talk)) {
	c.mu.Lock()
	talks := make([]*talk, 0, len(c.talks))
	for t := range c.talks {
		talks = append(talks, t)
	}
	c.mu.Unlock()
	for _, t := range talks {
		what(t)
	}
}
