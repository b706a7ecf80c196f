package webhook

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/webhook/egress"
)

var (
	rangeID = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	session = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	lane    = uuid.MustParse("33333333-3333-4333-8333-333333333333")
	noon    = time.Date(2026, time.May, 1, 12, 0, 0, 123456789, time.UTC)
)

// longTimeout is a time-out that no test reaches.
const longTimeout = 30 * time.Second

func newEvent(kind lanes.Kind) lanes.Event {
	event := lanes.Event{ID: uuid.New(), Kind: kind, Session: session, Lane: lane, At: noon}
	if kind == lanes.SessionEnding {
		event.Ending = &lanes.Ending{Remaining: 270 * time.Second, EndsAt: noon.Add(270 * time.Second)}
	}
	if kind == lanes.PurchaseRequest {
		event.Items = []lanes.Item{{ID: "time", Qty: 30}, {ID: "target <b>", Qty: 2}}
	}
	return event
}

// entry is the event as the log has it before its first attempt.
func entry(event lanes.Event) lanes.Logged { return lanes.Logged{Cursor: 1042, Event: event} }

// newClient is a client of the webhook at that address, without the guard, with the changed settings.
func newClient(t *testing.T, url string, change ...func(*Settings)) *Client {
	t.Helper()
	transport := egress.Transport(false, 4)
	t.Cleanup(transport.CloseIdleConnections)
	settings := Settings{
		Range: rangeID, URL: url, Timeout: longTimeout, Transport: transport, Version: "1.2.3",
		Now: func() time.Time { return noon },
	}
	for _, c := range change {
		c(&settings)
	}
	client, err := New(settings)
	require.NoError(t, err)
	return client
}

func withTransport(transport http.RoundTripper) func(*Settings) {
	return func(s *Settings) { s.Transport = transport }
}

func withSecrets(secrets ...string) func(*Settings) {
	return func(s *Settings) { s.Secrets = secrets }
}

// attempt makes one attempt to deliver a call for help.
func attempt(t *testing.T, c *Client) lanes.Attempt {
	t.Helper()
	made, answer := c.Attempt(t.Context(), entry(newEvent(lanes.Help)), false)
	require.Zero(t, answer, "only a purchaseRequest has an answer")
	require.Equal(t, noon, made.At)
	require.GreaterOrEqual(t, made.Duration, time.Duration(0))
	return made
}

// received is a request as it reached the receiver.
type received struct {
	method, path, proto string
	header              http.Header
	body                string
}

// receiver is an integrator's web server.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []received
}

// startReceiver starts a receiver with that handler.
func startReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := newReceiver(t, answer)
	r.Start()
	return r
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err == nil {
			r.mu.Lock()
			r.got = append(r.got, received{
				request.Method, request.URL.RequestURI(), request.Proto,
				request.Header, string(body),
			})
			r.mu.Unlock()
		}
		answer(w, request)
	}))
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) requests() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// startRawReceiver starts a receiver that is no web server: it handles every connection and closes it. It
// returns the address.
func startRawReceiver(t *testing.T, listener net.Listener, handle func(net.Conn)) string {
	t.Helper()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				handle(conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return listener.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}

// readRequest takes one whole request off the connection.
func readRequest(from *bufio.Reader) error {
	request, err := http.ReadRequest(from)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err
}

// reset makes the connection's close a reset.
func reset(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) }
