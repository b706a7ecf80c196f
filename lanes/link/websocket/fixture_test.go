package websocket_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
)

const (
	patience = time.Minute
	laneKey  = "bGFuZSAxIGhhcyBhIGtleSBvZiAzMiBieXRlcyBoZXI"
)

// fixture is a driver of one lane.
type fixture struct {
	*testing.T
	driver  *websocket.Driver
	lane    link.Lane
	address string
}

func newFixture(t *testing.T, address, key string, trust ...websocket.TLS) *fixture {
	f := &fixture{T: t, lane: link.Lane{Range: uuid.New(), ID: uuid.New(), Epoch: 1}, address: address}
	settings := websocket.Settings{
		Now: clock(), Lanes: map[uuid.UUID]websocket.Target{f.lane.ID: {Address: address, Key: key}},
		TLS: map[uuid.UUID]websocket.TLS{},
	}
	for _, certificates := range trust {
		settings.TLS[f.lane.Range] = certificates
	}
	f.driver = websocket.New(settings)
	return f
}

func (f *fixture) dial() (link.Connection, *receiver, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	received := &receiver{down: make(chan error, 2)}
	conn, _, err := f.driver.Dial(ctx, f.lane, received)
	if conn != nil {
		f.Cleanup(conn.Close)
	}
	return conn, received, err
}

func (f *fixture) connected() (link.Connection, *receiver) {
	f.Helper()
	conn, received, err := f.dial()
	require.NoError(f, err)
	return conn, received
}

// newSimulated returns a lane of lanesim and a driver that reaches it.
func newSimulated(t *testing.T) (*fixture, *lanesim.Controller) {
	f := newFixture(t, "", "")
	hardware, err := lanesim.New(lanesim.Settings{Now: clock()}, lanesim.Lane{ID: f.lane.ID, Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(hardware.Close)
	controller := hardware.Controller(f.lane.ID)
	f.driver = websocket.New(websocket.Settings{
		Now: clock(), Lanes: map[uuid.UUID]websocket.Target{f.lane.ID: {Address: controller.Address()}},
	})
	return f, controller
}

// newScripted returns a lane whose controller runs the script after the gateway's hello. pings decides
// whether it answers a ping.
func newScripted(t *testing.T, script func(f *fixture, conn *coder.Conn), pings ...func() bool) *fixture {
	return newKeyed(t, "", func(f *fixture, conn *coder.Conn, _ frame.Greeting) { script(f, conn) }, pings...)
}

// newKeyed is newScripted for a lane with that key, and a script that gets the gateway's hello.
func newKeyed(
	t *testing.T, key string, script func(f *fixture, conn *coder.Conn, gateway frame.Greeting), pings ...func() bool,
) *fixture {
	var f *fixture
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		options := &coder.AcceptOptions{Subprotocols: []string{frame.Subprotocol}}
		for _, answer := range pings {
			options.OnPingReceived = func(context.Context, []byte) bool { return answer() }
		}
		conn, err := coder.Accept(w, request, options)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		if _, text, err := conn.Read(request.Context()); err == nil {
			message, err := frame.FromGateway(text)
			assert.NoError(t, err)
			script(f, conn, message.(frame.Greeting))
		}
	}))
	t.Cleanup(server.Close)
	f = newFixture(t, "ws"+strings.TrimPrefix(server.URL, "http"), key)
	return f
}

// send sends a message of the script.
func send(conn *coder.Conn, text string) {
	_ = conn.Write(context.Background(), coder.MessageText, []byte(text))
}

func (f *fixture) hello() string {
	return string(frame.ControllerHello(frame.Hello{Lane: f.lane.ID, Hello: link.Hello{LogID: "log"}}))
}

// receiver records the calls of a connection.
type receiver struct {
	down    chan error
	mu      sync.Mutex
	reports []lanes.Report
}

func (*receiver) Applied(uint64) {}

func (r *receiver) Reported(report lanes.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, report)
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.reports)
}

func (r *receiver) Down(err error) { r.down <- err }

// waitDown waits until the connection is down, and returns the reason.
func (r *receiver) waitDown(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.down:
		return err
	case <-time.After(patience):
		require.Fail(t, "the connection is not down")
		return nil
	}
}

// freePort returns a port without a listener.
func freePort(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}
