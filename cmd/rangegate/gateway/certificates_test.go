package gateway

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors"
	"rangegate/actors/clock/clocktest"
	"rangegate/actors/metrics"
	"rangegate/api"
	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/config"
)

// TLS 1.1 is refused, and the failed handshake is a line of the log.
func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	before := zerolog.GlobalLevel() // set by the gateway of another test
	zerolog.SetGlobalLevel(zerolog.DebugLevel)
	defer zerolog.SetGlobalLevel(before)
	p := certificatetest.Issue(t, time.Hour)
	var files config.TLS
	files.Certificate, files.Key = p.Files(t)
	watched, err := watchCertificates(config.Config{HTTP: config.HTTP{TLS: files}},
		prometheus.NewRegistry(), zerolog.Nop())
	require.NoError(t, err)
	defer watched.close()
	_, err = watched.read()
	require.NoError(t, err)
	require.Nil(t, watched.operations)
	read, log := io.Pipe()
	registry := prometheus.NewRegistry()
	s, err := listen("127.0.0.1:0", http.NotFoundHandler(), listening{
		tls: watched.http, metrics: newConnectionMetrics(registry),
		log: zerolog.New(log), open: listenTCP, failed: make(chan error, 1),
	})
	require.NoError(t, err)
	defer s.close(time.Second)
	_, err = tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"),
		&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	require.ErrorContains(t, err, "protocol version")
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `{"level":"debug","message":"http: TLS handshake error from 127.0.0.1:`)
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
	require.ErrorAs(t, err, &Misconfigured{})
	require.ErrorContains(t, err, "http.tls.key: "+key+" is not the key of the certificate in "+certificate)
	require.ErrorContains(t, err, "operations.tls.key: open nowhere.pem: no such file or directory")
	require.NotContains(t, err.Error(), string(bytes.TrimSpace(another.Key)))
}

// A reload that is refused leaves the certificates in use, too: those of both addresses, whatever refuses it.
func TestARefusedReloadReplacesNoCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, 2*time.Hour)
		var files, own config.TLS
		files.Certificate, files.Key = first.Files(t)
		own.Certificate, own.Key = first.Files(t)
		before := config.Config{HTTP: config.HTTP{TLS: files}, Operations: config.Operations{TLS: own}}
		before.Ranges = []config.Range{{ID: uuid.New()}}
		next := before
		next.Ranges = nil // which does not run, so that it cannot end either
		registry := prometheus.NewRegistry()
		s := &Gateway{
			log: zerolog.Nop(), clock: clocktest.New(),
			read: func() (config.Config, error) { return next, nil },
		}
		s.ownership = newSingle(s, nil)
		s.actors = actors.NewGateway(s.clock, nil, metrics.New(registry), s.log)
		defer func() { require.NoError(t, s.actors.Stop(t.Context())) }()
		running, _, err := s.build(before, nil)
		require.NoError(t, err)
		s.current.Store(running)
		s.certificates, err = watchCertificates(before, registry, s.log)
		require.NoError(t, err)
		defer s.certificates.close()
		requireRefused := func(reason string) {
			_, err := s.tryReload(t.Context(), "operator", false)
			var refused interface{ Code() string }
			require.ErrorAs(t, err, &refused)
			require.Equal(t, reason, refused.Code())
			for _, watched := range []interface{ Leaf() *x509.Certificate }{
				s.certificates.http,
				s.certificates.operations,
			} {
				require.Equal(t, certificatetest.Block(first.Certificate), watched.Leaf().Raw)
			}
		}
		replace := func(files config.TLS) {
			certificatetest.Replace(t, files.Key, second.Key)
			certificatetest.Replace(t, files.Certificate, second.Certificate)
		}

		replace(files)
		certificatetest.Replace(t, own.Key, second.Key) // not the key of its certificate
		requireRefused(api.BadConfiguration)
		replace(own)
		requireRefused(api.ReloadFailed)
		next = before
		_, err = s.tryReload(t.Context(), "operator", false)
		require.NoError(t, err)
		require.Equal(t, certificatetest.Block(second.Certificate), s.certificates.http.Leaf().Raw)
		require.Equal(t, certificatetest.Block(second.Certificate), s.certificates.operations.Leaf().Raw)
	})
}
