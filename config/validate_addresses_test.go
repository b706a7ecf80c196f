package config

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serving returns a configuration for production with these settings of its addresses.
func serving(t *testing.T, settings string) string {
	return settings + edited(t, "environment: playground\n", "\n", "name: Demo range",
		"name: Demo range\n    insecure_links: true",
		"name: Lane 1,", "name: Lane 1, link: {driver: websocket, address: 'ws://h/1'},",
		"name: Lane 2,", "name: Lane 2, link: {driver: websocket, address: 'ws://h/2'},")
}

// Tokens, PINs and names cross a network only under TLS, the gateway's own or a proxy's, or where the
// operator accepts that they do not. The operations token crosses a private network as it is.
func TestPlainHTTPThatOtherMachinesReachIsRefusedInProduction(t *testing.T) {
	const loopback, private, public = 0, 1, 2
	for address, reach := range map[string]int{
		"127.0.0.1:80": loopback, "127.8.8.8:80": loopback, "'[::1]:80'": loopback, "localhost:80": loopback,
		"LOCALHOST:80": loopback,
		"10.0.0.1:80":  private, "172.16.0.1:80": private, "192.168.1.1:80": private, "'[fd00::1]:80'": private,
		"169.254.0.1:80": private, "'[fe80::1%eth0]:80'": private, "'[::ffff:10.0.0.1]:80'": private,

		"':80'": public, "0.0.0.0:80": public, "'[::]:80'": public, "'[::ffff:0.0.0.0]:80'": public,
		"203.0.113.1:80": public, "172.32.0.1:80": public,
		"100.64.0.1:80": public, "'[2001:db8::1]:80'": public, "'[::ffff:203.0.113.1]:80'": public,
		"range.example:80": public,
	} {
		api, operations := "http: {address: "+address, "operations: {address: "+address
		_, err := Parse([]byte(serving(t, api+"}")), nil)
		_, errOperations := Parse([]byte(serving(t, operations+"}")), nil)
		if reach < public {
			assert.NoError(t, errOperations, address)
		} else {
			assert.ErrorContains(t, errOperations, "operations.address: is public", address)
		}
		if reach < private {
			assert.NoError(t, err, address)
			continue
		}
		assert.ErrorContains(t, err, "http.address: can be reached by other machines", address)
		for _, right := range []string{
			api + ", tls: {certificate: c, key: k}}", api + ", behind_proxy: true}", api + ", insecure_http: true}",
			operations + ", tls: {certificate: c, key: k}}",
			"environment: playground\n" + api + "}", "environment: playground\n" + operations + "}",
		} {
			_, err := Parse([]byte(serving(t, right)), nil)
			assert.NoError(t, err, right)
		}
	}
}

func TestBehindProxyDoesNotCoverTheOperationsAddress(t *testing.T) {
	_, err := Parse([]byte(serving(t, "http: {address: ':80', behind_proxy: true}\noperations: {address: ':90'}")), nil)
	require.Len(t, faultsOf(t, err), 1)
	require.ErrorContains(t, err, "operations.address: is public")
}

func TestTrustedProxiesAreAddressesAndNetworks(t *testing.T) {
	cfg, err := Parse([]byte(serving(t, "http: {behind_proxy: true, trusted_proxies: [10.0.0.5, 10.1.0.0/16, "+
		"'2001:db8::/32', '::1', '::ffff:10.0.0.6']}")),
		[]string{"RANGEGATE_HTTP_TRUSTED_PROXIES_5=192.0.2.7"})
	require.NoError(t, err)
	var networks []string
	for _, n := range cfg.HTTP.Proxies() {
		networks = append(networks, n.String())
	}
	require.Equal(t, []string{"10.0.0.5/32", "10.1.0.0/16", "2001:db8::/32", "::1/128", "10.0.0.6/32", "192.0.2.7/32"},
		networks)
	require.True(t, cfg.HTTP.Proxies()[1].Contains(netip.MustParseAddr("10.1.2.3")))

	for _, wrong := range []string{
		"proxy.example", "10.1.2.3/16", "10.0.0.0/33", "''", "10.0.0.5:80", "'fe80::1%eth0'",
		"'::ffff:10.1.0.0/112'", "0.0.0.0/0", "'::/0'", "0.0.0.0/1", "128.0.0.0/1",
	} {
		_, err := Parse([]byte(serving(t, "http: {behind_proxy: true, trusted_proxies: [10.0.0.5, "+wrong+"]}")), nil)
		require.Equal(t, []string{"http.trusted_proxies[1]: wants an IP address, or a network such as 10.1.0.0/16"},
			faultsOf(t, err), wrong)
	}
	_, err = Parse([]byte(serving(t, "http: {trusted_proxies: [10.0.0.5]}")), nil)
	require.Equal(t, []string{"http.trusted_proxies: wants http.behind_proxy: true"}, faultsOf(t, err))
}

func TestTheOperationsAddressWantsBothFilesToo(t *testing.T) {
	_, err := Parse([]byte(serving(t, "operations: {tls: {key: a}}")), nil)
	require.Equal(t, []string{"operations.tls.certificate: missing; tls wants certificate and key"}, faultsOf(t, err))
}

func TestTheHostsOfTheOperationsAddress(t *testing.T) {
	cfg, err := Parse([]byte(serving(t, "operations: {hosts: [gateway.internal, monitor-1]}")), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"gateway.internal", "monitor-1"}, cfg.Operations.Hosts)
	for _, wrong := range []string{"'gateway.internal:9090'", "'*.internal'", "'http://gateway'", "''"} {
		_, err := Parse([]byte(serving(t, "operations: {hosts: [gateway, "+wrong+"]}")), nil)
		require.Equal(t, []string{"operations.hosts[1]: wants a host name without a port, such as gateway.internal"},
			faultsOf(t, err), wrong)
	}
}
