// Package proxy is a network between a client and a server that a test can disturb.
package proxy

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

// Proxy passes on what is sent to its address.
type Proxy struct {
	t     testing.TB
	proxy *toxics.Proxy
}

// Attributes are those of a kind of disturbance, as Toxiproxy names them.
type Attributes = toxics.Attributes

// New puts a proxy in front of a server until the test ends.
func New(t testing.TB, server string) *Proxy {
	log.Logger = zerolog.Nop() // Toxiproxy logs every packet
	toxiproxy := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	api := httptest.NewServer(toxiproxy.Routes())
	t.Cleanup(api.Close)
	proxy, err := toxics.NewClient(api.URL).CreateProxy("proxy", "127.0.0.1:0", server)
	require.NoError(t, err)
	t.Cleanup(func() { _ = proxy.Delete() })
	return &Proxy{t, proxy}
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.proxy.Listen }

// Disturb adds a kind of disturbance in one direction: upstream is towards the server. repair removes it.
func (p *Proxy) Disturb(kind, direction string, attributes Attributes) (repair func()) {
	p.t.Helper()
	name := kind + "-" + direction
	_, err := p.proxy.AddToxic(name, kind, direction, 1, attributes)
	require.NoError(p.t, err)
	return func() { require.NoError(p.t, p.proxy.RemoveToxic(name)) }
}

// Redirect points the proxy at another server and breaks off the connections to the first.
func (p *Proxy) Redirect(server string) {
	p.t.Helper()
	p.proxy.Upstream = server
	require.NoError(p.t, p.proxy.Save())
}
