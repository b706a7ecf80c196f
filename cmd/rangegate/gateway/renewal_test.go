package gateway_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
)

// trustingClient returns a client that trusts these certificates, and uses HTTP/2 where it can.
func trustingClient(t *testing.T, pairs ...certificatetest.Pair) *http.Transport {
	pool := x509.NewCertPool()
	for _, p := range pairs {
		require.True(t, pool.AppendCertsFromPEM(p.Certificate))
	}
	client := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// The certificate is renewed while a control screen is open: its stream goes on, and new connections get the
// new one. The stream is on one connection of HTTP/2, and ends properly when the gateway stops.
func TestTheCertificateIsRenewedUnderAnOpenScreen(t *testing.T) {
	first, second := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, 2*time.Hour)
	var files, own config.TLS
	files.Certificate, files.Key = first.Files(t)
	own.Certificate, own.Key = first.Files(t)
	g := gatewaytest.Start(t, t.TempDir(), func(c *config.Config) { c.HTTP.TLS, c.Operations.TLS = files, own })
	require.True(t, strings.HasPrefix(g.URL, "https://") && strings.HasPrefix(g.Operations, "https://"))

	before := trustingClient(t, first)
	signIn := g.RequestVia(before, "POST", g.URL+"/control/sign-in",
		`{"range_id":"11111111-1111-4111-8111-111111111111","name":"sam","pin":"1234"}`, nil)
	require.Equal(t, http.StatusNoContent, signIn.Status)
	require.Equal(t, 2, signIn.ProtoMajor)
	require.True(t, signIn.Cookies[0].Secure)
	stream := g.RequestVia(before, "GET", g.URL+"/control/stream", "", signIn.Cookies[0])
	require.Equal(t, http.StatusOK, stream.Status)
	require.Equal(t, 2, stream.ProtoMajor)
	events := bufio.NewScanner(stream.Body)
	waitFor := func(event string) {
		t.Helper()
		for events.Scan() {
			if events.Text() == "event: "+event {
				return
			}
		}
		require.Fail(t, "the stream ended without "+event, events.Err())
	}
	waitFor("picture")

	certificatetest.Replace(t, files.Key, second.Key)
	certificatetest.Replace(t, files.Certificate, second.Certificate)
	require.Eventually(t, func() bool {
		connection, err := tls.Dial("tcp", strings.TrimPrefix(g.URL, "https://"),
			trustingClient(t, second).TLSClientConfig)
		if err != nil {
			return false
		}
		defer func() { _ = connection.Close() }()
		return connection.ConnectionState().Version == tls.VersionTLS13
	}, patience, 100*time.Millisecond)
	waitFor("beat") // of the stream that was there before
	require.Equal(t, http.StatusOK, g.RequestVia(before, "GET", g.URL+"/api/v2/pos/openapi.json", "", nil).Status)

	metrics := g.RequestVia(before, "GET", g.Operations+"/metrics", "", nil)
	text, err := io.ReadAll(metrics.Body)
	require.NoError(t, err)
	for address, until := range map[string]time.Time{"http": second.Expires, "operations": first.Expires} {
		require.Contains(t, string(text),
			fmt.Sprintf("rangegate_tls_certificate_expiry_timestamp_seconds{address=%q} %g\n", address,
				float64(until.Unix())))
	}

	g.Stop()
	rest, err := io.ReadAll(stream.Body)
	require.NoError(t, err, "cut off behind %s", rest)
}
