package websocket

import (
	"context"
	"net"
	"net/url"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Hurry makes the driver wait for so long, for tests that cannot wait for LINK.md's times.
func (d *Driver) Hurry(hello, ping, silent, write time.Duration) {
	d.waits = waits{hello, ping, silent, write}
}

// Silent is how long the controller has given no sign of life.
func Silent(c link.Connection) time.Duration { return c.(*connection).socket.silent() }

// Met is a connection on which the handshake and the hellos are over.
func Met(wire net.Conn, to link.Receiver) link.Connection {
	d := New(Settings{Now: func() lanes.Instant { return lanes.Instant{} }})
	return newConnection(d, d.socket(wire, wire), "log", to)
}

// Upgrade is the handshake alone.
func Upgrade(wire net.Conn) error {
	s := &socket{frames: wire, wire: wire}
	return s.upgrade(context.Background(), &url.URL{Scheme: "ws", Host: "lane.example", Path: "/"}, "key")
}
