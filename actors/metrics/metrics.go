// Package metrics has the collectors of the actors: what is counted and measured as it happens. Package
// actors calls it; how the ranges stand at a moment is computed when Prometheus asks (actors/standing.go). No
// label has more values than the code knows: never a lane or a session.
package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rangegate/lanes"
	"rangegate/lanes/tracing"
)

// Metrics are the collectors. Each may be used from any goroutine.
type Metrics struct {
	laneMetrics
	keyMetrics
	holdMetrics
	linkMetrics
	storeMetrics
	eventMetrics
	actorMetrics
	clockMetrics

	// Tracer records what is traced; nil: nothing is. It is set before anything is counted.
	Tracer *tracing.Tracer
	// LateStops is told how late sessions are stopped; nil: nobody is. It is set before anything is counted.
	LateStops LateStops
}

// New registers them.
func New(registry prometheus.Registerer) *Metrics {
	m := maker{registry}
	return &Metrics{
		m.ofLanes(), m.ofKeys(), m.ofHolds(), m.ofLinks(), m.ofStore(), m.ofEvents(), m.ofActors(), m.ofClocks(),
		nil, nil,
	}
}

// maker registers what it makes.
type maker struct{ registry prometheus.Registerer }

// Namespace begins the name of every metric.
const Namespace = "rangegate"

func (m maker) counter(name, help string) prometheus.Counter {
	made := prometheus.NewCounter(prometheus.CounterOpts{Namespace: Namespace, Name: name, Help: help})
	m.registry.MustRegister(made)
	return made
}

func (m maker) counters(name, help string, labels ...string) *prometheus.CounterVec {
	made := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: Namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(made)
	return made
}

func (m maker) gauge(name, help string) prometheus.Gauge {
	made := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: Namespace, Name: name, Help: help})
	m.registry.MustRegister(made)
	return made
}

func (m maker) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	made := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: Namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(made)
	return made
}

func (m maker) histogram(name, help string, buckets ...float64) prometheus.Histogram {
	made := prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: Namespace, Name: name, Help: help,
		Buckets: buckets,
	})
	m.registry.MustRegister(made)
	return made
}

func (m maker) histograms(name, help string, labels []string, buckets ...float64) *prometheus.HistogramVec {
	made := prometheus.NewHistogramVec(
		prometheus.HistogramOpts{Namespace: Namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(made)
	return made
}

// FromZero creates the series at 0, so that increase() sees the first event.
func FromZero(counters *prometheus.CounterVec, values ...string) {
	for _, value := range values {
		counters.WithLabelValues(value)
	}
}

// storeMetrics is how the flushes to the store go.
type storeMetrics struct {
	flushes  *prometheus.CounterVec
	flushing prometheus.Histogram
	writes   prometheus.Histogram

	tried, slow *atomic.Uint64 // flushes

	FencedWrites  prometheus.Counter
	RangesRefused prometheus.Gauge
}

func (m maker) ofStore() storeMetrics {
	all := storeMetrics{
		tried: new(atomic.Uint64), slow: new(atomic.Uint64),
		flushes: m.counters("store_flushes_total",
			"Flushes to the store by result (ok, failed). Each range flushes at least every 10 s; none "+
				"should fail.", "result"),
		flushing: m.histogram("store_flush_seconds",
			"How long a flush to the store took. Normal is what the disk or Redis takes to make one write durable, "+
				"1 to 50 ms. After a second the store counts as away.",
			prometheus.ExponentialBuckets(.0005, 2, 15)...),
		writes: m.histogram("store_flush_writes",
			"Changes saved together in one flush. Under load many share one; that is what makes it fast.",
			prometheus.ExponentialBuckets(1, 4, 7)...),
		FencedWrites: m.counter("fenced_writes_total",
			"Changes that were not saved, or not known to be, because another process owns the range. Some at a "+
				"take-over from a node that still runs are normal: their clients are told. Normal is 0 otherwise."),
		RangesRefused: m.gauge("ranges_refused",
			"Ranges that are not served, because the configuration has lost a lane that is in use; the log names "+
				"both. Normal is 0."),
	}
	FromZero(all.flushes, "ok", "failed")
	return all
}

// Flushed is called after each try to flush, with its place in a trace if it has one.
func (m *Metrics) Flushed(took time.Duration, writes int, err error, traceID string, place lanes.Span) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.flushes.WithLabelValues(result).Inc()
	m.Tracer.Observe(m.flushing, took.Seconds(), traceID, place)
	m.writes.Observe(float64(writes))
	m.tried.Add(1)
	if took > slowFlush {
		m.slow.Add(1)
	}
}

// slowFlush is what a flush takes that every sale notices; from 1 s on the store counts as down.
const slowFlush = 500 * time.Millisecond

// FlushCounts returns how many flushes there were, and how many of them took longer than half a second.
func (m *storeMetrics) FlushCounts() (tried, slow uint64) { return m.tried.Load(), m.slow.Load() }

// eventMetrics counts the outcomes of events.
type eventMetrics struct {
	Events, Redelivered, Retried, GivenUp *prometheus.CounterVec
}

func (m maker) ofEvents() eventMetrics {
	all := eventMetrics{
		Events: m.counters("events_total",
			"Events by kind and by what became of them: delivered, refused (the receiver answered, not with 2xx), "+
				"timed_out, unreachable, interrupted (nobody knows whether it arrived), not_sent (no webhook), "+
				"dropped (too many waited). It counts their first attempts: without webhook.retry, what is not "+
				"delivered the POS has to read from the event log, or to ask for again.",
			"kind", "outcome", "webhook"),
		Redelivered: m.counters("events_redelivered_total",
			"Events that were sent again because the POS or staff asked for it, by what became of that: as in "+
				"events_total.", "outcome", "webhook"),
		Retried: m.counters("events_retried_total",
			"Events that were tried again by webhook.retry, by what became of that attempt: as in events_total. "+
				"Normal is none.", "outcome", "webhook"),
		GivenUp: m.counters("events_given_up_total",
			"Events that webhook.retry tries no more: their term is over, the webhook has answered 410, or too many "+
				"waited. Normal is 0: the POS has to read them from the event log, or to ask for them "+
				"again.", "webhook"),
	}
	for _, kind := range lanes.Kinds {
		for _, outcome := range lanes.Outcomes {
			all.Events.WithLabelValues(string(kind), outcome, "")
		}
	}
	for _, outcome := range lanes.Outcomes {
		all.Redelivered.WithLabelValues(outcome, "")
		all.Retried.WithLabelValues(outcome, "")
	}
	all.GivenUp.WithLabelValues("")
	return all
}

// ShowWebhook begins the counters at 0 by which alerts see the first event that a webhook did not get for good.
func (m *eventMetrics) ShowWebhook(name string) {
	m.GivenUp.WithLabelValues(name)
	for _, kind := range lanes.Kinds {
		m.Events.WithLabelValues(string(kind), "dropped", name)
	}
}

// actorMetrics is how the actors are doing.
type actorMetrics struct {
	Restarts       *prometheus.CounterVec
	Refused        *prometheus.CounterVec
	MailboxDepth   *prometheus.GaugeVec
	MailboxWait    *prometheus.HistogramVec
	ReceiveSeconds *prometheus.HistogramVec
}

func (m maker) ofActors() actorMetrics {
	return actorMetrics{
		Restarts: m.counters("actor_restarts_total",
			"Panics of actors by kind: defects of the gateway. Each one restarts the actor from its last saved "+
				"state. Normal is none.",
			"kind"),
		MailboxDepth: m.gauges("actor_mailbox_messages",
			"Messages waiting in the mailboxes of the actors, by kind. Normal is near 0; what grows is not "+
				"keeping up.", "kind"),
		MailboxWait: m.histograms("actor_mailbox_wait_seconds",
			"How long messages waited until their actor took them, by kind; one message in 64 is timed. Normal "+
				"is far less than a ms; more says that the machine has too few processors for what it does.",
			[]string{"kind"}, .00001, .0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5),
		ReceiveSeconds: m.histograms("actor_receive_seconds",
			"How long an actor took for a message, by its kind and by the message; one message in 64 is timed. "+
				"Normal is far less than a ms: no actor waits for anything in its turn.",
			[]string{"kind", "message"}, .0001, .001, .01, .1, 1),
		Refused: m.counters("actor_messages_refused_total",
			"Messages that an actor had not taken when it stopped, and that somebody waited for, by message: they "+
				"were refused. Some are normal when a range stops, moves to another node or is reloaded.", "message"),
	}
}

// clockMetrics is what the machine's clocks do.
type clockMetrics struct {
	Suspends   prometheus.Counter
	ClockSteps prometheus.Counter
	ClockDrift prometheus.Gauge

	ClockOffset prometheus.Gauge
}

func (m maker) ofClocks() clockMetrics {
	return clockMetrics{
		Suspends: m.counter("machine_suspends_total",
			"Times the machine was suspended while the gateway ran; every timer was armed anew. A server "+
				"should never be."),
		ClockSteps: m.counter("wall_clock_steps_total",
			"Times the wall clock was set, or had drifted, by more than a second; no session's time changes by "+
				"it. One after a start is normal where the time comes from the network."),
		ClockOffset: m.gauge("clock_offset_seconds",
			"By how much the wall clock is ahead of that of the Redis server (negative: behind), measured every "+
				"10 s. 0 with SQLite. Normal is a few ms; over 2 s a node takes no ranges."),
		ClockDrift: m.gauge("clock_drift_seconds",
			"By how much the wall clock ran ahead of the machine's own clock (negative: behind) since the gateway "+
				"started, or since the last step of more than a second. Normal is a few ms: more than that says "+
				"that nothing keeps the wall clock right."),
	}
}
