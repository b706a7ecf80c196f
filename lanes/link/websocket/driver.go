// Package websocket is the driver of lane controllers that speak LINK.md version 1: the gateway's side of it.
//
// A lane that nothing happens on costs one goroutine, which reads, and one timer, which pings. Whatever is sent is
// written by a goroutine that lives only as long as there is something to write.
package websocket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"
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
	ctx, cancel := context.WithTimeout(ctx, d.waits.hello)
	defer cancel()
	s, err := d.connect(ctx, target, d.settings.TLS[lane.Range])
	if err != nil {
		return nil, link.Hello{}, err
	}
	hello, err := greet(ctx, s, lane)
	if err != nil {
		s.end(d.waits.write, err)
		return nil, link.Hello{}, err
	}
	return newConnection(d, s, hello.LogID, to), hello, nil
}

// greet says the gateway's hello and hears the controller's.
func greet(ctx context.Context, s *socket, lane link.Lane) (link.Hello, error) {
	if err := s.frames.Write(ctx, websocket.MessageText, frame.GatewayHello(lane)); err != nil {
		return link.Hello{}, fmt.Errorf("saying hello: %w", err)
	}
	for {
		message, err := s.read(ctx)
		if err != nil {
			return link.Hello{}, fmt.Errorf("waiting for the controller's hello: %w", err)
		}
		switch m := message.(type) {
		case nil: // of a later version
		case frame.Hello:
			if m.Lane != lane.ID {
				return link.Hello{}, broken{fmt.Errorf("the controller is that of lane %s", m.Lane)}
			}
			return m.Hello, nil
		default:
			return link.Hello{}, broken{errors.New("the controller reports before its hello")}
		}
	}
}
