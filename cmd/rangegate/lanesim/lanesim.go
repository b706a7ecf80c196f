// Package lanesim serves simulated lane controllers over real WebSockets, the controller's side of LINK.md
// version 1. They listen, or dial their gateway (dial.go). The tests of the driver use it, and operators who
// have no hardware yet. The lane itself is a sim.Controller; this package adds the network and its faults.
//
// Every fault can be set on request, or happens at random from a seed (faults.go):
//
//	handshake         refuse, hang, wrong-lane
//	connection        drop, half-open, slow, garbage, oversize
//	report log        lost-acks, duplicate, reorder
//	power and clock   power-cut, log-lost, clock-stop
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

// Settings apply to all controllers.
type Settings struct {
	Now      func() lanes.Instant // countdowns and ages use its Mono only
	Shooters bool                 // simulated shooters enter, call for help, hit the carrier and buy
	Faults   []string             // of Kinds, happen at random; empty: faults happen on request only
	Every    time.Duration        // mean time between two random faults of a lane
	Seed     uint64               // the same seed gives a lane the same shooters and faults
	// DialOnRequest keeps controllers that dial from dialling by themselves: they do so when Controller.Dial is called.
	DialOnRequest bool
	// OnFault is called at every random fault. It may be nil.
	OnFault func(lane Lane, fault string, lasts time.Duration)
	// OnState is called at every state that a controller puts in force, with the epoch of the gateway that
	// has sent it: in their order, with the controller's lock held. It may be nil.
	OnState func(lane Lane, epoch uint64, shown sim.Shown)
}

// Lane is a lane whose controller is simulated.
type Lane struct {
	ID   uuid.UUID
	Name string // for OnFault
	// the URL of a gateway that the controller dials: wss://host/link/v1/ and the lane's id; empty: it listens
	Dial   string
	Listen string      // host:port; port 0 is any free one. Several lanes may share an address
	Path   string      // of the URL, with its query; empty: /
	Key    string      // that controller and gateway prove to each other; empty: no proofs
	TLS    *tls.Config // nil: ws://. Lanes with the same address use the first one's. Of one that dials: whom it trusts
}

// Controllers are the running controllers of some lanes.
type Controllers struct {
	settings  Settings
	lanes     map[uuid.UUID]*Controller
	listeners map[string]*listener // by Lane.Listen; those with port 0 are not shared
	servers   []*http.Server
	autopilot []*sim.Autopilot

	closing context.Context // ends with Close
	close   context.CancelFunc
	running sync.WaitGroup // servers, connections and random faults
}

// listener is one address with its controllers.
type listener struct {
	net.Listener
	scheme string
	paths  sync.Map // string to *Controller
}

// ServeHTTP passes the request to the controller at its path.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, ok := l.paths.Load(r.URL.RequestURI())
	if !ok {
		http.NotFound(w, r)
		return
	}
	c.(*Controller).ServeHTTP(w, r)
}

// New listens for these lanes. After an error it listens for none.
func New(settings Settings, served ...Lane) (*Controllers, error) {
	cs := &Controllers{
		settings: settings, lanes: make(map[uuid.UUID]*Controller, len(served)), listeners: make(map[string]*listener),
	}
	cs.closing, cs.close = context.WithCancel(context.Background())
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
			cs.running.Go(c.failAtRandom)
		}
		if c.lane.Dial != "" && !settings.DialOnRequest {
			cs.running.Go(c.keepDialling)
		}
	}
	return cs, nil
}

// Controller returns the lane's controller, or nil.
func (cs *Controllers) Controller(lane uuid.UUID) *Controller { return cs.lanes[lane] }

// Close closes every connection and listener, and waits for them. It may be called again.
func (cs *Controllers) Close() {
	cs.close()
	for _, a := range cs.autopilot {
		a.Close()
	}
	for _, server := range cs.servers {
		_ = server.Close()
	}
	for _, c := range cs.lanes {
		c.Drop()
	}
	cs.running.Wait()
}

func (cs *Controllers) add(lane Lane) error {
	if lane.Path == "" {
		lane.Path = "/"
	}
	if cs.lanes[lane.ID] != nil {
		return errors.New("given twice")
	}
	if lane.Dial != "" {
		cs.lanes[lane.ID] = newController(cs, lane, lane.Dial)
		return nil
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
		l.Listener, l.scheme = tls.NewListener(l.Listener, lane.TLS), "wss"
	}
	if _, port, _ := net.SplitHostPort(lane.Listen); port != "0" {
		cs.listeners[lane.Listen] = l
	}
	server := &http.Server{
		Handler: l, ReadHeaderTimeout: livenessTimeout, ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, socket net.Conn) context.Context {
			return context.WithValue(ctx, socketKey{}, socket)
		},
	}
	cs.servers = append(cs.servers, server)
	cs.running.Go(func() { _ = server.Serve(l) })
	return l, nil
}
