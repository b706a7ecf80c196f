package config

import "slices"

// What the design has and this release has not yet. When a driver comes it moves from later to drivers.

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

// Sells tells whether customers can buy at the lanes: there has to be a webhook that takes the purchases.
func (r Range) Sells() bool { return r.Purchasing && r.Webhook != nil }

// Unused lists what is configured and has no effect, with its path: in this release, or for want of something else.
func (c Config) Unused() []string {
	var unused []string
	for i, r := range c.Ranges {
		at := path("ranges").item(i)
		for key, configured := range map[string]bool{
			"staff": len(r.Staff) > 0, "on_link_loss": r.OnLinkLoss == Hold, "purchasing": r.Purchasing && !r.Sells(),
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
