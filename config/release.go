package config

import (
	"slices"
	"strings"
)

// What links this release has drivers for.
const (
	DriverSim       = "sim"       // simulated hardware, in process
	DriverWebSocket = "websocket" // LINK.md version 1
)

func driverProblem(driver string) string {
	if driver == DriverSim || driver == DriverWebSocket {
		return ""
	}
	return "no such driver; this release has sim and websocket"
}

// secured tells whether a lane of the range is reached over TLS.
func (r Range) secured() bool {
	return slices.ContainsFunc(r.Lanes, func(l Lane) bool { return strings.HasPrefix(l.Link.Address, "wss:") })
}

// Unused lists what is configured and has no effect for want of something else, with its path.
func (c Config) Unused() []string {
	var unused []string
	for i, r := range c.Ranges {
		at := path("ranges").item(i)
		for key, configured := range map[string]bool{
			"purchasing": r.Purchasing && !r.Sells(), "link_tls": r.LinkTLS != LinkTLS{} && !r.secured(),
		} {
			if configured {
				unused = append(unused, string(at.key(key)))
			}
		}
	}
	slices.Sort(unused)
	return unused
}
