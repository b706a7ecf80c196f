package preflight

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/config"
)

func TestAFreeAddress(t *testing.T) {
	requireOK(t, address(t.Context(), "http", "127.0.0.1:0", config.TLS{}))
	requireOK(t, address(t.Context(), "http", "localhost:0", config.TLS{}))
}

func TestAnAddressInUseByAnotherProgram(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	f := requireOne(t, address(t.Context(), "operations", other.Listener.Addr().String(), config.TLS{}), Fail)
	require.Equal(t, "operations.address", f.What)
	comm, err := os.ReadFile("/proc/self/comm")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%s is in use by %s (pid %d)", other.Listener.Addr(), strings.TrimSpace(string(comm)), os.Getpid()), f.Found)

	silent, err := net.Listen("tcp", "127.0.0.1:0") // never answers
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	limited, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.Contains(t, requireOne(t, address(limited, "http", silent.Addr().String(), config.TLS{}), Fail).Found, "is in use by ")
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
		all := address(t.Context(), "http", gateway.Listener.Addr().String(), config.TLS{})
		requireOK(t, all)
		require.Contains(t, all[0].Found, "a gateway answers at")
	}
}

func TestAnAddressOfAnotherMachine(t *testing.T) {
	f := requireOne(t, address(t.Context(), "http", "192.0.2.1:0", config.TLS{}), Fail)
	require.Equal(t, "192.0.2.1:0 is no address of this machine", f.Found)
}

// served returns the findings of a certificate.
func served(t *testing.T, p certificatetest.Pair) ([]Finding, config.TLS) {
	var files config.TLS
	files.Certificate, files.Key = p.Files(t)
	return address(t.Context(), "http", "127.0.0.1:0", files), files
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
	require.Contains(t, text(address(t.Context(), "http", "127.0.0.1:0", files)), "warn: "+files.Key+" can be read by everybody")
}

func TestAKeyOfAnotherCertificate(t *testing.T) {
	_, files := served(t, certificatetest.Issue(t, time.Hour))
	_, another := served(t, certificatetest.Issue(t, time.Hour))
	f := requireOne(t, address(t.Context(), "http", "127.0.0.1:0", config.TLS{Certificate: files.Certificate, Key: another.Key}), Fail)
	require.Contains(t, f.Found, another.Key+" is not the key of the certificate in "+files.Certificate)
}
