package catalog

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts and measures the requests of all clients.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// outcomes are the words for what may become of a request.
var outcomes = []string{"ok", "refused", "timed_out", "unreachable", "invalid", "too_large", "redirected", "abandoned", "defect"}

// NewMetrics registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "products_requests_total",
			Help: "Requests to the integrators' products APIs by type of product and outcome: ok, refused (a status that is not " +
				"200), timed_out, unreachable, invalid (not a JSON array), too_large, redirected, abandoned (nobody waited any more), or " +
				"defect (of the gateway).",
		}, []string{"type", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "rangegate", Name: "products_request_seconds",
			Help: "How long the requests to the integrators' products APIs took, to the last byte of the answer, by outcome (as in " +
				"products_requests_total). Normal is less than a second: customers wait for it when they open the shop.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"outcome"}),
	}
	registry.MustRegister(m.requests, m.seconds)
	for _, outcome := range outcomes {
		m.seconds.WithLabelValues(outcome)
		for _, t := range Types {
			m.requests.WithLabelValues(string(t), outcome)
		}
	}
	return m
}

func (m *Metrics) asked(t Type, outcome string, took time.Duration) {
	m.requests.WithLabelValues(string(t), outcome).Inc()
	m.seconds.WithLabelValues(outcome).Observe(took.Seconds())
}
