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

// Unused lists what is configured and has no effect in this release, with its path.
func (c Config) Unused() []string {
	var unused []string
	for i, r := range c.Ranges {
		at := path("ranges").item(i)
		for key, configured := range map[string]bool{
			"products": r.Products != nil, "staff": len(r.Staff) > 0, "on_link_loss": r.OnLinkLoss == Hold,
		} {
			if configured {
				unused = append(unused, string(at.key(key)))
			}
		}
		for j, lane := range r.Lanes {
			if lane.ScreenKey != "" {
				unused = append(unused, string(at.key("lanes").item(j).key("screen_key")))
			}
		}
	}
	slices.Sort(unused)
	return unused
}
