package gateway_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
)

// memoryListener accepts connections that are dialled in this process.
type memoryListener struct {
	address string
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.dialled:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr  { return l }
func (l *memoryListener) Network() string { return "memory" }
func (l *memoryListener) String() string  { return l.address }

// A whole gateway is served on connections in memory: no socket is opened for its addresses.
func TestAGatewayInMemory(t *testing.T) {
	listeners := map[string]*memoryListener{}
	cfg := config.Playground(2, t.TempDir(), "api:1", "http://127.0.0.1:1")
	cfg.Operations.Address = "operations:1"
	g := gatewaytest.Serve(t, gateway.Settings{
		Config: cfg, Version: "test", Log: zerolog.Nop(),
		Outside: gateway.Outside{Listen: func(address string) (net.Listener, error) {
			listeners[address] = &memoryListener{
				address: address, dialled: make(chan net.Conn),
				closed: make(chan struct{}),
			}
			return listeners[address], nil
		}},
	})
	require.Equal(t, "http://api:1", g.URL)
	client := &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case listeners[address].dialled <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	defer client.CloseIdleConnections()
	require.Equal(t, http.StatusOK, g.RequestVia(client, "GET", g.Operations+"/livez", "", nil).Status)
	require.Equal(t, http.StatusUnauthorized, g.RequestVia(client, "GET", g.URL+"/api/v2/pos/lanes", "", nil).Status)
	client.CloseIdleConnections()
	g.Stop()
}
