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
	watched, err := watchCertificates(config.Config{HTTP: config.HTTP{TLS: files}}, nil,
		prometheus.NewRegistry(), zerolog.Nop())
	require.NoError(t, err)
	defer watched.close()
	_, err = watched.read(nil)
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

// placesIn are the places of these settings. None of another may be asked for.
func placesIn(t *testing.T, where map[string]config.Position) config.Places {
	return func(path string) config.Position {
		require.Contains(t, where, path)
		return where[path]
	}
}

func in(line, column int) config.Position {
	return config.Position{File: "f", Line: line, Column: column}
}

// The faults of both addresses' files are reported together, each with its place, and exit with 2.
func TestUnusableCertificateFilesStopTheStart(t *testing.T) {
	one, another := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, time.Hour)
	certificate, _ := one.Files(t)
	_, key := another.Files(t)
	cfg := config.Config{
		HTTP:       config.HTTP{TLS: config.TLS{Certificate: certificate, Key: key}},
		Operations: config.Operations{TLS: config.TLS{Certificate: certificate, Key: "nowhere.pem"}},
	}
	cfg.Controllers = &config.Controllers{TLS: config.TLS{Certificate: key, Key: key}}
	cfg.Nodes = &config.Nodes{}
	cfg.Nodes.TLS.Certificate, cfg.Nodes.TLS.Key = one.Files(t)
	cfg.Nodes.TLS.CA = key
	_, err := watchCertificates(cfg, placesIn(t, map[string]config.Position{
		"http.tls.key": in(1, 2), "operations.tls.key": in(3, 4), "controllers.tls.certificate": in(5, 6),
		"nodes.tls.ca": {Variable: "RANGEGATE_NODES_TLS_CA"},
	}), prometheus.NewRegistry(), zerolog.Nop())
	require.ErrorAs(t, err, &Misconfigured{})
	faults := strings.Split(err.Error(), "\n")
	require.Len(t, faults, 4)
	require.Contains(t, faults[0], "http.tls.key: "+key+" is not the key of the certificate in "+certificate)
	require.True(t, strings.HasSuffix(faults[0], " (f:1:2)"), faults[0])
	require.Equal(t, "operations.tls.key: open nowhere.pem: no such file or directory (f:3:4)", faults[1])
	require.Equal(t, "controllers.tls.certificate: "+key+": holds no PEM certificate (f:5:6)", faults[2])
	require.Equal(t, "nodes.tls.ca: "+key+" holds no PEM certificate (RANGEGATE_NODES_TLS_CA)", faults[3])
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
		s.settings.Places = func() config.Places {
			return placesIn(t, map[string]config.Position{"operations.tls.key": in(7, 8)})
		}
		s.ownership = newSingle(s, nil)
		s.actors = actors.NewGateway(s.clock, nil, metrics.New(registry), s.log)
		defer func() { require.NoError(t, s.actors.Stop(t.Context())) }()
		running, _, err := s.build(before, nil)
		require.NoError(t, err)
		s.current.Store(running)
		s.certificates, err = watchCertificates(before, nil, registry, s.log)
		require.NoError(t, err)
		defer s.certificates.close()
		requireRefused := func(reason, text string) {
			_, err := s.tryReload(t.Context(), "operator", false)
			var refused interface{ Code() string }
			require.ErrorAs(t, err, &refused)
			require.Equal(t, reason, refused.Code())
			require.Regexp(t, text, err.Error())
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
		requireRefused(api.BadConfiguration, `^operations\.tls\.key: .+ is not the key of .+ \(f:7:8\)$`)
		replace(own)
		requireRefused(api.ReloadFailed, "")
		next = before
		_, err = s.tryReload(t.Context(), "operator", false)
		require.NoError(t, err)
		require.Equal(t, certificatetest.Block(second.Certificate), s.certificates.http.Leaf().Raw)
		require.Equal(t, certificatetest.Block(second.Certificate), s.certificates.operations.Leaf().Raw)
	})
}
