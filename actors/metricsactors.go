package actors

import "github.com/prometheus/client_golang/prometheus"

// actorMetrics is how the actors are doing.
type actorMetrics struct {
	restarts *prometheus.CounterVec
	depth    *prometheus.GaugeVec
	waiting  *prometheus.HistogramVec
}

func (m maker) ofActors() actorMetrics {
	return actorMetrics{
		restarts: m.counters("actor_restarts_total",
			"Panics of actors by kind: defects of the gateway. Each one restarts the actor from its last saved state. Normal is none.",
			"kind"),
		depth: m.gauges("actor_mailbox_messages",
			"Messages waiting in the mailboxes of the actors, by kind. Normal is near 0; what grows is not keeping up.", "kind"),
		waiting: m.histograms("actor_mailbox_wait_seconds",
			"How long messages waited until their actor took them, by kind; one message in 64 is timed. Normal is far less than a "+
				"ms; more says that the machine has too few processors for what it does.",
			[]string{"kind"}, .00001, .0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5),
	}
}

// clockMetrics is what the machine's clocks do.
type clockMetrics struct {
	suspends prometheus.Counter
	steps    prometheus.Counter
	drift    prometheus.Gauge
}

func (m maker) ofClocks() clockMetrics {
	return clockMetrics{
		suspends: m.counter("machine_suspends_total",
			"Times the machine was suspended while the gateway ran; every timer was armed anew. A server should never be."),
		steps: m.counter("wall_clock_steps_total",
			"Times the wall clock was set, or had drifted, by more than a second; no session's time changes by it. One after a "+
				"start is normal where the time comes from the network."),
		drift: m.gauge("clock_drift_seconds",
			"By how much the wall clock ran ahead of the machine's own clock (negative: behind) since the gateway started, or since "+
				"the last step of more than a second. Normal is a few ms: more than that says that nothing keeps the wall clock right."),
	}
}
