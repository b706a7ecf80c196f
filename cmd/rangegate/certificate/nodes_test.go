package certificate_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate"
	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/config"
)

// nodeFiles writes the files of a node.
func nodeFiles(t *testing.T, pair certificatetest.Pair, authorities []byte) (files config.NodesTLS) {
	files.Certificate, files.Key = pair.Files(t)
	files.CA = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(files.CA, authorities, 0o600))
	return files
}

func watchNode(t *testing.T, files config.NodesTLS) *certificate.Watcher {
	watcher, err := certificate.WatchNodes(files, certificate.NewMetrics(prometheus.NewRegistry()), zerolog.Nop())
	require.NoError(t, err)
	t.Cleanup(watcher.Close)
	return watcher
}

// get sends a request to the node, whose listener and whose client have these configurations.
func get(t *testing.T, server, client *tls.Config) error {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "served")
	}))
	s.TLS = server
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	transport := &http.Transport{TLSClientConfig: client}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(s.URL)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "served", string(text))
	return nil
}

// Both sides of a connection between nodes show a certificate of the nodes' authority.
func TestNodesVerifyEachOther(t *testing.T) {
	ca, other := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, time.Hour)
	node := func(pair certificatetest.Pair, authority certificatetest.Pair) *certificate.Watcher {
		return watchNode(t, nodeFiles(t, pair, authority.Certificate))
	}
	a, b := node(ca.Sign(t, "127.0.0.1"), ca), node(ca.Sign(t, "b.example"), ca)
	require.NoError(t, get(t, a.Config(), b.ClientConfig("127.0.0.1")))

	require.ErrorContains(t, get(t, b.Config(), a.ClientConfig("127.0.0.1")), "127.0.0.1",
		"it is no certificate of that host")
	stranger := node(other.Sign(t, "127.0.0.1"), ca)
	require.ErrorContains(t, get(t, a.Config(), stranger.ClientConfig("127.0.0.1")), "certificate",
		"the client's is of another authority")
	require.ErrorContains(t, get(t, stranger.Config(), a.ClientConfig("127.0.0.1")), "unknown authority",
		"the server's is of another authority")
	without := a.ClientConfig("127.0.0.1")
	without.Certificates = nil
	require.ErrorContains(t, get(t, a.Config(), without), "certificate required")
	old := a.ClientConfig("127.0.0.1")
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	require.Error(t, get(t, a.Config(), old))
}

// A new authority counts for the next connection, like a new certificate.
func TestTheAuthoritiesOfNodesAreReadAnew(t *testing.T) {
	first, second := certificatetest.Issue(t, time.Hour), certificatetest.Issue(t, 2*time.Hour)
	files := nodeFiles(t, first.Sign(t, "127.0.0.1"), first.Certificate)
	a := watchNode(t, files)
	b := watchNode(t, nodeFiles(t, second.Sign(t, "127.0.0.1"), append(first.Certificate, second.Certificate...)))
	require.Error(t, get(t, a.Config(), b.ClientConfig("127.0.0.1")))

	certificatetest.Replace(t, files.CA, []byte("no certificate"))
	_, err := a.Read()
	require.ErrorContains(t, err, "ca: "+files.CA+" holds no PEM certificate")
	certificatetest.Replace(t, files.CA, append(first.Certificate, second.Certificate...))
	use, err := a.Read()
	require.NoError(t, err)
	require.Error(t, get(t, a.Config(), b.ClientConfig("127.0.0.1")), "it is not in use yet")
	use()
	require.NoError(t, get(t, a.Config(), b.ClientConfig("127.0.0.1")))
	require.NoError(t, get(t, b.Config(), a.ClientConfig("127.0.0.1")))
}

func TestFaultsOfTheFilesOfANode(t *testing.T) {
	ca := certificatetest.Issue(t, time.Hour)
	files := nodeFiles(t, ca.Sign(t, "a"), ca.Certificate)
	files.CA += ".missing"
	_, err := certificate.WatchNodes(files, certificate.NewMetrics(prometheus.NewRegistry()), zerolog.Nop())
	require.ErrorContains(t, err, "ca: open "+files.CA)
}
