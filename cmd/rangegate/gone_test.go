package main

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Every connection that is accepted ends when its other end does not acknowledge what it was sent.
func TestConnectionsToNobodyEnd(t *testing.T) {
	listener, err := listenTCP("127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	accepted, err := listener.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	socket, err := accepted.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var limit int
	require.NoError(t, socket.Control(func(fd uintptr) {
		limit, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}))
	require.NoError(t, err)
	require.Equal(t, int(goneAfter.Milliseconds()), limit)
}
