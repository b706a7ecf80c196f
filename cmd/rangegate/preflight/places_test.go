package preflight

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/config"
)

// Each finding of a certificate ends with the place of the setting that names its file; what is well has none.
func TestTheFindingsOfCertificatesHaveTheirPlaces(t *testing.T) {
	s := Settings{Places: func(path string) config.Position {
		return config.Position{File: path, Line: 1, Column: 2}
	}}
	requirePlaces := func(all []Finding, want ...string) {
		t.Helper()
		var found []string
		for _, f := range all {
			if f.Result == OK {
				require.NotContains(t, f.Found, "(")
				continue
			}
			require.Equal(t, 1, strings.Count(f.Found, ":1:2)"), f.Found)
			_, place, _ := strings.Cut(strings.TrimSuffix(f.Found, ":1:2)"), " (")
			found = append(found, place)
		}
		require.Equal(t, want, found, "%s", text(all))
	}
	served := func(certificate, key string) []Finding {
		return s.address(t.Context(), "http", "127.0.0.1:0", config.TLS{Certificate: certificate, Key: key})
	}
	lasting := certificatetest.Issue(t, 60*24*time.Hour)
	certificate, key := lasting.Files(t)
	_, another := certificatetest.Issue(t, time.Hour).Files(t)

	requirePlaces(served("nowhere.pem", key), "http.tls.certificate")
	requirePlaces(served(certificate, another), "http.tls.key")
	requirePlaces(served(certificate, key), "http.tls.certificate") // of no authority that this machine trusts
	require.NoError(t, os.Chmod(key, 0o644))
	requirePlaces(served(certificate, key), "http.tls.key", "http.tls.certificate")
	ending, itsKey := certificatetest.Issue(t, time.Hour).Files(t)
	requirePlaces(served(ending, itsKey), "http.tls.certificate", "http.tls.certificate")
	expired, itsKey := certificatetest.Issue(t, -time.Hour).Files(t)
	requirePlaces(served(expired, itsKey), "http.tls.certificate")
	nameless, itsKey := lasting.Sign(t).Files(t)
	requirePlaces(served(nameless, itsKey), "http.tls.certificate", "http.tls.certificate")

	n := &config.Nodes{Name: "a", Address: "127.0.0.1:0", Advertise: "b.example:8083"}
	n.TLS.Certificate, n.TLS.Key = lasting.Sign(t, "a.example").Files(t)
	n.TLS.CA = key
	s.Config.Nodes = n
	requirePlaces(s.nodes(t.Context()), "nodes.tls.ca")
	n.TLS.CA, _ = lasting.Files(t)
	requirePlaces(s.nodes(t.Context()), "nodes.tls.certificate") // is for another host
}

func TestPoorSettingsHaveTheirPlaces(t *testing.T) {
	all := Settings{
		Places: func(path string) config.Position { return config.Position{File: path, Line: 1, Column: 2} },
		Config: config.Config{
			HTTP: config.HTTP{BehindProxy: true}, Controllers: &config.Controllers{BehindProxy: true},
		},
	}.configuration(t.Context())
	require.Contains(t, text(all), "the proxy's (http.behind_proxy:1:2)\n")
	require.Contains(t, text(all), "the proxy's (controllers.behind_proxy:1:2)\n")
	require.Contains(t, text(all), "warn: controllers has no effect (controllers:1:2)\n")
}
