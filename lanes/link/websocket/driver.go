// Package websocket is the driver of lane controllers that speak LINK.md version 1: the gateway's side of it.
//
// A lane that nothing happens on costs one goroutine, which reads, and one timer, which pings; it has no buffers (see
// TestAnIdleLaneIsCheap). Whatever is sent is written by a goroutine that lives only as long as there is something to
// write.
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

// How long the driver waits (LINK.md).
const (
	helloWithin = 5 * time.Second  // to connect, and for the controller's hello
	pingEvery   = 5 * time.Second  //
	silentFor   = 15 * time.Second // without pong or message: the link is down
	writeWithin = time.Second      // a write blocked for longer closes the connection
)

// Settings says where the controllers are.
type Settings struct {
	Lanes map[uuid.UUID]Target // by the id of the lane
	TLS   map[uuid.UUID]TLS    // by the id of the range, for its wss:// addresses; none: as with any web server
	Now   func() lanes.Instant
	// RoundTrip is told how long a controller took to answer a ping. It does not block. nil: nobody is told.
	RoundTrip func(took time.Duration)
}

// Target is where a lane's controller answers.
type Target struct {
	Address string // ws:// or wss://
	Key     string // empty: the controller wants none
}

// Driver connects to the controllers of many lanes.
type Driver struct {
	settings Settings
	waits    waits
}

type waits struct{ hello, ping, silent, write time.Duration }

var _ link.Driver = (*Driver)(nil)

// New is a driver of these lanes.
func New(settings Settings) *Driver {
	return &Driver{settings, waits{helloWithin, pingEvery, silentFor, writeWithin}}
}

// Dial connects, and exchanges hellos. The error is ErrFaulty when the controller answers and is not in order.
func (d *Driver) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	target, known := d.settings.Lanes[lane.ID]
	if !known {
		return nil, link.Hello{}, fmt.Errorf("no address is known of lane %s", lane.ID)
	}
	address, err := url.Parse(target.Address)
	if err != nil {
		return nil, link.Hello{}, errors.New("the lane's address is no URL") // err may quote a password
	}
	ctx, cancel := context.WithTimeout(ctx, d.waits.hello)
	defer cancel()
	s, err := d.reach(ctx, address, d.settings.TLS[lane.Range])
	if err != nil {
		return nil, link.Hello{}, err
	}
	inTime := context.AfterFunc(ctx, func() { _ = s.wire.Close() })
	var hello link.Hello
	if err = s.upgrade(ctx, address, target.Key); err == nil {
		hello, err = greet(s, lane)
	}
	if !inTime() && !errors.Is(err, link.ErrFaulty) {
		err = ctx.Err()
	}
	if err != nil {
		s.end(d.waits.write, err)
		return nil, link.Hello{}, err
	}
	return newConnection(d, s, hello.LogID, to), hello, nil
}

// greet says the gateway's hello and hears the controller's.
func greet(s *socket, lane link.Lane) (link.Hello, error) {
	if err := s.write(ws.OpText, frame.GatewayHello(lane)); err != nil {
		return link.Hello{}, fmt.Errorf("saying hello: %w", err)
	}
	for {
		h, err := s.header(between)
		if err != nil {
			return link.Hello{}, fmt.Errorf("waiting for the controller's hello: %w", err)
		}
		message, err := s.rest(h)
		if err != nil {
			return link.Hello{}, fmt.Errorf("waiting for the controller's hello: %w", err)
		}
		switch m := message.(type) {
		case nil: // a control frame, or of a later version
		case frame.Hello:
			if m.Lane != lane.ID {
				return link.Hello{}, broken{ws.StatusPolicyViolation, fmt.Errorf("the controller is that of lane %s", m.Lane)}
			}
			return m.Hello, nil
		default:
			return link.Hello{}, broken{ws.StatusPolicyViolation, errors.New("the controller reports before its hello")}
		}
	}
}
