package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api"
	"rangegate/cmd/rangegate/certificate/certificatetest"
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

// The certificate is renewed while a control screen is open: its stream goes on, and new connections get the new one. The
// stream is on one connection of HTTP/2, and ends properly when the gateway stops.
func TestTheCertificateIsRenewedUnderAnOpenScreen(t *testing.T) {
	first, second := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, 2*time.Hour)
	var files, own config.TLS
	files.Certificate, files.Key = first.Files(t)
	own.Certificate, own.Key = first.Files(t)
	g := startGateway(t, t.TempDir(), func(c *config.Config) { c.HTTP.TLS, c.Operations.TLS = files, own })
	require.True(t, strings.HasPrefix(g.url, "https://") && strings.HasPrefix(g.operations, "https://"))

	before := trustingClient(t, first)
	signIn := g.requestVia(before, "POST", g.url+"/control/sign-in", `{"range_id":"11111111-1111-4111-8111-111111111111","name":"sam","pin":"1234"}`, nil)
	require.Equal(t, http.StatusNoContent, signIn.status)
	require.Equal(t, 2, signIn.protoMajor)
	require.True(t, signIn.cookies[0].Secure)
	stream := g.requestVia(before, "GET", g.url+"/control/stream", "", signIn.cookies[0])
	require.Equal(t, http.StatusOK, stream.status)
	require.Equal(t, 2, stream.protoMajor)
	events := bufio.NewScanner(stream.body)
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
		connection, err := tls.Dial("tcp", strings.TrimPrefix(g.url, "https://"), trustingClient(t, second).TLSClientConfig)
		if err != nil {
			return false
		}
		defer func() { _ = connection.Close() }()
		return connection.ConnectionState().Version == tls.VersionTLS13
	}, 30*time.Second, 100*time.Millisecond)
	waitFor("beat") // of the stream that was there before
	require.Equal(t, http.StatusOK, g.requestVia(before, "GET", g.url+"/api/v2/pos/openapi.json", "", nil).status)

	metrics := g.requestVia(before, "GET", g.operations+"/metrics", "", nil)
	text, err := io.ReadAll(metrics.body)
	require.NoError(t, err)
	for address, until := range map[string]time.Time{"http": second.Expires, "operations": first.Expires} {
		require.Contains(t, string(text), fmt.Sprintf("rangegate_tls_certificate_expiry_timestamp_seconds{address=%q} %g\n", address, float64(until.Unix())))
	}

	g.stopAndWait()
	rest, err := io.ReadAll(stream.body)
	require.NoError(t, err, "cut off behind %s", rest)
}

// TLS 1.1 is refused, and the failed handshake is a line of the log.
func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	before := zerolog.GlobalLevel() // set by the gateway of another test
	zerolog.SetGlobalLevel(zerolog.DebugLevel)
	defer zerolog.SetGlobalLevel(before)
	p := certificatetest.Issue(t, time.Hour)
	var files config.TLS
	files.Certificate, files.Key = p.Files(t)
	watched, err := watchCertificates(config.Config{HTTP: config.HTTP{TLS: files}}, prometheus.NewRegistry(), zerolog.Nop())
	require.NoError(t, err)
	defer watched.close()
	require.NoError(t, watched.reload())
	require.Nil(t, watched.operations)
	read, log := io.Pipe()
	registry := prometheus.NewRegistry()
	s, err := listen("127.0.0.1:0", http.NotFoundHandler(), listening{
		tls: watched.http, metrics: newConnectionMetrics(registry), malformed: api.Malformed(api.NewTraffic(registry), zerolog.Nop()),
		log: zerolog.New(log),
	})
	require.NoError(t, err)
	defer s.close(time.Second)
	_, err = tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	require.ErrorContains(t, err, "protocol version")
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `{"level":"debug","from":"127.0.0.1:`)
	require.Contains(t, line, `"message":"TLS handshake error"`)
}

// The faults of both addresses' files are reported together, and exit with 2.
func TestUnusableCertificateFilesStopTheStart(t *testing.T) {
	one, another := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, time.Hour)
	certificate, _ := one.Files(t)
	_, key := another.Files(t)
	cfg := config.Config{
		HTTP:       config.HTTP{TLS: config.TLS{Certificate: certificate, Key: key}},
		Operations: config.Operations{TLS: config.TLS{Certificate: certificate, Key: "nowhere.pem"}},
	}
	_, err := watchCertificates(cfg, prometheus.NewRegistry(), zerolog.Nop())
	require.ErrorAs(t, err, &misconfigured{})
	require.ErrorContains(t, err, "http.tls.key: "+key+" is not the key of the certificate in "+certificate)
	require.ErrorContains(t, err, "operations.tls.key: open nowhere.pem: no such file or directory")
	require.NotContains(t, err.Error(), string(bytes.TrimSpace(another.Key)))
}
