package config

import "slices"

// What the design has and this release has not yet. When a driver comes it moves from later to drivers; when webhooks
// are delivered releaseLimits goes.

var (
	drivers = []string{"sim"}
	later   = []string{"websocket"}
)

func driverProblem(driver string) string {
	switch {
	case slices.Contains(drivers, driver):
		return ""
	case slices.Contains(later, driver):
		return "this release has no " + driver + " driver yet"
	}
	return "no such driver; this release has sim"
}

func (in *inspection) releaseLimits(r *Range, at path) {
	if r.Webhook != nil {
		in.found.add(at.key("webhook"), "events are not delivered in this release; leave the webhook out: events are kept in the event log")
	}
}
