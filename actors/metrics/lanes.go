package metrics

import (
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/lanes"
)

// laneMetrics is what lanes are asked, and what comes of it.
type laneMetrics struct {
	Commands       *prometheus.CounterVec
	TokenCommands  *prometheus.CounterVec
	CommandSeconds *prometheus.HistogramVec
	TimerLateness  prometheus.Histogram
	TurnTime       *prometheus.HistogramVec
	ReportsIgnored *prometheus.CounterVec
	ReportsMissing prometheus.Counter
	Purchases      *prometheus.CounterVec
}

func (m maker) ofLanes() laneMetrics {
	all := laneMetrics{
		Commands: m.counters("lane_commands_total",
			"Commands, reports and timers that reached a lane, by what was asked and how it ended (ok, or the "+
				"error's code). Refusals such as lane_occupied are normal; internal, not_saved and overloaded are not.",
			"command", "result"),
		TokenCommands: m.counters("token_commands_total",
			"Those of the commands in lane_commands_total that came from a POS whose token has a name, by range "+
				"and name. None without such tokens.", "range", "token", "command", "result"),
		CommandSeconds: m.histograms("lane_command_seconds",
			"How long lanes took to answer, from the arrival at the lane to the answer, by what was asked. Most of "+
				"it is the store: some ms are normal. A report that waits for a store that is away "+
				"takes as long as that.",
			[]string{"command"}, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10),
		TimerLateness: m.histogram("timer_lateness_seconds",
			"How long after a session's deadline the stop order was handed to the lane's link. Normal is less than "+
				"10 ms; more says that the machine is overloaded, or was suspended.",
			.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 10),
		TurnTime: m.histograms("lane_turn_seconds",
			"How long lanes waited from the end of a session to the begin of the next, by range; without time under "+
				"a hold, and in which they were closed for sale. What is normal is the range's own: it rises when "+
				"customers stay away, or lanes are not cleared.",
			[]string{"range"}, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 14400, 28800),
		ReportsIgnored: m.counters("lane_reports_ignored_total",
			"Reports of lane hardware that changed nothing, by reason. Some that were reported before are normal "+
				"after a link came up again.", "reason"),
		ReportsMissing: m.counter("lane_reports_missing_total",
			"Reports that lane hardware numbered and never sent: those after them were taken in without them. Normal "+
				"is none; the controller has lost what happened on the lane."),
		Purchases: m.counters("purchases_total",
			"Purchases at lanes by what they came to (accepted, refused, unresolved), and by whom: lane, or staff "+
				"who settled an unresolved one. Unresolved ones wait for staff.", "phase", "by"),
	}
	for _, phase := range []lanes.PurchasePhase{lanes.Accepted, lanes.Declined, lanes.Unresolved} {
		all.Purchases.WithLabelValues(string(phase), string(lanes.ByLane))
	}
	return all
}

// LateStops learns how late each session was stopped at its end. Late is called in the turn of an actor: it must not
// block.
type LateStops interface {
	Late(lane uuid.UUID, late time.Duration)
}

// StoppedAtEnd is called once the lane's link has the stop order of a session whose time was up, that long ago.
func (m *Metrics) StoppedAtEnd(lane uuid.UUID, late time.Duration) {
	m.TimerLateness.Observe(late.Seconds())
	if m.LateStops != nil {
		m.LateStops.Late(lane, late)
	}
}

// keyMetrics is what becomes of idempotency keys.
type keyMetrics struct{ KeysRefused prometheus.Counter }

func (m maker) ofKeys() keyMetrics {
	return keyMetrics{m.counter("idempotency_keys_refused_total",
		"Requests that were answered 503 overloaded because their range keeps 100,000 idempotency keys already. "+
			"Normal is none: a range that sells so much in a day has a client that repeats itself with new keys.")}
}

// holdMetrics is how holds get to the hardware.
type holdMetrics struct {
	HoldFanOut prometheus.Histogram
	heldLanes  *prometheus.CounterVec
}

func (m maker) ofHolds() holdMetrics {
	all := holdMetrics{
		HoldFanOut: m.histogram("hold_fanout_seconds",
			"How long holds took from when they were asked for to when the hardware of the last lane that could "+
				"be reached had confirmed. Normal is far less than a second; a lane that was reached and then lost "+
				"counts when it is back.",
			.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 15, 60),
		heldLanes: m.counters("hold_lanes_total",
			"Lanes under holds by how far the hold had come on their hardware when whoever asked for it was "+
				"answered, within 2 s: confirmed, sent (no confirmation yet), not_reached (the link is down). "+
				"Anything but confirmed wants a look at the lane.",
			"outcome"),
	}
	FromZero(all.heldLanes, "confirmed", "sent", "not_reached")
	return all
}

// Held counts the lanes of a hold by what its answer says.
func (m *holdMetrics) Held(answer lanes.Reached) {
	for outcome, on := range map[string]int{
		"confirmed": len(answer.Confirmed), "sent": len(answer.Sent), "not_reached": len(answer.NotReached),
	} {
		m.heldLanes.WithLabelValues(outcome).Add(float64(on))
	}
}

// linkMetrics is what the links to lane hardware go through.
type linkMetrics struct {
	Links        *prometheus.CounterVec
	LinkFailures *prometheus.CounterVec
	DialSeconds  prometheus.Histogram
	roundTrip    prometheus.Histogram
	ClockSkew    prometheus.Counter
	Incoming     *prometheus.CounterVec
}

func (m maker) ofLinks() linkMetrics {
	all := linkMetrics{
		Links: m.counters("links_total",
			"Links to lane hardware that came up (up), went down (down), could not be made (not_made), or found "+
				"a controller that is not in order (faulty). Each lane comes up once after a start; what goes on "+
				"after that is a network or a controller in trouble.", "what"),
		LinkFailures: m.counters("link_failures_total",
			"Links that went down or could not be made, by cause: refused (nothing listens at the address), "+
				"unreachable (no way to it), timeout, silent (no sign of life for 15 s), replaced (its controller "+
				"has dialled anew), closed (by the controller or something on the way), faulty (the controller "+
				"breaks the protocol, or refuses the gateway), driver (a defect of the gateway), other.", "cause"),
		DialSeconds: m.histogram("link_dial_seconds",
			"How long it took to make a link, from the first packet to the controller's hello. Links that could "+
				"not be made are in link_failures_total. Normal is less than 0.1 s in the range's own network.",
			.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5),
		roundTrip: m.histogram("link_round_trip_seconds",
			"How long controllers took to answer a ping, one every 5 s and lane. Normal is some ms; a hold reaches "+
				"a lane no faster than that. A controller that does not answer within 15 s has failed as silent.",
			.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 15),
		ClockSkew: m.counter("controller_times_off_total",
			"Controllers whose time of a session was off by more than a second when their link came up; the "+
				"gateway's holds. Normal is none."),
	}
	all.Incoming = m.counters("links_incoming_total",
		"Attempts of controllers that dial in, by outcome: linked, over_admit (more new links a second than "+
			"controllers.admit), not_here (the range is not served by this process, or not yet), unknown_lane, "+
			"refused (no proof of the lane's key, or a rule of the protocol broken), contested (a second controller "+
			"of a lane whose link is up), failed (gone before its hello). After a restart every controller is linked "+
			"once, some over_admit before; unknown_lane, refused and contested want a look.", "outcome")
	FromZero(all.Links, "up", "down", "not_made", "faulty")
	FromZero(all.LinkFailures, LinkCauses...)
	return all
}

// TurnEnded measures the turn that a saved change of the range has ended, if it has.
func (m *Metrics) TurnEnded(of uuid.UUID, change lanes.Change) {
	if change.Turn != nil {
		m.TurnTime.WithLabelValues(of.String()).Observe(change.Turn.Seconds())
	}
}

// RoundTrip is called with the time that a controller took to answer a ping.
func (m *Metrics) RoundTrip(took time.Duration) { m.roundTrip.Observe(took.Seconds()) }

// LinkCauses are the causes for which a link fails or cannot be made: values of the label cause.
var LinkCauses = []string{
	"refused", "unreachable", "timeout", "silent", "replaced", "closed", "faulty",
	"driver", "other",
}
