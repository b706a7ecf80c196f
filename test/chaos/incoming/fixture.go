// Package incoming has controllers that dial the running binary: over a restart, a reload and a second
// controller, through proxies, and a thousand at a time.
package incoming

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// configure is a gateway with those lanes, and an address that controllers dial, on a port of its own, which
// outlives the process.
func configure(t testing.TB, lanes []string, settings ...string) (config support.Config, dialled string) {
	address := freeAddress(t)
	config = support.NewConfig(t, lanes, settings...)
	config.HTTP = support.NoLimit
	config.Sections = []string{"controllers: {address: " + address + "}"}
	return config, "http://" + address
}

// freeAddress is an address of this machine that nobody listens on.
func freeAddress(t testing.TB) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// waitLinked waits until so many links have been made since the gateway's start.
func waitLinked(t testing.TB, g *support.Gateway, links float64) {
	t.Helper()
	support.Eventually(t, "the links are up", func() bool {
		return g.Metrics().Sum("rangegate_links_total", `what="up"`) >= links
	})
}

// attempts is how many attempts to dial came to that.
func attempts(g *support.Gateway, outcome string) float64 {
	return g.Metrics().Sum("rangegate_links_incoming_total", `outcome="`+outcome+`"`)
}
