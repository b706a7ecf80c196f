package catalog

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// rig is an integrator's products API on loopback, and a client of it.
type rig struct {
	server  *httptest.Server
	client  *Client
	log     lines
	metrics *prometheus.Registry
}

// lines is a log that may be written from several goroutines.
type lines struct {
	mu      sync.Mutex
	written bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.Write(line)
}

// all is every line, without its end.
func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSuffix(l.written.String(), "\n"), "\n")
}

func newRig(t *testing.T, h http.HandlerFunc) *rig {
	r := &rig{metrics: prometheus.NewRegistry(), server: httptest.NewServer(h)}
	t.Cleanup(r.server.Close)
	r.point(r.server.URL)
	return r
}

// point makes the client anew, with another address.
func (r *rig) point(url string) {
	r.metrics = prometheus.NewRegistry()
	r.client = New(Settings{
		URL: url, Timeout: 10 * time.Second, Transport: r.server.Client().Transport, UserAgent: "rangegate/test",
		Log: zerolog.New(&r.log), Metrics: NewMetrics(r.metrics),
	})
}

// counted is the requests by type and outcome.
func (r *rig) counted(t *testing.T) map[string]float64 {
	families, err := r.metrics.Gather()
	require.NoError(t, err)
	counts := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range m.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if counted := m.GetCounter().GetValue(); counted > 0 {
				counts[labels["type"]+" "+labels["outcome"]] = counted
			}
		}
	}
	return counts
}

// saying is an API that always answers with that body.
func saying(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

// checked is the products of a body, and what was logged of it.
func checked(t Type, body string) ([]Product, []string, error) {
	elements, err := split([]byte(body))
	if err != nil {
		return nil, nil, err
	}
	log := &lines{}
	c := New(Settings{Log: zerolog.New(log)})
	return c.forSale(t, elements), log.all(), nil
}
