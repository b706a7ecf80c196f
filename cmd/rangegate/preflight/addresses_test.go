package preflight

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/config"
)

func TestAFreeAddress(t *testing.T) {
	requireOK(t, Settings{}.address(t.Context(), "http", "127.0.0.1:0", config.TLS{}))
	requireOK(t, Settings{}.address(t.Context(), "http", "localhost:0", config.TLS{}))
}

func TestAnAddressInUseByAnotherProgram(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	all := Settings{}.address(t.Context(), "operations", other.Listener.Addr().String(), config.TLS{})
	f := requireOne(t, all, Fail)
	require.Equal(t, "operations.address", f.What)
	require.Equal(t, other.Listener.Addr().String()+" is in use by another program", f.Found)

	silent, err := net.Listen("tcp", "127.0.0.1:0") // never answers
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	limited, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	all = Settings{}.address(limited, "http", silent.Addr().String(), config.TLS{})
	require.Contains(t, requireOne(t, all, Fail).Found,
		"is in use by another program")
}

// A gateway at the address, with or without TLS, is no failure: check may run beside it.
func TestAnAddressInUseByAGateway(t *testing.T) {
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("trace-id", "4bf92f3577b34da6a3ce929d0e0e4736")
		w.WriteHeader(http.StatusNotFound)
	})
	plain, secured := httptest.NewServer(answers), withoutLog(httptest.NewUnstartedServer(answers))
	defer plain.Close()
	secured.StartTLS()
	defer secured.Close()
	for _, gateway := range []*httptest.Server{plain, secured} {
		all := Settings{}.address(t.Context(), "http", gateway.Listener.Addr().String(), config.TLS{})
		requireOK(t, all)
		require.Contains(t, all[0].Found, "a gateway answers at")
	}
}

func TestAnAddressOfAnotherMachine(t *testing.T) {
	f := requireOne(t, Settings{}.address(t.Context(), "http", "192.0.2.1:0", config.TLS{}), Fail)
	require.Equal(t, "192.0.2.1:0 is no address of this machine", f.Found)
}

// served returns the findings of a certificate.
func served(t *testing.T, p certificatetest.Pair) ([]Finding, config.TLS) {
	var files config.TLS
	files.Certificate, files.Key = p.Files(t)
	return Settings{}.address(t.Context(), "http", "127.0.0.1:0", files), files
}

func TestASelfSignedCertificate(t *testing.T) {
	all, _ := served(t, certificatetest.Issue(t, 60*24*time.Hour+time.Minute))
	require.Contains(t, text(all), "ok: for localhost, 127.0.0.1, until ")
	require.Contains(t, text(all), ": 60 days left")
	require.Contains(t, requireOne(t, all, Warn).Found, "is signed by no authority that this machine trusts")
}

func TestACertificateNearItsExpiry(t *testing.T) {
	all, _ := served(t, certificatetest.Issue(t, 13*24*time.Hour+time.Minute))
	require.Contains(t, text(all), "warn: for localhost, 127.0.0.1, until ")
	require.Contains(t, text(all), ": 13 days left")
}

func TestAnExpiredCertificate(t *testing.T) {
	all, files := served(t, certificatetest.Issue(t, -time.Hour))
	f := requireOne(t, all, Fail)
	require.Equal(t, "http.tls", f.What)
	require.Contains(t, f.Found, files.Certificate+": it expired on ")
}

func TestAWorldReadableKey(t *testing.T) {
	_, files := served(t, certificatetest.Issue(t, 60*24*time.Hour))
	require.NoError(t, os.Chmod(files.Key, 0o644))
	require.Contains(t, text(Settings{}.address(t.Context(), "http", "127.0.0.1:0", files)), "warn: "+files.Key+
		" can be read by everybody")
}

func TestAKeyOfAnotherCertificate(t *testing.T) {
	_, files := served(t, certificatetest.Issue(t, time.Hour))
	_, another := served(t, certificatetest.Issue(t, time.Hour))
	f := requireOne(t, Settings{}.address(t.Context(), "http", "127.0.0.1:0",
		config.TLS{Certificate: files.Certificate, Key: another.Key}), Fail)
	require.Contains(t, f.Found, another.Key+" is not the key of the certificate in "+files.Certificate)
}

// node returns what is found of a node that is reached at the host.
func node(t *testing.T, address, host string, pair, authority certificatetest.Pair) []Finding {
	n := &config.Nodes{Name: "a", Address: address, Advertise: host + ":8083"}
	n.TLS.Certificate, n.TLS.Key = pair.Files(t)
	n.TLS.CA = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(n.TLS.CA, authority.Certificate, 0o600))
	return Settings{Config: config.Config{Nodes: n}}.nodes(t.Context())
}

func TestTheCertificateOfANode(t *testing.T) {
	ca, another := certificatetest.Issue(t, 60*24*time.Hour), certificatetest.Issue(t, 60*24*time.Hour)
	requireOK(t, node(t, "127.0.0.1:0", "a.example", ca.Sign(t, "a.example"), ca))
	f := requireOne(t, node(t, "127.0.0.1:0", "b.example", ca.Sign(t, "a.example"), ca), Fail)
	require.Equal(t, "nodes.tls", f.What)
	require.Contains(t, f.Found, "the other nodes refuse ")
	require.Contains(t, f.Found, "as that of the server at b.example")
	all := text(node(t, "127.0.0.1:0", "a.example", another.Sign(t, "a.example"), ca))
	require.Contains(t, all, "as that of the server at a.example: x509: certificate signed by unknown authority")
	require.Contains(t, all, "as that of a client: x509: certificate signed by unknown authority")
	missing := &config.Nodes{Address: "127.0.0.1:0", TLS: config.NodesTLS{
		Certificate: "missing.pem",
		Key:         "missing.pem", CA: "missing.pem",
	}}
	require.Contains(t, requireOne(t, Settings{Config: config.Config{Nodes: missing}}.nodes(t.Context()), Fail).Found,
		"open missing.pem")
}

// The gateway at the address talks to nodes alone.
func TestTheAddressOfANodeThatRuns(t *testing.T) {
	ca := certificatetest.Issue(t, 60*24*time.Hour)
	pair := ca.Sign(t, "127.0.0.1")
	own, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	authorities := x509.NewCertPool()
	require.True(t, authorities.AppendCertsFromPEM(ca.Certificate))
	running := withoutLog(httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("trace-id", "4bf92f3577b34da6a3ce929d0e0e4736")
	})))
	running.TLS = &tls.Config{
		Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: authorities,
	}
	running.StartTLS()
	defer running.Close()
	all := node(t, running.Listener.Addr().String(), "127.0.0.1", pair, ca)
	requireOK(t, all)
	require.Contains(t, all[0].Found, "a gateway answers at")
}
