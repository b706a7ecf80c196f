// Package gatewaytest starts whole gateways in tests: package gateway, with the demo range, on free ports.
package gatewaytest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/cmd/rangegate/gateway"
	"rangegate/config"
	"rangegate/lanes/store/redis/redistest"
)

// What the demo range has.
const (
	DemoRange = "11111111-1111-4111-8111-111111111111"
	DemoToken = "22222222-2222-4222-8222-222222222222"
	DemoLane  = "44444444-4444-4444-8444-000000000001"
	DemoGroup = "33333333-3333-4333-8333-000000000001"
)

// Gateway is a running gateway, from its start to Stop.
type Gateway struct {
	T          *testing.T
	URL        string
	Operations string
	// Controllers is the address that controllers dial; empty where none do.
	Controllers string
	// Authority signs the certificates of the nodes; empty without nodes.
	Authority certificatetest.Pair
	stop      context.CancelFunc
	ended     chan error
}

// Start starts a gateway with a demo range of two lanes and its store in the folder. It returns once the
// gateway serves.
func Start(t *testing.T, data string, changes ...func(*config.Config)) *Gateway {
	t.Helper()
	cfg := config.Playground(2, data, "127.0.0.1:0", "http://127.0.0.1:1")
	cfg.Operations.Address = "127.0.0.1:0"
	for _, change := range changes {
		change(&cfg)
	}
	return Serve(t, gateway.Settings{Config: cfg, Version: "test", Log: zerolog.Nop()})
}

// Serve starts a gateway with those settings. It returns once the gateway serves. A store that does not answer in time
// ends a start, and another one is tried, as the supervisor of the process does.
func Serve(t *testing.T, settings gateway.Settings) *Gateway {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	running, err := gateway.New(ctx, settings)
	for end := time.Now().Add(30 * time.Second); timedOut(err) && time.Now().Before(end); {
		running, err = gateway.New(ctx, settings)
	}
	require.NoError(t, err)
	g := &Gateway{T: t, stop: stop, ended: make(chan error, 1)}
	g.URL, g.Operations, g.Controllers = running.Addresses().API, running.Addresses().Operations,
		running.Addresses().Controllers
	go func() {
		err := running.Run(ctx)
		if closed := running.Close(); err == nil {
			err = closed
		}
		g.ended <- err
	}()
	return g
}

func timedOut(err error) bool {
	var failure net.Error
	return errors.As(err, &failure) && failure.Timeout()
}

// Stop stops the gateway, and returns once it has.
func (g *Gateway) Stop() {
	g.T.Helper()
	g.stop()
	require.NoError(g.T, <-g.ended)
}

// StartNodes starts nodes that share a Redis, and waits until all of them are ready.
func StartNodes(t *testing.T, changes func(*config.Config), names ...string) map[string]*Gateway {
	t.Helper()
	server, authority := redistest.Start(t), certificatetest.Issue(t, time.Hour)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, authority.Certificate, 0o600))
	running := map[string]*Gateway{}
	for _, name := range names {
		tls := config.NodesTLS{CA: ca}
		tls.Certificate, tls.Key = authority.Sign(t, "127.0.0.1").Files(t)
		running[name] = Start(t, t.TempDir(), func(c *config.Config) {
			c.Store = config.Store{Redis: config.Secret(server.URL()), Retention: c.Store.Retention}
			c.Nodes = &config.Nodes{Name: name, Address: "127.0.0.1:0", TTL: 10 * time.Second, TLS: tls}
			changes(c)
		})
		running[name].Authority = authority
	}
	for _, g := range running {
		require.Eventually(t, func() bool {
			return g.RequestVia(http.DefaultTransport, "GET", g.Operations+"/readyz", "", nil).Status == 200 &&
				g.POS("GET", "/lanes", "").Status == 200
		}, time.Minute, 20*time.Millisecond)
	}
	return running
}

// HandsOn is true for a node that does not own the demo range.
func (g *Gateway) HandsOn() bool {
	return !strings.Contains(g.Metrics(), `rangegate_proxied_requests_total{outcome="answered"} 0`+"\n")
}

// Metrics returns what Prometheus is told.
func (g *Gateway) Metrics() string {
	text, err := io.ReadAll(g.With("GET", g.Operations+"/metrics", "").Body)
	require.NoError(g.T, err)
	return string(text)
}

// Answer is an HTTP answer whose body is closed at the end of the test.
type Answer struct {
	Status     int
	ProtoMajor int
	Cookies    []*http.Cookie
	Body       io.ReadCloser
}

// Decode reads the body as JSON.
func (a Answer) Decode(t *testing.T, into any) {
	t.Helper()
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into), string(text))
}

// Request sends a request with that cookie.
func (g *Gateway) Request(method, path, body string, cookie *http.Cookie) Answer {
	g.T.Helper()
	return g.RequestVia(http.DefaultTransport, method, g.URL+path, body, cookie)
}

// RequestVia sends a request with that cookie over the transport.
func (g *Gateway) RequestVia(transport http.RoundTripper, method, url, body string, cookie *http.Cookie) Answer {
	g.T.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(g.T, err)
	if cookie != nil {
		request.AddCookie(cookie)
	}
	response, err := transport.RoundTrip(request)
	require.NoError(g.T, err)
	g.T.Cleanup(func() { _ = response.Body.Close() })
	return Answer{response.StatusCode, response.ProtoMajor, response.Cookies(), response.Body}
}

// POS sends a request as the POS of the demo range. headers are names and values in turn.
func (g *Gateway) POS(method, path, body string, headers ...string) Answer {
	g.T.Helper()
	return g.With(method, g.URL+"/api/v2/pos"+path, body, append(headers, "range-id", DemoRange, "token", DemoToken)...)
}

// With sends a request with those headers, names and values in turn, and reads the answer whole.
func (g *Gateway) With(method, url, body string, headers ...string) Answer {
	g.T.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(g.T, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(g.T, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(g.T, err)
	_ = response.Body.Close()
	return Answer{
		response.StatusCode, response.ProtoMajor, response.Cookies(),
		io.NopCloser(strings.NewReader(string(text))),
	}
}
