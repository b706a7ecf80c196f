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

// fixture is an integrator's products API on loopback, and a client of it.
type fixture struct {
	server  *httptest.Server
	client  *Client
	log     logLines
	metrics *prometheus.Registry
}

// logLines is a log that may be written from several goroutines.
type logLines struct {
	mu      sync.Mutex
	written bytes.Buffer
}

func (l *logLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.Write(line)
}

// lines returns every line, without its end.
func (l *logLines) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSuffix(l.written.String(), "\n"), "\n")
}

func newFixture(t *testing.T, h http.HandlerFunc) *fixture {
	r := &fixture{metrics: prometheus.NewRegistry(), server: httptest.NewServer(h)}
	t.Cleanup(r.server.Close)
	r.setURL(r.server.URL)
	return r
}

// setURL makes a new client, with another address of the API.
func (r *fixture) setURL(url string) {
	r.metrics = prometheus.NewRegistry()
	r.client = New(Settings{
		URL: url, Timeout: 10 * time.Second, Transport: r.server.Client().Transport, UserAgent: "rangegate/test",
		Log: zerolog.New(&r.log), Metrics: NewMetrics(r.metrics),
	})
}

// counts returns how many requests somebody waited for, and how many of them failed.
func (r *fixture) counts() [2]uint64 {
	asked, failed := r.client.settings.Metrics.Counts()
	return [2]uint64{asked, failed}
}

// counted returns the requests by type and outcome.
func (r *fixture) counted(t *testing.T) map[string]float64 {
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

// answer is an API that always answers with that body.
func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

// check returns the products of a body and the logLines of the log about it.
func check(t Type, body string) ([]Product, []string, error) {
	elements, err := split([]byte(body))
	if err != nil {
		return nil, nil, err
	}
	log := &logLines{}
	c := New(Settings{Log: zerolog.New(log)})
	return c.validProducts(t, elements), log.lines(), nil
}
