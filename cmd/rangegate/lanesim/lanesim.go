// Package lanesim is lane controllers that answer over real WebSockets, the controller's side of LINK.md version 1: for
// the tests of the driver, and for an operator who has the gateway but not yet the hardware. What is on the lane is a
// sim.Controller; here are the wire, and what goes wrong with it.
//
// Every fault can be had on request, and at random from a seed:
//
//	reaching it       refuse, hang, wrong-lane                         reaching.go
//	the wire          drop, half-open, slow, garbage, oversize         wire.go
//	the report log    lost-acks, duplicate, reorder                    reporting.go
//	its power, clock  power-cut, log-lost, clock-stop                  power.go
package lanesim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link/sim"
)

// Settings are the same for all controllers.
type Settings struct {
	Now      func() lanes.Instant // countdowns and ages use its Mono only
	Shooters bool                 // simulated shooters enter, call for help, hit the carrier and buy
	Faults   []string             // of Kinds: these happen at random; none: only on request
	Every    time.Duration        // on average between two random faults of a lane; default a minute
	Seed     uint64               // with the same one the same lane has the same shooters and faults
	// Told, if there is one, hears of every random fault.
	Told func(lane uuid.UUID, fault string, lasts time.Duration)
}

// Lane is a lane whose controller answers here.
type Lane struct {
	ID     uuid.UUID
	Listen string      // host:port; port 0 is any free one. Several lanes may share an address
	Path   string      // of the URL, with its query; empty: /
	Key    string      // that a gateway has to show; empty: none
	TLS    *tls.Config // nil: ws://. Lanes that share an address share the first one's
}

// Controllers are the controllers of some lanes, answering.
type Controllers struct {
	settings  Settings
	lanes     map[uuid.UUID]*Controller
	listeners map[string]*listener // by address as it was asked for; those with port 0 are not shared
	servers   []*http.Server
	autopilot []*sim.Autopilot

	closing chan struct{}
	talking sync.WaitGroup // servers, conversations
}

// listener is one address, and the controllers that answer there.
type listener struct {
	net.Listener
	scheme string
	paths  sync.Map // string to *Controller
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, known := l.paths.Load(r.URL.RequestURI())
	if !known {
		http.NotFound(w, r)
		return
	}
	c.(*Controller).ServeHTTP(w, r)
}

// New listens for these lanes. After an error nothing does.
func New(settings Settings, served ...Lane) (*Controllers, error) {
	cs := &Controllers{
		settings: settings, lanes: make(map[uuid.UUID]*Controller, len(served)),
		listeners: make(map[string]*listener), closing: make(chan struct{}),
	}
	for _, lane := range served {
		if err := cs.add(lane); err != nil {
			cs.Close()
			return nil, fmt.Errorf("lane %s: %w", lane.ID, err)
		}
	}
	for _, c := range cs.lanes {
		if settings.Shooters {
			cs.autopilot = append(cs.autopilot, sim.NewAutopilot(c.driver, settings.Seed))
		}
		if len(settings.Faults) > 0 {
			cs.talking.Go(c.suffer)
		}
	}
	return cs, nil
}

// Controller is that lane's; nil if it is none of these.
func (cs *Controllers) Controller(lane uuid.UUID) *Controller { return cs.lanes[lane] }

// Close ends every connection. Once it has returned nothing answers any more. It may be called again.
func (cs *Controllers) Close() {
	select {
	case <-cs.closing:
	default:
		close(cs.closing)
	}
	for _, a := range cs.autopilot {
		a.Close()
	}
	for _, server := range cs.servers {
		_ = server.Close()
	}
	for _, c := range cs.lanes {
		c.Drop()
	}
	cs.talking.Wait()
}

func (cs *Controllers) add(lane Lane) error {
	if lane.Path == "" {
		lane.Path = "/"
	}
	if cs.lanes[lane.ID] != nil {
		return errors.New("given twice")
	}
	l, err := cs.listen(lane)
	if err != nil {
		return err
	}
	c := newController(cs, lane, l.scheme+"://"+l.Addr().String()+lane.Path)
	if other, taken := l.paths.LoadOrStore(lane.Path, c); taken {
		return fmt.Errorf("%s is lane %s's already", c.address, other.(*Controller).lane.ID)
	}
	cs.lanes[lane.ID] = c
	return nil
}

func (cs *Controllers) listen(lane Lane) (*listener, error) {
	if l := cs.listeners[lane.Listen]; l != nil {
		return l, nil
	}
	bound, err := net.Listen("tcp", lane.Listen)
	if err != nil {
		return nil, err
	}
	l := &listener{Listener: bound, scheme: "ws"}
	if lane.TLS != nil {
		l.scheme = "wss"
	}
	if _, port, _ := net.SplitHostPort(lane.Listen); port != "0" {
		cs.listeners[lane.Listen] = l
	}
	server := &http.Server{
		Handler: l, ReadHeaderTimeout: heardWithin, TLSConfig: lane.TLS,
		ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, wire net.Conn) context.Context {
			return context.WithValue(ctx, wireOf{}, wire)
		},
	}
	cs.servers = append(cs.servers, server)
	serve := func() { _ = server.Serve(impatient{bound}) }
	if lane.TLS != nil {
		serve = func() { _ = server.ServeTLS(impatient{bound}, "", "") }
	}
	cs.talking.Go(serve)
	return l, nil
}
