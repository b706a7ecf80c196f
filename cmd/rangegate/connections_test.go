package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func (c *connections) areQuiet() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.quiet.Len()
}

// Somebody opens connection after connection and says nothing. Who comes later is answered all the same, and so is
// whoever is in the middle of a request; those that were quiet for longest are closed.
func TestQuietConnectionsMakeRoom(t *testing.T) {
	held := newConnections()
	require.Positive(t, held.atMost)
	held.atMost = 5
	goOn := make(chan struct{})
	server := &http.Server{ConnState: held.turned, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-goOn
		}
		_, _ = io.WriteString(w, "here")
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
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
		require.Equal(t, 200, answer.StatusCode)
	}
	closed := func(connection net.Conn) {
		require.NoError(t, connection.SetReadDeadline(time.Now().Add(10*time.Second)))
		_, err := connection.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	}

	busy := dial()
	ask(busy, "/slow")
	var quiet []net.Conn
	for n := range 9 {
		one := dial()
		ask(one, "/")
		answered(one)
		require.Eventually(t, func() bool { return held.areQuiet() == min(n+1, 4) }, 10*time.Second, time.Millisecond)
		quiet = append(quiet, one)
	}
	for _, one := range quiet[:5] {
		closed(one)
	}
	for _, one := range quiet[5:] {
		ask(one, "/")
		answered(one)
	}
	close(goOn)
	answered(busy)
}
