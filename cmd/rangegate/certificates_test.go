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

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/config"
)

// trusting is a client that trusts these certificates, and takes HTTP/2 where it can.
func trusting(t *testing.T, pairs ...certificatetest.Pair) *http.Transport {
	pool := x509.NewCertPool()
	for _, p := range pairs {
		require.True(t, pool.AppendCertsFromPEM(p.Certificate))
	}
	client := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// The certificate is renewed while a control screen is open: its stream goes on, and who connects from then on gets the new
// one. Everything is on one connection of HTTP/2, and ends in order when the gateway stops.
func TestTheCertificateIsRenewedUnderAnOpenScreen(t *testing.T) {
	first, second := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, 2*time.Hour)
	var files, own config.TLS
	files.Certificate, files.Key = first.Files(t)
	own.Certificate, own.Key = first.Files(t)
	l := begin(t, t.TempDir(), func(c *config.Config) { c.HTTP.TLS, c.Operations.TLS = files, own })
	require.True(t, strings.HasPrefix(l.url, "https://") && strings.HasPrefix(l.operations, "https://"))

	before := trusting(t, first)
	signedIn := l.askThrough(before, "POST", l.url+"/control/sign-in", `{"range_id":"11111111-1111-4111-8111-111111111111","name":"sam","pin":"1234"}`, nil)
	require.Equal(t, http.StatusNoContent, signedIn.StatusCode)
	require.Equal(t, 2, signedIn.ProtoMajor)
	require.True(t, signedIn.Cookies()[0].Secure)
	stream := l.askThrough(before, "GET", l.url+"/control/stream", "", signedIn.Cookies()[0])
	require.Equal(t, http.StatusOK, stream.StatusCode)
	require.Equal(t, 2, stream.ProtoMajor)
	told := bufio.NewScanner(stream.Body)
	hears := func(event string) {
		t.Helper()
		for told.Scan() {
			if told.Text() == "event: "+event {
				return
			}
		}
		require.Fail(t, "the stream ended without "+event, told.Err())
	}
	hears("picture")

	certificatetest.Replace(t, files.Key, second.Key)
	certificatetest.Replace(t, files.Certificate, second.Certificate)
	require.Eventually(t, func() bool {
		connection, err := tls.Dial("tcp", strings.TrimPrefix(l.url, "https://"), trusting(t, second).TLSClientConfig)
		if err != nil {
			return false
		}
		defer connection.Close()
		return connection.ConnectionState().Version == tls.VersionTLS13
	}, 30*time.Second, 100*time.Millisecond)
	hears("beat") // of the stream that was there before
	require.Equal(t, http.StatusOK, l.askThrough(before, "GET", l.url+"/api/v2/pos/openapi.json", "", nil).StatusCode)

	metrics := l.askThrough(before, "GET", l.operations+"/metrics", "", nil)
	text, err := io.ReadAll(metrics.Body)
	require.NoError(t, err)
	for address, until := range map[string]time.Time{"http": second.Expires, "operations": first.Expires} {
		require.Contains(t, string(text), fmt.Sprintf("rangegate_tls_certificate_expiry_timestamp_seconds{address=%q} %g\n", address, float64(until.Unix())))
	}

	l.end()
	rest, err := io.ReadAll(stream.Body)
	require.NoError(t, err, "cut off behind %s", rest)
}

// What is too old to be safe is not spoken, and what went wrong in a handshake is a line of the log like any other.
func TestOldVersionsOfTLSAreNotSpoken(t *testing.T) {
	before := zerolog.GlobalLevel() // as a gateway of another test has left it
	zerolog.SetGlobalLevel(zerolog.DebugLevel)
	defer zerolog.SetGlobalLevel(before)
	p := certificatetest.Issue(t, time.Hour)
	var files config.TLS
	files.Certificate, files.Key = p.Files(t)
	kept, err := keepCertificates(config.Config{HTTP: config.HTTP{TLS: files}}, prometheus.NewRegistry(), zerolog.Nop())
	require.NoError(t, err)
	defer kept.close()
	require.NoError(t, kept.reload())
	require.Nil(t, kept.operations)
	read, log := io.Pipe()
	s, err := listen("127.0.0.1:0", kept.http, http.NotFoundHandler(), zerolog.New(log))
	require.NoError(t, err)
	defer s.close(time.Second)
	_, err = tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	require.ErrorContains(t, err, "protocol version")
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `{"level":"debug","message":"http: TLS handshake error from 127.0.0.1`)
}

// What is wrong with the files of any address is said at once, and is for the operator to put right.
func TestFilesThatAreNoPairStopTheStart(t *testing.T) {
	one, another := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, time.Hour)
	certificate, _ := one.Files(t)
	_, key := another.Files(t)
	cfg := config.Config{
		HTTP:       config.HTTP{TLS: config.TLS{Certificate: certificate, Key: key}},
		Operations: config.Operations{TLS: config.TLS{Certificate: certificate, Key: "nowhere.pem"}},
	}
	_, err := keepCertificates(cfg, prometheus.NewRegistry(), zerolog.Nop())
	require.ErrorAs(t, err, &misconfigured{})
	require.ErrorContains(t, err, "http.tls.key: "+key+" is not the key of the certificate in "+certificate)
	require.ErrorContains(t, err, "operations.tls.key: open nowhere.pem: no such file or directory")
	require.NotContains(t, err.Error(), string(bytes.TrimSpace(another.Key)))
}
