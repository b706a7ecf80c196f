package actors

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// linkMetrics is what the links to lane hardware go through.
type linkMetrics struct {
	links     *prometheus.CounterVec
	failures  *prometheus.CounterVec
	dialling  prometheus.Histogram
	roundTrip prometheus.Histogram
	strayed   prometheus.Counter
}

func (m maker) ofLinks() linkMetrics {
	all := linkMetrics{
		links: m.counters("links_total",
			"Links to lane hardware that came up (up), went down (down), could not be made (not_made), or found a controller that "+
				"is not in order (faulty). Each lane comes up once after a start; what goes on after that is a network or a "+
				"controller in trouble.", "what"),
		failures: m.counters("link_failures_total",
			"Links that went down or could not be made, by cause: refused (nothing listens at the address), unreachable (no way to "+
				"it), timeout, silent (no sign of life for 15 s), closed (by the controller or something on the way), faulty (the "+
				"controller breaks the protocol, or refuses the gateway), driver (a defect of the gateway), other.", "cause"),
		dialling: m.histogram("link_dial_seconds",
			"How long it took to make a link, from the first packet to the controller's hello. Links that could not be made are in "+
				"link_failures_total. Normal is less than 0.1 s in the range's own network.",
			.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5),
		roundTrip: m.histogram("link_round_trip_seconds",
			"How long controllers took to answer a ping, one every 5 s and lane. Normal is some ms; a hold reaches a lane no faster "+
				"than that. A controller that does not answer within 15 s has failed as silent.",
			.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 15),
		strayed: m.counter("controller_times_off_total",
			"Controllers whose time of a session was off by more than a second when their link came up; the gateway's holds. "+
				"Normal is none."),
	}
	fromZero(all.links, "up", "down", "not_made", "faulty")
	fromZero(all.failures, causes...)
	return all
}

// RoundTrip takes in how long a controller took to answer a ping.
func (m *Metrics) RoundTrip(took time.Duration) { m.roundTrip.Observe(took.Seconds()) }
