package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnusedListsSettingsWithoutEffect(t *testing.T) {
	cfg := Playground(2, "data", "127.0.0.1:0", "http://127.0.0.1:7070")
	assert.Empty(t, cfg.Unused())
	cfg.Ranges[0].Webhook = nil
	cfg.Ranges[0].OnLinkLoss = Hold
	cfg.Ranges[0].LinkTLS.CA = "ca.pem"
	assert.Equal(t, []string{"ranges[0].link_tls", "ranges[0].purchasing"}, cfg.Unused())
	cfg.Ranges[0].Lanes[0].Link = Link{Driver: DriverWebSocket, Address: "wss://h/lane"}
	assert.NotContains(t, cfg.Unused(), "ranges[0].link_tls")

	cfg.Ranges[0].InsecureLinks = true
	assert.Contains(t, cfg.Unused(), "ranges[0].insecure_links", "the playground wants nothing of links")
	cfg.Environment = InProduction
	assert.NotContains(t, cfg.Unused(), "ranges[0].insecure_links")
	assert.Contains(t, exposed(cfg), "ranges[0].insecure_links")
	cfg.Ranges[0].Lanes[0].Link.Key = "4GhZ9qJ0sX2vB7nM1cL5kW"
	assert.Contains(t, cfg.Unused(), "ranges[0].insecure_links", "no link is insecure")
	assert.NotContains(t, exposed(cfg), "ranges[0].insecure_links")
}

// exposed returns the paths of what production leaves open.
func exposed(cfg Config) (paths []string) {
	for _, open := range cfg.Exposures() {
		paths = append(paths, open.Path)
	}
	return paths
}

func TestExposuresOfProduction(t *testing.T) {
	cfg := Playground(2, "data", "127.0.0.1:0", "http://127.0.0.1:7070")
	cfg.Ranges[0].Webhook.Secrets = nil
	cfg.HTTP.Address = "10.0.0.2:8080"
	assert.Empty(t, exposed(cfg), "the playground is a demo")
	cfg.Environment = InProduction
	assert.Equal(t, []string{"http.address", "ranges[0].webhook.secrets"}, exposed(cfg))
	cfg.Ranges[0].Webhook.Secrets = []Secret{PlaygroundSecret}
	assert.Equal(t, []string{"http.address"}, exposed(cfg))
	cfg.Ranges[0].Webhook = nil
	assert.Equal(t, []string{"http.address"}, exposed(cfg))

	for address, open := range map[string]bool{
		"127.0.0.1:8080": false, "127.9.9.9:8080": false, "[::1]:8080": false, "localhost:8080": false,
		"[::ffff:127.0.0.1]:1": false,
		"10.0.0.2:8080":        true, "192.168.1.1:80": true, "[fe80::1]:80": true, "[fd00::1]:80": true, ":8080": true,
		"0.0.0.0:8080": true, "range.lan:80": true,
	} {
		cfg.HTTP, cfg.Operations = HTTP{Address: address}, Operations{Address: address}
		want := []string(nil)
		if open {
			want = []string{"http.address", "operations.address"}
		}
		assert.Equal(t, want, exposed(cfg), address)
		cfg.HTTP.TLS, cfg.Operations.TLS = TLS{"c", "k"}, TLS{"c", "k"}
		assert.Empty(t, exposed(cfg), address)
	}
	cfg.HTTP = HTTP{Address: ":8080", BehindProxy: true}
	require.Len(t, cfg.Exposures(), 1)
	assert.Contains(t, cfg.Exposures()[0].Problem, "between the proxy and the gateway")
}

// The rules of production about what goes over the network, and about keys that can be guessed.
func TestProductionRefusesWhatGivesSecretsAway(t *testing.T) {
	production := func(redis, whsec string) string {
		return edited(t, "environment: playground\n", "store: {redis: '"+redis+"'}\n",
			"name: Demo range", "name: Demo range\n    insecure_links: true\n    webhook: {url: 'https://h', "+
				"secrets: ["+whsec+"]}",
			"Lane 1,", "Lane 1, link: {driver: websocket, address: 'ws://h/1'},", "Lane 2,",
			"Lane 2, link: {driver: websocket, address: 'ws://h/2'},")
	}
	const inTheClear = "store.redis: would send its password to another host in the clear: wants rediss://, or " +
		"a Redis at a loopback address"
	for redis, refused := range map[string]bool{
		"redis://:planted@10.0.0.5:6379/0":                          true,
		"redis://u:planted@cache":                                   true,
		"redis://:planted@127.0.0.1?addr=10.0.0.5:6379":             true,
		"redis://cache?master_name=m&sentinel_password=planted":     true,
		"redis://:planted@127.0.0.1:6379":                           false,
		"redis://:planted@[::1]?addr=localhost:6380":                false,
		"redis://:planted@LOCALHOST":                                false,
		"rediss://:planted@10.0.0.5:6379":                           false,
		"redis://localhost?master_name=m&sentinel_password=planted": false,
	} {
		_, err := Parse([]byte(production(redis, PlaygroundSecret)), nil)
		if !refused {
			assert.NoError(t, err, redis)
			continue
		}
		assert.Equal(t, []string{inTheClear}, faultsOf(t, err), redis)
		playful := "environment: playground\n" + production(redis, PlaygroundSecret)
		_, err = Parse([]byte(playful), nil)
		assert.NoError(t, err, "the playground: %s", redis)
	}
	const open = "store.redis: is read and written on another host without password and TLS: wants rediss:// and " +
		"a password, a Redis at a loopback address, or store.insecure: true"
	const unchecked = "store.redis: may be whatever answers on another host, as skip_verify checks no certificate: " +
		"wants a certificate that the machine trusts, or store.insecure: true"
	const nobody = "store.redis: is read and written on another host without password: wants one, or " +
		"store.insecure: true"
	for redis, fault := range map[string]string{
		"rediss://10.0.0.5:6379":                            nobody,
		"rediss://u@10.0.0.5:6379":                          nobody,
		"redis://10.0.0.5:6379":                             open,
		"redis://u@10.0.0.5:6379":                           open,
		"redis://127.0.0.1?addr=10.0.0.5:6379":              open,
		"rediss://:planted@10.0.0.5:6379?skip_verify=true":  unchecked,
		"rediss://10.0.0.5:6379?skip_verify=true":           unchecked,
		"redis://:planted@10.0.0.5:6379":                    inTheClear,
		"rediss://:planted@10.0.0.5:6379?skip_verify=false": "",
		"rediss://:planted@127.0.0.1?skip_verify=true":      "",
		"redis://127.0.0.1:6379":                            "",
	} {
		text := production(redis, PlaygroundSecret)
		insecure := strings.Replace(text, "store: {", "store: {insecure: true, ", 1)
		cfg, err := Parse([]byte(insecure), nil)
		assert.NoError(t, err, "said: %s", redis)
		assert.Equal(t, fault != "", slices.Contains(exposed(cfg), "store.insecure"), redis)
		assert.Equal(t, fault == "", slices.Contains(cfg.Unused(), "store.insecure"), redis)
		if _, err = Parse([]byte(text), nil); fault == "" {
			assert.NoError(t, err, redis)
			continue
		}
		assert.Equal(t, []string{fault}, faultsOf(t, err), redis)
	}
	const short = "ranges[0].webhook.secrets[0]: wants at least 24 bytes behind whsec_ in production, such as " +
		"openssl rand -base64 32 makes"
	_, err := Parse([]byte(production("redis://localhost", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=")), nil)
	assert.Equal(t, []string{short}, faultsOf(t, err), "23 bytes")
	_, err = Parse([]byte(production("redis://localhost", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz")), nil)
	assert.NoError(t, err, "24 bytes")
}
