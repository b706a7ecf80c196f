package actors

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rangegate/lanes"
)

// storeMetrics is how the flushes to the store go.
type storeMetrics struct {
	flushes  *prometheus.CounterVec
	flushing prometheus.Histogram
	writes   prometheus.Histogram
}

func (m maker) ofStore() storeMetrics {
	all := storeMetrics{
		flushes: m.counters("store_flushes_total",
			"Flushes to the store by result (ok, failed). Each range flushes at least every 10 s; none should fail.", "result"),
		flushing: m.histogram("store_flush_seconds",
			"How long a flush to the store took. Normal is what the disk or Redis takes to make one write durable, 1 to 50 ms. "+
				"After a second the store counts as away.",
			prometheus.ExponentialBuckets(.0005, 2, 15)...),
		writes: m.histogram("store_flush_writes",
			"Changes saved together in one flush. Under load many share one; that is what makes it fast.",
			prometheus.ExponentialBuckets(1, 4, 7)...),
	}
	fromZero(all.flushes, "ok", "failed")
	return all
}

func (m *storeMetrics) flushed(took time.Duration, writes int, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.flushes.WithLabelValues(result).Inc()
	m.flushing.Observe(took.Seconds())
	m.writes.Observe(float64(writes))
}

// eventMetrics is what becomes of events.
type eventMetrics struct{ events *prometheus.CounterVec }

func (m maker) ofEvents() eventMetrics {
	all := eventMetrics{m.counters("events_total",
		"Events by kind and by what became of them: delivered, refused (the receiver answered, not with 2xx), timed_out, "+
			"unreachable, interrupted (nobody knows whether it arrived), not_sent (no webhook), dropped (too many waited). "+
			"Each is attempted once: what is not delivered the POS has to read from the event log.", "kind", "outcome")}
	for _, kind := range []lanes.Kind{
		lanes.Help, lanes.CarrierHit, lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused,
		lanes.SessionResumed, lanes.SessionStopped, lanes.SessionModified, lanes.PurchaseRequest,
	} {
		for _, outcome := range lanes.Outcomes {
			all.events.WithLabelValues(string(kind), outcome)
		}
	}
	return all
}
