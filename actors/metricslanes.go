package actors

import (
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/lanes"
)

// laneMetrics is what lanes are asked, and what comes of it.
type laneMetrics struct {
	commands  *prometheus.CounterVec
	answering *prometheus.HistogramVec
	lateness  prometheus.Histogram
	reports   *prometheus.CounterVec
	missing   prometheus.Counter
	purchases *prometheus.CounterVec
}

func (m maker) ofLanes() laneMetrics {
	all := laneMetrics{
		commands: m.counters("lane_commands_total",
			"Commands, reports and timers that reached a lane, by what was asked and how it ended (ok, or the error's code). "+
				"Refusals such as lane_occupied are normal; internal, not_saved and overloaded are not.",
			"command", "result"),
		answering: m.histograms("lane_command_seconds",
			"How long lanes took to answer, from the arrival at the lane to the answer, by what was asked. Most of it is the "+
				"store: some ms are normal. A report that waits for a store that is away takes as long as that.",
			[]string{"command"}, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10),
		lateness: m.histogram("timer_lateness_seconds",
			"How long after a session's deadline the stop order was handed to the lane's link. Normal is less than 10 ms; more "+
				"says that the machine is overloaded, or was suspended.",
			.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 10),
		reports: m.counters("lane_reports_ignored_total",
			"Reports of lane hardware that changed nothing, by reason. Some that were reported before are normal after a link "+
				"came up again.", "reason"),
		missing: m.counter("lane_reports_missing_total",
			"Reports that lane hardware numbered and never sent: those after them were taken in without them. Normal is none; "+
				"the controller has lost what happened on the lane."),
		purchases: m.counters("purchases_total",
			"Purchases at lanes by what they came to (accepted, refused, unresolved), and by whom: lane, or staff who settled an "+
				"unresolved one. Unresolved ones wait for staff.", "phase", "by"),
	}
	for _, phase := range []lanes.PurchasePhase{lanes.Accepted, lanes.Declined, lanes.Unresolved} {
		all.purchases.WithLabelValues(string(phase), string(lanes.ByLane))
	}
	return all
}

// holdMetrics is how holds get to the hardware.
type holdMetrics struct {
	fanOut    prometheus.Histogram
	heldLanes *prometheus.CounterVec
}

func (m maker) ofHolds() holdMetrics {
	all := holdMetrics{
		fanOut: m.histogram("hold_fanout_seconds",
			"How long holds took from when they were asked for to when the hardware of the last lane that could be reached had "+
				"confirmed. Normal is far less than a second; a lane that was reached and then lost counts when it is back.",
			.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 15, 60),
		heldLanes: m.counters("hold_lanes_total",
			"Lanes under holds by how far the hold had come on their hardware when whoever asked for it was answered, within 2 s: "+
				"confirmed, sent (no confirmation yet), not_reached (the link is down). Anything but confirmed wants a look at the lane.",
			"outcome"),
	}
	fromZero(all.heldLanes, "confirmed", "sent", "not_reached")
	return all
}

// held counts the lanes of a hold by what its answer says.
func (m *holdMetrics) held(answer lanes.Reached) {
	for outcome, on := range map[string]int{
		"confirmed": len(answer.Confirmed), "sent": len(answer.Sent), "not_reached": len(answer.NotReached),
	} {
		m.heldLanes.WithLabelValues(outcome).Add(float64(on))
	}
}
