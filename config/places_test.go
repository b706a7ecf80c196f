package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is found after the reading, such as a certificate that does not fit, has its place too.
func TestThePlacesOfAConfigurationWithoutFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = `environment: playground
http:
  address: 127.0.0.1:8080
  tls: &pair {certificate: c.pem, key: k.pem}
operations: {address: 127.0.0.1:9090, tls: *pair}
ranges:
  - id: 11111111-1111-4111-8111-111111111111
    name: Range
    purchasing: true
    link_tls: {ca: ca.pem}
    token: 22222222-2222-4222-8222-222222222222
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes: [{id: 44444444-4444-4444-8444-000000000001, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001}]
`
	environ := []string{"RANGEGATE_HTTP_TLS_KEY=other.pem"}
	for _, file := range []string{"rangegate.yaml", "http.yaml", filepath.Join(t.TempDir(), "ranges.yaml")} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		cfg, err := Load(file, environ)
		require.NoError(t, err)
		require.Equal(t, []string{"ranges[0].link_tls", "ranges[0].purchasing"}, cfg.Unused())
		places := PlacesIn(file, environ)
		for path, want := range map[string]string{
			"http.tls.certificate":       " (" + file + ":4:28)",
			"http.tls.key":               " (RANGEGATE_HTTP_TLS_KEY)",
			"operations.tls.certificate": " (" + file + ":4:28, through the alias at " + file + ":5:44)",
			"ranges[0].link_tls":         " (" + file + ":10:5)",
			"ranges[0].link_tls.ca":      " (" + file + ":10:20)",
			"ranges[0].purchasing":       " (" + file + ":9:17)",
			"ranges[0].webhook.secrets":  " (" + file + ":7:5)", // missing, so that of the range
			"nodes.tls.ca":               "",
			"":                           "",
			file:                         "",
		} {
			assert.Equal(t, want, places.Note(path), path)
		}
	}
}

// Places are asked for after a reading. A file that is another one or gone since is no fault, and has fewer places.
func TestThePlacesOfAFileThatHasChangedSince(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rangegate.yaml")
	assert.Empty(t, PlacesIn(file, nil).Note("http.tls.key"))
	places := PlacesIn(file, nil)
	for text, want := range map[string]string{
		"http: {tls: {key: k.pem}}": " (" + file + ":1:19)", // with faults of other settings
		"http: {tls: {key: k.pem}":  "",
		"":                          "",
		"- x":                       "",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		assert.Equal(t, want, PlacesIn(file, nil).Note("http.tls.key"), text)
	}
	require.NoError(t, os.WriteFile(file, []byte("http: {tls: {key: k.pem}}"), 0o600))
	assert.Equal(t, " ("+file+":1:19)", places.Note("http.tls.key"), "read when the first place is asked for")
	require.NoError(t, os.Remove(file))
	assert.Equal(t, " ("+file+":1:8)", places.Note("http.tls"), "and only then")
	assert.Empty(t, Places(nil).Note("http.tls.key"))
}
