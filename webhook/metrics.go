package webhook

import (
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/lanes"
)

// Metrics measures the attempts of all clients.
type Metrics struct{ seconds *prometheus.HistogramVec }

// made are the outcomes that an attempt can have that was made.
var made = []string{"delivered", "refused", "timed_out", "unreachable", "interrupted"}

// NewMetrics registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "rangegate", Name: "webhook_request_seconds",
		Help: "How long the requests to the integrators' webhooks took, purchases and simulated events among them, by what became " +
			"of them: delivered, refused (answered, not with 2xx), timed_out, unreachable, interrupted (the connection broke). Normal " +
			"is less than a second; slow ones hold up the events behind them.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	}, []string{"outcome"})}
	registry.MustRegister(m.seconds)
	for _, outcome := range made {
		m.seconds.WithLabelValues(outcome)
	}
	return m
}

func (m *Metrics) attempted(a lanes.Attempt) {
	if m != nil {
		m.seconds.WithLabelValues(a.Outcome()).Observe(a.Duration.Seconds())
	}
}
