package preflight

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/link/websocket"
)

// deadAddress returns an address at which no process listens.
func deadAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

func withoutLog(server *httptest.Server) *httptest.Server {
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	return server
}

// withWebhooks returns settings of ranges with these webhooks.
func withWebhooks(environment config.Environment, urls ...string) Settings {
	c := config.Config{Environment: environment}
	for i, url := range urls {
		c.Ranges = append(c.Ranges, config.Range{Name: fmt.Sprint("Range ", i+1), Webhook: &config.Webhook{URL: url}})
	}
	return Settings{Config: c}
}

// The check connects to the webhook and sends no request. A server of several ranges is checked once.
func TestWebhooks(t *testing.T) {
	var heard atomic.Int64
	receiver := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) })
	plain, secured := httptest.NewServer(receiver), withoutLog(httptest.NewUnstartedServer(receiver))
	defer plain.Close()
	secured.StartTLS()
	defer secured.Close()
	dead := deadAddress(t)

	all := withWebhooks(config.InPlayground, plain.URL+"/hook?key=secret", secured.URL, "http://"+dead+"/hook",
		plain.URL+"/another").webhooks(t.Context())
	require.Equal(t, "ok: "+plain.URL+" (Range 1, Range 4) is reached\n"+
		"FAIL: "+secured.URL+" (Range 2): its certificate is from an unknown authority\n"+
		"FAIL: http://"+dead+" (Range 3): the connection was refused\n", text(all))
	all = withWebhooks(config.InProduction, secured.URL).webhooks(t.Context())
	require.Contains(t, requireOne(t, all, Fail).Found, "the address is not allowed")
	require.Zero(t, heard.Load())
	requireOK(t, Settings{}.webhooks(t.Context()))
}

// A running gateway connects to one webhook likewise, and says how.
func TestAWebhookIsProbed(t *testing.T) {
	var heard atomic.Int64
	receiver := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) })
	plain, secured := httptest.NewServer(receiver), withoutLog(httptest.NewUnstartedServer(receiver))
	defer plain.Close()
	secured.StartTLS()
	defer secured.Close()
	probe := func(url string, in config.Environment) WebhookProbe {
		found := ProbeWebhook(t.Context(), config.Webhook{URL: url}, in)
		require.Positive(t, found.Took)
		found.Took = 0
		return found
	}
	require.Equal(t, WebhookProbe{Server: plain.URL}, probe(plain.URL+"/hook?key=secret", config.InPlayground))
	require.Equal(t, WebhookProbe{Server: secured.URL, Problem: "its certificate is from an unknown authority"},
		probe(secured.URL, config.InPlayground))
	require.Equal(t, WebhookProbe{Server: secured.URL, Problem: "the address is not allowed"},
		probe(secured.URL, config.InProduction))
	require.Zero(t, heard.Load(), "no request is sent")
}

func TestProducts(t *testing.T) {
	shop := func(answer string) *httptest.Server {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.UserAgent(), "rangegate/") || r.Header.Get("session-id") != "" {
				w.WriteHeader(http.StatusBadRequest)
			}
			if r.URL.Query().Get("type") == "ammo" {
				_, _ = io.WriteString(w, answer)
				return
			}
			_, _ = io.WriteString(w, "[]")
		}))
		t.Cleanup(server.Close)
		return server
	}
	sells, empty, broken := shop(`[{"id":"a","display_name":"A","price":1,"max_qty":2}]`), shop("[]"), shop("<html>")
	var s Settings
	s.UserAgent = "rangegate/test"
	for i, url := range []string{sells.URL, empty.URL, broken.URL, "http://" + deadAddress(t) + "?key=secret"} {
		s.Config.Ranges = append(s.Config.Ranges, config.Range{
			Name:     fmt.Sprint("Range ", i+1),
			Products: &config.Products{URL: url, Timeout: 5 * time.Second},
		})
	}
	all := s.products(t.Context())
	require.Len(t, all, 4)
	require.Equal(t, sells.URL+" (Range 1): time: 0, targets: 0, ammo: 1, rentals: 0", requireOne(t, all, OK).Found)
	require.Equal(t, empty.URL+" (Range 2): nothing is for sale", requireOne(t, all, Warn).Found)
	require.Contains(t, all[2].Found,
		"(Range 3): products of type ammo: the products API did not answer with a JSON array")
	require.Contains(t, all[3].Found, "(Range 4): products of type ")
	require.NotContains(t, text(all), "secret")
	requireOK(t, Settings{}.products(t.Context()))
}

// rangeWithDeadLanes returns a range with that many lanes. Every second controller does not answer.
func rangeWithDeadLanes(t *testing.T, count int) Settings {
	started := time.Now()
	var wired []lanesim.Lane
	var ids []uuid.UUID
	for i := range count {
		ids = append(ids, uuid.New())
		if i%2 == 0 {
			wired = append(wired, lanesim.Lane{ID: ids[i], Listen: "127.0.0.1:0"})
		}
	}
	controllers, err := lanesim.New(lanesim.Settings{Now: func() lanes.Instant {
		return lanes.Instant{Wall: time.Now(), Mono: time.Since(started)}
	}}, wired...)
	require.NoError(t, err)
	t.Cleanup(controllers.Close)
	dead := deadAddress(t)
	r := config.Range{}
	for i, id := range ids {
		address := fmt.Sprintf("ws://%s/%d", dead, i)
		if c := controllers.Controller(id); c != nil {
			address = c.Address()
		}
		r.Lanes = append(r.Lanes, config.Lane{
			Name: fmt.Sprint("Lane ", i+1),
			Link: config.Link{Driver: config.DriverWebSocket, Address: address},
		})
	}
	trust := func(config.LinkTLS) (websocket.TLS, error) { return websocket.TLS{}, nil }
	return Settings{Config: config.Config{Ranges: []config.Range{r}}, Trust: trust}
}

// Of a thousand lanes half do not answer; the finding names the first of them.
func TestAThousandControllersHalfOfThemDead(t *testing.T) {
	s := rangeWithDeadLanes(t, 1000)
	all := s.controllers(t.Context())
	require.Equal(t, "500 of 1000 are reached", requireOne(t, all, OK).Found)
	require.Equal(t, "500 of 1000: the connection was refused: Lane 2, Lane 4, Lane 6, Lane 8, Lane 10, Lane 12, "+
		"Lane 14, Lane 16, Lane 18, Lane 20 and 490 more", requireOne(t, all, Fail).Found)
}

func TestControllersUnderTLS(t *testing.T) {
	server := withoutLog(httptest.NewUnstartedServer(http.NotFoundHandler()))
	server.StartTLS()
	defer server.Close()
	address := "wss" + strings.TrimPrefix(server.URL, "https")
	authority := x509.NewCertPool()
	authority.AddCert(server.Certificate())
	for want, trust := range map[string]websocket.TLS{
		"1 of 1 are reached": {CA: authority},
		"1 of 1: its certificate is from an unknown authority: Lane 1": {},
		"1 of 1: " + fingerprint + ": Lane 1":                          {Fingerprint: new([32]byte)},
	} {
		require.Equal(t, want, connectAll(t.Context(), []controller{{"Lane 1", address, trust}})[0].Found)
	}
	plain := "wss://" + strings.TrimPrefix(httptestPlain(t), "http://")
	require.Contains(t, requireOne(t, connectAll(t.Context(), []controller{{"Lane 1", plain, websocket.TLS{}}}),
		Fail).Found, "it does not speak TLS")
}

func httptestPlain(t *testing.T) string {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

func TestControllersWithoutTheirAuthoritysFile(t *testing.T) {
	s := Settings{Config: config.Config{Ranges: []config.Range{{}, {Lanes: make([]config.Lane, 3)}}}}
	s.Trust = func(l config.LinkTLS) (websocket.TLS, error) { return websocket.TLS{}, nil }
	all := s.controllers(t.Context())
	requireOK(t, all)
	require.Equal(t, "ok: 3 lanes simulated\n", text(all))
	s.Trust = func(l config.LinkTLS) (websocket.TLS, error) {
		return websocket.TLS{}, errors.New("open ca.pem: no such file")
	}
	require.Contains(t, text(s.controllers(t.Context())), "FAIL: ranges[0].link_tls.ca: open ca.pem: no such file")
}
