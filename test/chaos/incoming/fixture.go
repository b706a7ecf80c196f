// Package incoming has controllers that dial the running binary: over a restart, a reload and a second
// controller, through proxies, and a thousand at a time.
package incoming

import (
	"testing"

	"rangegate/test/support"
)

// configure is a gateway with those lanes, and an address that controllers dial, on a port of its own, which
// outlives the process.
func configure(t testing.TB, lanes []string, settings ...string) (config support.Config, dialled string) {
	address := support.FreeAddress(t)
	config = support.NewConfig(t, lanes, settings...)
	config.HTTP = support.NoLimit
	config.Sections = []string{"controllers: {address: " + address + "}"}
	return config, "http://" + address
}

// waitLinked waits until so many links have been made since the gateway's start.
func waitLinked(t testing.TB, g *support.Gateway, links float64) {
	t.Helper()
	support.EventuallyWithin(t, 5*support.Patience, "the links are up", func() bool { // a thousand, on a slow machine
		return g.Metrics().Sum("rangegate_links_total", `what="up"`) >= links
	})
}

// attempts is how many attempts to dial came to that.
func attempts(g *support.Gateway, outcome string) float64 {
	return g.Metrics().Sum("rangegate_links_incoming_total", `outcome="`+outcome+`"`)
}
