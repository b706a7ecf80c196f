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
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
)

const patience = 10 * time.Second

// rig is a driver of one lane.
type rig struct {
	*testing.T
	driver  *websocket.Driver
	lane    link.Lane
	address string
}

func newRig(t *testing.T, address, key string, trust ...websocket.TLS) *rig {
	r := &rig{T: t, lane: link.Lane{Range: uuid.New(), ID: uuid.New(), Epoch: 1}, address: address}
	settings := websocket.Settings{
		Now: clock(), Lanes: map[uuid.UUID]websocket.Target{r.lane.ID: {Address: address, Key: key}},
		TLS: map[uuid.UUID]websocket.TLS{},
	}
	for _, one := range trust {
		settings.TLS[r.lane.Range] = one
	}
	r.driver = websocket.New(settings)
	return r
}

func (r *rig) dial() (link.Connection, *ear, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	heard := &ear{down: make(chan error, 2)}
	conn, _, err := r.driver.Dial(ctx, r.lane, heard)
	if conn != nil {
		r.Cleanup(conn.Close)
	}
	return conn, heard, err
}

func (r *rig) connected() (link.Connection, *ear) {
	r.Helper()
	conn, heard, err := r.dial()
	require.NoError(r, err)
	return conn, heard
}

// simulated is a lane of lanesim, and a driver that can reach it.
func simulated(t *testing.T) (*rig, *lanesim.Controller) {
	r := newRig(t, "", "")
	hardware, err := lanesim.New(lanesim.Settings{Now: clock()}, lanesim.Lane{ID: r.lane.ID, Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(hardware.Close)
	at := hardware.Controller(r.lane.ID)
	r.driver = websocket.New(websocket.Settings{
		Now: clock(), Lanes: map[uuid.UUID]websocket.Target{r.lane.ID: {Address: at.Address()}},
	})
	return r, at
}

// scripted is a lane whose controller does as the script says once it has heard the gateway's hello. It may answer pings in
// its own way.
func scripted(t *testing.T, script func(r *rig, to *coder.Conn), pings ...func() bool) *rig {
	var r *rig
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		options := &coder.AcceptOptions{Subprotocols: []string{frame.Subprotocol}}
		for _, answers := range pings {
			options.OnPingReceived = func(context.Context, []byte) bool { return answers() }
		}
		to, err := coder.Accept(w, request, options)
		if err != nil {
			return
		}
		defer func() { _ = to.CloseNow() }()
		if _, _, err := to.Read(request.Context()); err == nil {
			script(r, to)
		}
	}))
	t.Cleanup(server.Close)
	r = newRig(t, "ws"+strings.TrimPrefix(server.URL, "http"), "")
	return r
}

// says writes a message of the script.
func says(to *coder.Conn, text string) {
	_ = to.Write(context.Background(), coder.MessageText, []byte(text))
}

func (r *rig) hello() string {
	return string(frame.ControllerHello(frame.Hello{Lane: r.lane.ID, Hello: link.Hello{LogID: "log"}}))
}

// ear is a receiver.
type ear struct {
	down    chan error
	mu      sync.Mutex
	reports []lanes.Report
}

func (*ear) Applied(uint64) {}

func (e *ear) Reported(r lanes.Report) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reports = append(e.reports, r)
}

func (e *ear) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.reports)
}

func (e *ear) Down(err error) { e.down <- err }

// fails waits until the connection is down, and tells why.
func (e *ear) fails(t *testing.T) error {
	t.Helper()
	select {
	case err := <-e.down:
		return err
	case <-time.After(patience):
		require.Fail(t, "the connection is not down")
		return nil
	}
}

// freePort is one that nobody listens on at the moment.
func freePort(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}
