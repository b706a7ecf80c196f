package catalog

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts the requests of all clients.
type Metrics struct {
	requests *prometheus.CounterVec
}

// NewMetrics registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "rangegate", Name: "products_requests_total",
		Help: "Requests to the integrators' products APIs by type of product and outcome: ok, refused (a status that is not " +
			"200), timed_out, unreachable, invalid (not a JSON array), too_large, redirected, or abandoned (nobody waited any more).",
	}, []string{"type", "outcome"})}
	registry.MustRegister(m.requests)
	return m
}

func (m *Metrics) asked(t Type, outcome string) { m.requests.WithLabelValues(string(t), outcome).Inc() }
