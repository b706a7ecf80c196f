package actors

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what the actors do.
type Metrics struct {
	commands  *prometheus.CounterVec
	restarts  *prometheus.CounterVec
	depth     *prometheus.GaugeVec
	lateness  prometheus.Histogram
	flushes   *prometheus.CounterVec
	flushing  prometheus.Histogram
	writes    prometheus.Histogram
	away      *prometheus.GaugeVec
	links     *prometheus.CounterVec
	reports   *prometheus.CounterVec
	missing   prometheus.Counter
	events    *prometheus.CounterVec
	purchases *prometheus.CounterVec
	waiting   *prometheus.GaugeVec
	strayed   prometheus.Counter
	suspends  prometheus.Counter
	steps     prometheus.Counter
}

// NewMetrics registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "rangegate", Name: name, Help: help}
	}
	m := &Metrics{
		commands: prometheus.NewCounterVec(counter("lane_commands_total",
			"Commands, reports and timers that reached a lane, by what was asked and how it ended (ok, or the error's code)."),
			[]string{"command", "result"}),
		restarts: prometheus.NewCounterVec(counter("actor_restarts_total",
			"Panics of actors by kind. Each one restarts the actor from its last saved state."), []string{"kind"}),
		depth: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "actor_mailbox_messages",
			Help: "Messages waiting in the mailboxes of the actors, by kind.",
		}, []string{"kind"}),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "rangegate", Name: "timer_lateness_seconds",
			Help:    "How long after a session's deadline the stop order was handed to the lane's link.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 10},
		}),
		flushes: prometheus.NewCounterVec(counter("store_flushes_total",
			"Flushes to the store by result (ok, failed)."), []string{"result"}),
		flushing: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "rangegate", Name: "store_flush_seconds",
			Help: "How long a flush to the store took.", Buckets: prometheus.ExponentialBuckets(.0005, 2, 15),
		}),
		writes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "rangegate", Name: "store_flush_writes",
			Help: "Changes saved together in one flush.", Buckets: prometheus.ExponentialBuckets(1, 4, 7),
		}),
		away: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "store_away",
			Help: "1 while the store takes nothing from the range: lanes keep their time and take closings only.",
		},
			[]string{"range"}),
		links: prometheus.NewCounterVec(counter("links_total",
			"Links to lane hardware that came up, went down, could not be made, or found a controller that is not in order."), []string{"what"}),
		reports: prometheus.NewCounterVec(counter("lane_reports_ignored_total",
			"Reports of lane hardware that changed nothing, by reason."), []string{"reason"}),
		missing: prometheus.NewCounter(counter("lane_reports_missing_total",
			"Reports that lane hardware numbered and never sent: those after them were taken in without them.")),
		events: prometheus.NewCounterVec(counter("events_total",
			"Events by kind and by what became of them (delivered, refused, timed_out, unreachable, interrupted, not_sent, dropped)."), []string{"kind", "outcome"}),
		purchases: prometheus.NewCounterVec(counter("purchases_total",
			"Purchases at lanes by what they came to (accepted, refused, unresolved), and by whom: lane, or staff who settled an unresolved one."), []string{"phase", "by"}),
		strayed: prometheus.NewCounter(counter("controller_times_off_total",
			"Controllers whose time of a session was off by more than a second when their link came up; the gateway's holds.")),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "events_waiting", Help: "Events of a range that wait for their delivery.",
		}, []string{"range"}),
		suspends: prometheus.NewCounter(counter("machine_suspends_total",
			"Times the machine was suspended while the gateway ran; every timer was armed anew.")),
		steps: prometheus.NewCounter(counter("wall_clock_steps_total",
			"Times the wall clock was set, or had drifted, by more than a second; no session's time changes by it.")),
	}
	registry.MustRegister(m.commands, m.restarts, m.depth, m.lateness, m.flushes, m.flushing, m.writes, m.away,
		m.links, m.reports, m.missing, m.events, m.waiting, m.strayed, m.purchases, m.suspends, m.steps)
	return m
}

func (m *Metrics) flushed(took time.Duration, writes int, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.flushes.WithLabelValues(result).Inc()
	m.flushing.Observe(took.Seconds())
	m.writes.Observe(float64(writes))
}

func (m *Metrics) storeAway(rangeID uuid.UUID, away bool) {
	value := 0.0
	if away {
		value = 1
	}
	m.away.WithLabelValues(rangeID.String()).Set(value)
}

// messageKind names a message as our code does.
func messageKind(message any) string {
	kind := fmt.Sprintf("%T", message)
	if a, is := message.(*ask); is {
		return a.name()
	}
	return kind[strings.LastIndexByte(kind, '.')+1:]
}
