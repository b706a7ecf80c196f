package main

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// goneAfter is how long the other end of a connection may leave what it was sent without a word. A tablet that went out of
// reach would keep its place among the open screens for a quarter of an hour otherwise.
const goneAfter = 20 * time.Second

// listenTCP listens for connections that end when the other end is gone.
func listenTCP(address string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) error {
		var refused error
		err := socket.Control(func(fd uintptr) {
			refused = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(goneAfter.Milliseconds()))
		})
		return errors.Join(err, refused)
	}}
	return config.Listen(context.Background(), "tcp", address)
}
