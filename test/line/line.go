// Package line is the way to a server, which a test can spoil.
package line

import (
	"net/http/httptest"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	toxics "github.com/Shopify/toxiproxy/v2/client"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
	"github.com/stretchr/testify/require"
)

// Line passes on what is sent over it.
type Line struct {
	t     testing.TB
	proxy *toxics.Proxy
}

// Attributes are those of a kind of damage, as Toxiproxy names them.
type Attributes = toxics.Attributes

// To lays a line to a server, for as long as the test takes.
func To(t testing.TB, address string) *Line {
	log.Logger = zerolog.Nop() // which toxics tell about every packet
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	desk := httptest.NewServer(server.Routes())
	t.Cleanup(desk.Close)
	proxy, err := toxics.NewClient(desk.URL).CreateProxy("line", "127.0.0.1:0", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = proxy.Delete() })
	return &Line{t, proxy}
}

// Addr is this end of the line.
func (l *Line) Addr() string { return l.proxy.Listen }

// Spoil does something to the line, in one direction: upstream is towards the server. mend takes it back.
func (l *Line) Spoil(what, direction string, how Attributes) (mend func()) {
	l.t.Helper()
	_, err := l.proxy.AddToxic(what, what, direction, 1, how)
	require.NoError(l.t, err)
	return func() { require.NoError(l.t, l.proxy.RemoveToxic(what)) }
}

// Divert has the line end at another server. Connections over it break off.
func (l *Line) Divert(address string) {
	l.t.Helper()
	l.proxy.Upstream = address
	require.NoError(l.t, l.proxy.Save())
}
