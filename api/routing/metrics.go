package routing

import "github.com/prometheus/client_golang/prometheus"

// Metrics are those of requests that are handed on.
type Metrics struct {
	requests *prometheus.CounterVec
	retries  *prometheus.CounterVec
	seconds  prometheus.Histogram
	relayed  prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "proxied_requests_total",
			Help: "Requests of ranges that another node owns, by outcome: answered by the owner, or else no_owner, " +
				"unreachable, timeout, overloaded, cancelled by the client, owned_here by then, wrong_node (refused " +
				"to another node), late (refused: its entry had stopped waiting) or not_a_node (refused to what " +
				"shows no certificate of a living node). Investigate timeout, late and not_a_node.",
		}, []string{"outcome"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "proxied_retries_total",
			Help: "Requests that were sent to the owner once more, by reason: wrong_node, unreachable, or broken_off " +
				"(reading ones only). Some at a take-over are normal.",
		}, []string{"reason"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "rangegate", Name: "proxied_request_seconds",
			Help: "Time from sending a request to the owner until its response begins. Compare it with " +
				"http_request_seconds of the owner: the difference is the network between the nodes.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
		relayed: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "relayed_links",
			Help: "Open connections of controllers that have dialled this node and are relayed to the node that " +
				"owns their range.",
		}),
	}
	for _, outcome := range []string{
		answered, noOwner, unreachable, timedOut, cancelled, overloaded, ownedHere,
		refusedHere, late, notANode,
	} {
		m.requests.WithLabelValues(outcome)
	}
	registry.MustRegister(m.requests, m.retries, m.seconds, m.relayed)
	return m
}

func (m *Metrics) proxied(outcome string) { m.requests.WithLabelValues(outcome).Inc() }
