package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	dialsIn    = "Lane 1, link: {driver: incoming, key: 4GhZ9qJ0sX2vB7nM1cL5kW},"
	dialsKeyed = "controllers: {address: '127.0.0.1:8443', tls: {certificate: c.pem, key: k.pem}}\n"
)

// production is the demo range in production, where the controller of its first lane dials.
func production(t *testing.T, section, lane string, edits ...string) string {
	return section + edited(t, append([]string{
		"environment: playground\n", "", "Lane 1,", lane, "Lane 2,",
		"Lane 2, link: {driver: websocket, address: 'ws://h/2'},",
		"name: Demo range", "name: Demo range\n    insecure_links: true",
	}, edits...)...)
}

func TestControllersThatDialIn(t *testing.T) {
	cfg, err := Parse([]byte(production(t, dialsKeyed, dialsIn)), nil)
	require.NoError(t, err)
	assert.Equal(t, Controllers{Address: "127.0.0.1:8443", TLS: TLS{"c.pem", "k.pem"}, Admit: 500}, *cfg.Controllers)
	assert.True(t, cfg.Ranges[0].Lanes[0].Incoming())
	assert.Len(t, cfg.InsecureLanes(cfg.Ranges[0]), 1, "that with the websocket driver")

	cfg, err = Parse([]byte(strings.ReplaceAll(production(t, dialsKeyed, dialsIn), "}}\n", "}, admit: 20}\n")), nil)
	require.NoError(t, err)
	assert.Equal(t, 20, cfg.Controllers.Admit)
}

func TestRulesOfControllersThatDialIn(t *testing.T) {
	const strict, lane = "\n    insecure_links: true", "ranges[0].lanes[0].link."
	for name, c := range map[string]struct {
		section, lane string
		edits         []string
		faults        []string
	}{
		"no address to dial": {
			"", dialsIn, nil,
			[]string{lane + "driver: wants the section controllers, with the address that controllers dial"},
		},
		"no address in it": {
			"controllers: {admit: 5}\n", dialsIn, nil,
			[]string{"controllers.address: wants host:port, such as 127.0.0.1:8080"},
		},
		"an address of the lane": {
			dialsKeyed, "Lane 1, link: {driver: incoming, address: 'ws://h/1'},", nil,
			[]string{lane + "address: the incoming driver takes no address: the controller dials the gateway's " +
				"controllers.address"},
		},
		"a short key": {
			dialsKeyed, "Lane 1, link: {driver: incoming, key: short},", nil,
			[]string{lane + "key: wants at least 22 characters of 128 random bits, such as the command new-key prints"},
		},
		"half a certificate": {
			"controllers: {address: '127.0.0.1:8443', tls: {key: k.pem}}\n", dialsIn, nil,
			[]string{"controllers.tls.certificate: missing; tls wants certificate and key"},
		},
		"the address of the API": {
			"controllers: {address: '127.0.0.1:8080'}\n", dialsIn, nil,
			[]string{"controllers.address: the same as http.address"},
		},
		"a proxy that nobody mentioned": {"controllers: {address: '127.0.0.1:8443', trusted_proxies: [10.0.0.1, " +
			"host]}\n", dialsIn, nil, []string{
			"controllers.trusted_proxies: wants controllers.behind_proxy: true",
			"controllers.trusted_proxies[1]: wants an IP address, or a network such as 10.1.0.0/16",
		}},
		"too many a second": {
			"controllers: {address: '127.0.0.1:8443', admit: 100001}\n", dialsIn, nil,
			[]string{"controllers.admit: at most 100000 new links a second"},
		},
		"in the clear":   {"controllers: {address: '127.0.0.1:8443'}\n", dialsIn, nil, nil},
		"behind a proxy": {"controllers: {address: '127.0.0.1:8443', behind_proxy: true}\n", dialsIn, nil, nil},
	} {
		_, err := Parse([]byte(production(t, c.section, c.lane, c.edits...)), nil)
		if c.faults == nil {
			assert.NoError(t, err, name)
			continue
		}
		assert.Equal(t, c.faults, faultsOf(t, err), name)
	}

	// A range that accepts no insecure links.
	for section, faults := range map[string][]string{
		"controllers: {address: '127.0.0.1:8443'}\n": {"controllers.tls: missing; wants " +
			"certificate and key in production, controllers.behind_proxy: true where a proxy in front has TLS, " +
			"or insecure_links: true in every range whose controllers dial"},
		"controllers: {address: '127.0.0.1:8443', behind_proxy: true}\n": nil,
		dialsKeyed: nil,
	} {
		text := strings.Replace(production(t, section, dialsIn), strict, "", 1)
		text = strings.Replace(text, "driver: websocket, address: 'ws://h/2'",
			"driver: incoming, key: 5GhZ9qJ0sX2vB7nM1cL5kW", 1)
		_, err := Parse([]byte(text), nil)
		if faults == nil {
			assert.NoError(t, err, section)
		} else {
			assert.Equal(t, faults, faultsOf(t, err), section)
		}
		_, err = Parse([]byte(strings.Replace(text, ", key: 5GhZ9qJ0sX2vB7nM1cL5kW", "", 1)), nil)
		assert.Contains(t, faultsOf(t, err), "ranges[0].lanes[1].link.key: missing; wants what the command new-key "+
			"prints in production, or insecure_links: true in the range", section)
	}
}

func TestWhatIsSaidOfControllersThatDialIn(t *testing.T) {
	cfg := Playground(1, "data", "127.0.0.1:0", "http://127.0.0.1:7070")
	cfg.Environment = InProduction
	cfg.Controllers = &Controllers{Address: "10.0.0.2:8443", BehindProxy: true, Admit: 500}
	assert.Equal(t, []string{"controllers"}, cfg.Unused(), "no lane's controller dials")
	cfg.Ranges[0].Lanes[0].Link = Link{Driver: DriverIncoming, Key: "4GhZ9qJ0sX2vB7nM1cL5kW"}
	assert.Empty(t, cfg.Unused())
	assert.Equal(t, []string{"controllers.address"}, exposed(cfg),
		"between the proxy and the gateway it is in the clear")
	cfg.Controllers.Address = "127.0.0.1:8443"
	assert.Empty(t, exposed(cfg))
	cfg.Controllers.BehindProxy = false
	assert.Equal(t, []string{"ranges[0].insecure_links"}, exposed(cfg))
}

func TestWhichChangesOfControllersNeedARestart(t *testing.T) {
	for name, tt := range map[string]struct {
		change        func(*Config)
		restart, keys []string
	}{
		"another address": {
			func(c *Config) { c.Controllers.Address = "127.0.0.1:1" },
			[]string{"controllers.address"},
			nil,
		},
		"another certificate": {
			func(c *Config) { c.Controllers.TLS.Key = "k" },
			[]string{"controllers.tls.key"},
			nil,
		},
		"none any more":       {func(c *Config) { c.Controllers = nil }, []string{"controllers"}, nil},
		"more links a second": {func(c *Config) { c.Controllers.Admit = 5 }, nil, []string{"controllers.admit"}},
		"another trusted proxy": {
			func(c *Config) { c.Controllers.TrustedProxies = []string{"::1"} }, nil,
			[]string{"controllers.trusted_proxies"},
		},
	} {
		before, after := twoRanges(t)
		before.Controllers, after.Controllers = &Controllers{Address: "127.0.0.1:2"},
			&Controllers{Address: "127.0.0.1:2"}
		tt.change(&after)
		d := Compare(before, after)
		assert.Equal(t, tt.restart, d.Restart, name)
		assert.Equal(t, tt.keys, d.Keys, name)
	}
	before, after := twoRanges(t)
	after.Ranges[0].Lanes[1].Link = Link{Driver: DriverIncoming}
	require.Len(t, Compare(before, after).Changed[0].Reconnect, 1,
		"the lane's link is made anew when the other side dials from now on")
}
