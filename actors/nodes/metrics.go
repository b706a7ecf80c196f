package nodes

import (
	"maps"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics count what a node does with its lease and with ranges.
type Metrics struct {
	changes  *prometheus.CounterVec
	takeOver prometheus.Histogram
	unowned  prometheus.Gauge
	failed   prometheus.Counter
	held     prometheus.Gauge
}

// The reasons of changes beside those of claims (plan.go).
const (
	moved   = "moved"   // to the node that is to own it
	drained = "drained" // released, as this node drains it, drains or stops
	lost    = "lost"    // another node has claimed it
	failed  = "failed"  // claimed, and it could not be started
)

// NewMetrics registers the metrics of a node.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	factory := promauto.With(registry)
	m := &Metrics{
		changes: factory.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "ownership_changes_total",
			Help: "Ranges that this node began or ceased to own, by reason: unowned, take_over and again were " +
				"claimed; moved, drained, lost and failed were given up.",
		}, []string{"reason"}),
		takeOver: factory.NewHistogram(prometheus.HistogramOpts{
			Namespace: "rangegate", Name: "takeover_seconds",
			Help:    "From when this node saw that nobody alive owned a range until it was started here.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60},
		}),
		unowned: factory.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "unowned_ranges",
			Help: "Configured ranges that no living node owns, as far as this node knows.",
		}),
		failed: factory.NewCounter(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "lease_renewals_failed_total",
			Help: "Renewals of this node's lease that the store did not answer, or refused.",
		}),
		held: factory.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "lease_held",
			Help: "1 while this node's newest renewal of its lease has succeeded, else 0.",
		}),
	}
	for _, reason := range []string{unowned, takeOver, again, moved, drained, lost, failed} {
		m.changes.WithLabelValues(reason)
	}
	return m
}

// Changes are those of one range that an operator has to know of, since this node began.
type Changes struct {
	Lost      uint64 // another node has claimed it while it ran here
	TakenOver uint64 // from a node that was not heard of any more
}

// Changes returns those of the ranges that have any.
func (k *Keeper) Changes() map[uuid.UUID]Changes {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return maps.Clone(k.changes)
}

// Held reports whether the newest renewal of this node's lease has succeeded.
func (k *Keeper) Held() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.lease.held
}

func (k *Keeper) noteChange(rangeID uuid.UUID, reason string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	changes := k.changes[rangeID]
	switch reason {
	case lost:
		changes.Lost++
	case takeOver:
		changes.TakenOver++
	default:
		return
	}
	k.changes[rangeID] = changes
}
