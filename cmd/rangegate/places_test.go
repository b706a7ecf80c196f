package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway"
)

// Lines and columns are known of what is found after the reading of a configuration that keeps every rule: of a
// setting without effect, of what is left open, and of certificates. What a variable has set has its name. check
// --offline, the pre-flight, the log of a start and the error of one that fails say the same.
func TestWhatIsFoundAfterTheReadingHasItsPlace(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("rangegate.yaml", []byte(`environment: production
store: {sqlite: rangegate.db}
http: {address: "127.0.0.1:0", tls: {certificate: c.pem, key: k.pem}}
operations:
  address: "10.255.255.254:9090"
  token: 5ec2e700-0000-4000-8000-000000000001
ranges:
  - id: 11111111-1111-4111-8111-111111111111
    name: Range
    token: 22222222-2222-4222-8222-222222222222
    purchasing: true
    link_tls: {ca: nowhere.pem}
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes:
      - id: 44444444-4444-4444-8444-000000000001
        name: Lane 1
        bay: 55555555-5555-4555-8555-000000000001
        link: {driver: websocket, address: 'wss://192.0.2.1', key: W3V5aB0nq7oXr2kTQmJx9eLcYd4sHf6uPZgA1iEwN8M}
`), 0o600))
	require.NoError(t, os.Chmod("rangegate.yaml", 0o644)) // the umask of whoever runs the test
	type command interface{ Run(*terminal) error }
	play := func(c command, environ ...string) (string, error) {
		var out, log strings.Builder
		err := c.Run(&terminal{ctx: t.Context(), environ: environ, out: &out, log: &log})
		return log.String(), err
	}

	said, err := play(check{Config: "rangegate.yaml", Offline: true})
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(said), "\n")
	require.Len(t, lines, 3, said)
	require.Equal(t, "ranges[0].purchasing: has no effect (rangegate.yaml:11:17)", lines[0])
	require.Regexp(t, `^operations\.address is plain HTTP: .+ \(rangegate\.yaml:5:12\)$`, lines[1])
	require.Regexp(t, `^rangegate\.yaml can be read .+; chmod o= rangegate\.yaml$`, lines[2], "it has no place in itself")

	said, err = play(check{Config: "rangegate.yaml"}, "RANGEGATE_HTTP_TLS_CERTIFICATE=other.pem")
	require.ErrorContains(t, err, "the pre-flight failed")
	for _, finding := range []string{
		`warn +configuration +ranges\[0\]\.purchasing has no effect \(rangegate\.yaml:11:17\)`,
		`warn +configuration +operations\.address is plain HTTP: [^()]+ \(rangegate\.yaml:5:12\)`,
		`warn +configuration +rangegate\.yaml can be read [^()]+`,
		`FAIL +http\.tls +certificate: open other\.pem: no such file or directory \(RANGEGATE_HTTP_TLS_CERTIFICATE\)`,
		`FAIL +controllers +ranges\[0\]\.link_tls\.ca: open nowhere\.pem: no such file or directory ` +
			`\(rangegate\.yaml:12:20\)`,
	} {
		require.Regexp(t, regexp.MustCompile(`(?m)^`+finding+`$`), said)
	}

	said, err = play(serve{Config: "rangegate.yaml"})
	require.Regexp(t, `"path":"ranges\[0\]\.purchasing","at":"rangegate\.yaml:11:17",.*"configured, and has no effect"`, said)
	require.Regexp(t, `"path":"operations\.address","at":"rangegate\.yaml:5:12","remedy":`, said)
	require.ErrorAs(t, err, &gateway.Misconfigured{})
	require.EqualError(t, err, "http.tls.certificate: open c.pem: no such file or directory (rangegate.yaml:3:51)")
}
