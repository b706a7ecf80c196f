package actors

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts and measures what happens. How the ranges stand at a moment is no part of it: that is read when somebody
// looks (standing.go). No label has more values than the code knows: never a lane or a session.
type Metrics struct {
	laneMetrics
	holdMetrics
	linkMetrics
	storeMetrics
	eventMetrics
	actorMetrics
	clockMetrics
}

// NewMetrics registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := maker{registry}
	return &Metrics{
		m.ofLanes(), m.ofHolds(), m.ofLinks(), m.ofStore(), m.ofEvents(), m.ofActors(), m.ofClocks(),
	}
}

// maker registers what it makes.
type maker struct{ registry prometheus.Registerer }

const namespace = "rangegate"

func (m maker) counter(name, help string) prometheus.Counter {
	made := prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	m.registry.MustRegister(made)
	return made
}

func (m maker) counters(name, help string, labels ...string) *prometheus.CounterVec {
	made := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(made)
	return made
}

func (m maker) gauge(name, help string) prometheus.Gauge {
	made := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	m.registry.MustRegister(made)
	return made
}

func (m maker) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	made := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(made)
	return made
}

func (m maker) histogram(name, help string, buckets ...float64) prometheus.Histogram {
	made := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(made)
	return made
}

func (m maker) histograms(name, help string, labels []string, buckets ...float64) *prometheus.HistogramVec {
	made := prometheus.NewHistogramVec(
		prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(made)
	return made
}

// fromZero has counters begin at 0: one that is not there before the first time hides that time from whoever asks how much
// it grew.
func fromZero(counters *prometheus.CounterVec, values ...string) {
	for _, value := range values {
		counters.WithLabelValues(value)
	}
}

// messageKind names a message as our code does.
func messageKind(message any) string {
	kind := fmt.Sprintf("%T", message)
	if a, is := message.(*ask); is {
		return a.name()
	}
	return kind[strings.LastIndexByte(kind, '.')+1:]
}
