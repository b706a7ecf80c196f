package websocket

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A controller at which somebody knocks hears nothing by which it could take him for a gateway.
func TestAKnockSaysNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	heard := make(chan string, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer connection.Close()
		said, _ := io.ReadAll(connection)
		heard <- string(said)
	}()
	require.NoError(t, Knock(t.Context(), "ws://"+listener.Addr().String()+"/lane-1", TLS{}))
	require.Empty(t, <-heard)
	require.Error(t, Knock(t.Context(), "ws://%zz", TLS{}))
}
