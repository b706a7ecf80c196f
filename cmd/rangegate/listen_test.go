package main

import (
	"bufio"
	"container/list"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rangegate/cmd/rangegate/certificate/certificatetest"
)

func (c *connectionLimit) idleCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idle.Len()
}

// A client opens one idle connection after the other. Later clients are answered, and so is a request under way; the
// connections that have been idle for longest are closed.
func TestIdleConnectionsAreClosedAtTheLimit(t *testing.T) {
	limit := newConnectionLimit()
	require.Positive(t, limit.limit)
	limit.limit = 5
	proceed := make(chan struct{})
	server := &http.Server{ConnState: limit.update, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-proceed
		}
		_, _ = io.WriteString(w, "here")
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	dial := func() net.Conn {
		connection, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		return connection
	}
	ask := func(connection net.Conn, path string) {
		_, err := io.WriteString(connection, "GET "+path+" HTTP/1.1\r\nHost: here\r\n\r\n")
		require.NoError(t, err)
	}
	answered := func(connection net.Conn) {
		require.NoError(t, connection.SetReadDeadline(time.Now().Add(10*time.Second)))
		answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, 200, answer.StatusCode)
	}
	closed := func(connection net.Conn) {
		require.NoError(t, connection.SetReadDeadline(time.Now().Add(10*time.Second)))
		_, err := connection.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	}

	busy := dial()
	ask(busy, "/slow")
	var idle []net.Conn
	for n := range 9 {
		connection := dial()
		ask(connection, "/")
		answered(connection)
		require.Eventually(t, func() bool { return limit.idleCount() == min(n+1, 4) }, 10*time.Second, time.Millisecond)
		idle = append(idle, connection)
	}
	for _, connection := range idle[:5] {
		closed(connection)
	}
	for _, connection := range idle[5:] {
		ask(connection, "/")
		answered(connection)
	}
	close(proceed)
	answered(busy)
}

// Every accepted connection ends when its other end acknowledges nothing.
func TestUnacknowledgedConnectionsEnd(t *testing.T) {
	listener, err := listenTCP("127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	client, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	accepted, err := listener.Accept()
	require.NoError(t, err)
	defer func() { _ = accepted.Close() }()
	socket, err := accepted.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var limit int
	require.NoError(t, socket.Control(func(fd uintptr) {
		limit, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}))
	require.NoError(t, err)
	require.Equal(t, int(unacknowledgedTimeout.Milliseconds()), limit)
}

// The connection that is closed at the limit is one of TLS, and its client reads nothing: nobody waits for it.
func TestAClientThatReadsNothingDelaysNoOtherConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pair := certificatetest.Issue(t, time.Hour)
		certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
		require.NoError(t, err)
		ours, theirs := net.Pipe() // without a buffer: what nobody reads is not written
		server, client := tls.Server(ours, &tls.Config{Certificates: []tls.Certificate{certificate}}), tls.Client(theirs, &tls.Config{InsecureSkipVerify: true})
		hello := make(chan error, 1)
		go func() {
			hello <- client.Handshake()
			_, _ = client.Read(make([]byte, 1)) // the tickets that the server sends
		}()
		written := make(chan error, 1)
		go func() {
			_, err := server.Write([]byte("x"))
			written <- err
		}()
		require.NoError(t, <-hello)
		require.NoError(t, <-written)

		limit := &connectionLimit{limit: 1, open: map[net.Conn]*list.Element{}, idle: list.New()}
		limit.update(server, http.StateIdle)
		began := time.Now()
		other, _ := net.Pipe()
		limit.update(other, http.StateNew)
		require.Equal(t, began, time.Now())
		_, err = theirs.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "it is closed")
	})
}
