package gateway

import (
	"context"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/actors/clock"
	"rangegate/actors/nodes"
	"rangegate/config"
	"rangegate/lanes/link"
	"rangegate/lanes/store"
)

// Outside is what a gateway reaches beyond its own process. Each field that is nil is the real thing. A
// simulation gives its own, so that a whole gateway runs in virtual time.
type Outside struct {
	// Listen opens the addresses of the configuration; nil: TCP.
	Listen func(address string) (net.Listener, error)
	// Store opens the store; nil: the configured one.
	Store func(ctx context.Context, c config.Store, registry prometheus.Registerer, log zerolog.Logger) (Stores, error)
	// Clock is the machine's; nil: that of this machine.
	Clock clock.Clock
	// Lanes connects to the lanes whose driver is sim; nil: simulated controllers in this process.
	Lanes link.Driver
	// Webhooks carries the requests to webhooks; nil: the network.
	Webhooks http.RoundTripper
	// Dial connects to another node; nil: TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Stores is an open store, with what it keeps beside the ranges.
type Stores struct {
	Snapshots store.Store
	SignIns   store.SignIns
	// Nodes connects to what several gateways tell each other by this store; nil: only one gateway can use it.
	Nodes func() NodeStore
}

// NodeStore is what the nodes share, until Close.
type NodeStore interface {
	nodes.Store
	Close() error
}

// simulated returns the driver of the lanes whose driver is sim.
func (g *Gateway) simulated() link.Driver {
	if g.settings.Outside.Lanes != nil {
		return g.settings.Outside.Lanes
	}
	return g.hardware
}

// openClock returns the machine's clock.
func (o Outside) openClock() (clock.Clock, error) {
	if o.Clock != nil {
		return o.Clock, nil
	}
	return clock.NewSystem()
}
