package routing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/lanes"
)

var theRange = uuid.MustParse("11111111-1111-4111-8111-111111111111")

// node is one node: an address for clients, and one for the other nodes.
type node struct {
	t        *testing.T
	name     string
	router   *Router
	client   *httptest.Server // where clients connect
	nodes    *httptest.Server // where other nodes connect
	registry *prometheus.Registry

	mu        sync.Mutex
	log       bytes.Buffer
	owner     lanes.Owner // as this node knows
	unowned   bool
	truth     *lanes.Owner // as the store knows; nil: unowned
	unread    error        // of the store
	refreshes int
	served    []string // by the handler behind the router
	arrived   int      // at the address for other nodes
}

// Owner is the Directory's.
func (n *node) Owner(uuid.UUID) (lanes.Owner, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.unowned {
		return lanes.Owner{}, lanes.ErrNotOwner
	}
	return n.owner, nil
}

// Refresh is the Directory's.
func (n *node) Refresh(context.Context, uuid.UUID) (lanes.Owner, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refreshes++
	if n.unread != nil {
		return lanes.Owner{}, n.unread
	}
	if n.truth == nil {
		return lanes.Owner{}, lanes.ErrNotOwner
	}
	n.owner, n.unowned = *n.truth, false
	return n.owner, nil
}

// Write is of the log.
func (n *node) Write(line []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.Write(line)
}

func (n *node) logged() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.String()
}

func (n *node) servedRequests() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.served...)
}

// know makes the node believe that the other one owns the range, and be right.
func (n *node) know(owner *node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.owner, n.unowned = owner.seenBy(n), false
	n.truth = &n.owner
}

func (n *node) seenBy(other *node) lanes.Owner {
	return lanes.Owner{Here: n == other, Name: n.name, Address: n.nodes.Listener.Addr().String(), Epoch: 1}
}

var testErrors = endpoint.Errors{
	"invalid_request": {Status: 400}, "unauthorized": {Status: 401}, "not_found": {Status: 404},
	"method_not_allowed": {Status: 405},
	"request_timeout":    {Status: 408}, "too_large": {Status: 413}, "unsupported_media_type": {Status: 415},
	"internal":   {Status: 500},
	"wrong_node": {Status: 421}, "overloaded": {Status: 503, RetryAfter: time.Second},
	"not_owner": {Status: 503, RetryAfter: time.Second},
	"timeout":   {Status: 504},
}

// newNode starts a node whose requests that are its own are served by the handler. way returns the way of a request.
func newNode(
	t *testing.T, name string, way func(*http.Request) Way, handler http.HandlerFunc,
	configure ...func(*Settings, *httptest.Server),
) *node {
	n := &node{t: t, name: name, unowned: true, registry: prometheus.NewRegistry()}
	log := zerolog.New(n)
	a := &endpoint.API{
		Errors: testErrors, Context: request.Track(log, nil),
		Defect: func(_ *http.Request, cause error, stack []byte) {
			t.Errorf("defect: %v\n%s", cause, stack)
		},
	}
	n.nodes = httptest.NewUnstartedServer(nil)
	s := Settings{Name: name, Directory: n, Metrics: NewMetrics(n.registry), Log: log}
	for _, c := range configure {
		c(&s, n.nodes)
	}
	n.router = New(s)
	served := a.Router(request.AccessLog(nil))
	served.With(n.router.Route(a.Fail, func(r *http.Request) (uuid.UUID, Way) {
		if strings.HasPrefix(r.URL.Path, "/local") {
			return uuid.Nil, Request
		}
		request.SetRange(r.Context(), theRange)
		return theRange, way(r)
	})).HandleFunc("/*", func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.served = append(n.served, r.Method+" "+r.URL.String())
		n.mu.Unlock()
		handler(w, r)
	})
	n.client = httptest.NewServer(served)
	acceptor := &Acceptor{Requests: served, Links: served, Other: a.Router()}
	n.nodes.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.arrived++
		n.mu.Unlock()
		acceptor.ServeHTTP(w, r)
	})
	if n.nodes.TLS == nil {
		n.nodes.Start()
	} else {
		n.nodes.StartTLS()
	}
	t.Cleanup(func() {
		n.router.Close()
		n.client.CloseClientConnections()
		n.nodes.CloseClientConnections()
		n.client.Close()
		n.nodes.Close()
	})
	return n
}

func byPath(r *http.Request) Way {
	switch {
	case strings.HasPrefix(r.URL.Path, "/stream"):
		return Stream
	case strings.HasPrefix(r.URL.Path, "/wait"):
		return Waiting
	case strings.HasPrefix(r.URL.Path, "/link"):
		return Link
	case strings.HasPrefix(r.URL.Path, "/sign-in"):
		return SignIn
	}
	return Request
}

// newPair starts an entry, and the owner of the range.
func newPair(t *testing.T, handler http.HandlerFunc) (entry, owner *node) {
	entry, owner = newNode(t, "entry", byPath, handler), newNode(t, "owner", byPath, handler)
	entry.know(owner)
	owner.know(owner)
	return entry, owner
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   string
	code   string
}

// send sends a request to the entry; headers come in pairs.
func (n *node) send(method, path, body string, headers ...string) answer {
	n.t.Helper()
	r, err := http.NewRequest(method, n.client.URL+path, strings.NewReader(body))
	require.NoError(n.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(n.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(n.t, err)
	var failure struct{ Code string }
	_ = json.Unmarshal(text, &failure)
	return answer{response.StatusCode, response.Header, string(text), failure.Code}
}

func (n *node) proxied(outcome string) float64 {
	return n.value("rangegate_proxied_requests_total", outcome)
}

func (n *node) retries(reason string) float64 {
	return n.value("rangegate_proxied_retries_total", reason)
}

// value returns a counter or gauge with that label.
func (n *node) value(name, label string) float64 {
	families, err := n.registry.Gather()
	require.NoError(n.t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// echo writes what the handler sees of a request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"method": r.Method, "uri": r.RequestURI, "host": r.Host, "client": r.RemoteAddr, "tls": request.OverTLS(r),
		"entry": request.Entry(r.Context()),
		"trace": request.Of(r.Context()).TraceID, "header": r.Header, "length": len(body),
		"body": string(body[:min(len(body), 100)]), "error": fmt.Sprint(err),
	})
}

// seen is what echo saw.
type seen struct {
	Method, URI, Host, Client, Entry, Trace, Body, Error string
	TLS                                                  bool
	Header                                               http.Header
	Length                                               int
}

func (a answer) seen(t *testing.T) (s seen) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.body), &s), a.body)
	return s
}

// rawListener returns the address of a listener that accepts connections, and does with each of them what do does.
func rawListener(t *testing.T, do func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go do(c)
		}
	}()
	return l.Addr().String()
}

// closed is the address of nobody.
func closed(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func (n *node) knowAddress(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.owner, n.unowned = lanes.Owner{Name: "other", Address: address, Epoch: 1}, false
	n.truth = &n.owner
}
