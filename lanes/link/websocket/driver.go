// Package websocket is the driver of lane controllers that speak LINK.md version 1: the gateway's side.
//
// An idle lane uses one goroutine, which reads, and one timer, which pings; it has no buffers (TestAnIdleLaneIsCheap).
// Another goroutine writes, and exists only while there is something to write.
package websocket

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/gobwas/ws"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// The driver's timeouts (LINK.md).
const (
	helloTimeout   = 5 * time.Second // to connect, and for the controller's hello
	pingInterval   = 5 * time.Second
	silenceTimeout = 15 * time.Second // without pong or message: the link is down
	writeTimeout   = time.Second      // a write that blocks longer closes the connection
)

// Settings are the addresses of the controllers and what the driver needs of the gateway.
type Settings struct {
	Lanes map[uuid.UUID]Target // by lane id
	TLS   map[uuid.UUID]TLS    // by range id, for wss:// addresses; without an entry the system's certificates are trusted
	Now   func() lanes.Instant
	// RoundTrip receives the time from a ping to its pong. It does not block. It may be nil.
	RoundTrip func(took time.Duration)
}

// Target is the address of a lane's controller.
type Target struct {
	Address string // ws:// or wss://
	Key     string // empty: the controller requires none
}

// Driver connects to the controllers of many lanes.
type Driver struct {
	settings Settings
	timeouts timeouts
}

type timeouts struct{ hello, ping, silence, write time.Duration }

var _ link.Driver = (*Driver)(nil)

// New makes a driver of these lanes.
func New(settings Settings) *Driver {
	return &Driver{settings, timeouts{helloTimeout, pingInterval, silenceTimeout, writeTimeout}}
}

// Dial connects and exchanges hellos. The error is link.ErrFaulty when the controller answers and is not in order.
func (d *Driver) Dial(ctx context.Context, lane link.Lane, receiver link.Receiver) (link.Connection, link.Hello, error) {
	target, found := d.settings.Lanes[lane.ID]
	if !found {
		return nil, link.Hello{}, fmt.Errorf("no address is known of lane %s", lane.ID)
	}
	address, err := parseAddress(target.Address)
	if err != nil {
		return nil, link.Hello{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeouts.hello)
	defer cancel()
	s, err := d.connect(ctx, address, d.settings.TLS[lane.Range])
	if err != nil {
		return nil, link.Hello{}, err
	}
	stopTimeout := context.AfterFunc(ctx, func() { _ = s.wire.Close() })
	var hello link.Hello
	if err = s.upgrade(ctx, address, target.Key); err == nil {
		hello, err = exchangeHellos(s, lane)
	}
	if !stopTimeout() && !errors.Is(err, link.ErrFaulty) {
		err = ctx.Err()
	}
	if err != nil {
		s.end(d.timeouts.write, err)
		return nil, link.Hello{}, err
	}
	return newConnection(d, s, hello.LogID, receiver), hello, nil
}

// Probe connects to a controller, TLS included, and disconnects. It sends nothing of the protocol, so a controller keeps
// the connection of its gateway. The error is link.ErrFaulty when the certificate is not trusted, or the controller does
// not speak TLS.
func Probe(ctx context.Context, address string, trust TLS) error {
	parsed, err := parseAddress(address)
	if err != nil {
		return err
	}
	s, err := New(Settings{}).connect(ctx, parsed, trust)
	if err != nil {
		return err
	}
	return s.wire.Close()
}

func parseAddress(address string) (*url.URL, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the lane's address is no URL") // err may quote a password
	}
	return parsed, nil
}

// exchangeHellos sends the gateway's hello and reads the controller's.
func exchangeHellos(s *socket, lane link.Lane) (link.Hello, error) {
	if err := s.write(ws.OpText, frame.GatewayHello(lane)); err != nil {
		return link.Hello{}, fmt.Errorf("saying hello: %w", err)
	}
	for {
		h, err := s.readHeader(newMessage)
		var message any
		if err == nil {
			message, err = s.readBody(h)
		}
		if err != nil {
			return link.Hello{}, fmt.Errorf("waiting for the controller's hello: %w", err)
		}
		switch m := message.(type) {
		case nil: // a control frame, or a message of a later version
		case frame.Hello:
			if m.Lane != lane.ID {
				return link.Hello{}, violation{ws.StatusPolicyViolation, fmt.Errorf("the controller is that of lane %s", m.Lane)}
			}
			return m.Hello, nil
		default:
			return link.Hello{}, violation{ws.StatusPolicyViolation, errors.New("the controller reports before its hello")}
		}
	}
}
