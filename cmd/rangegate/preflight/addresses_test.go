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

func TestAnAddressThatIsFree(t *testing.T) {
	fine(t, address(t.Context(), "http", "127.0.0.1:0", config.TLS{}))
	fine(t, address(t.Context(), "http", "localhost:0", config.TLS{}))
}

func TestAnAddressThatAnotherProgramHas(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	f := one(t, address(t.Context(), "operations", other.Listener.Addr().String(), config.TLS{}), Fail)
	require.Equal(t, "operations.address", f.What)
	comm, err := os.ReadFile("/proc/self/comm")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%s is in use by %s (pid %d)", other.Listener.Addr(), strings.TrimSpace(string(comm)), os.Getpid()), f.Found)

	mute, err := net.Listen("tcp", "127.0.0.1:0") // says nothing at all
	require.NoError(t, err)
	defer mute.Close()
	inTime, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.Contains(t, one(t, address(inTime, "http", mute.Addr().String(), config.TLS{}), Fail).Found, "is in use by ")
}

// A gateway is known by what it answers, over TLS or not, and is no reason to fail: the check is for it too.
func TestAnAddressThatAGatewayHas(t *testing.T) {
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("trace-id", "4bf92f3577b34da6a3ce929d0e0e4736")
		w.WriteHeader(http.StatusNotFound)
	})
	plain, secured := httptest.NewServer(answers), quiet(httptest.NewUnstartedServer(answers))
	defer plain.Close()
	secured.StartTLS()
	defer secured.Close()
	for _, gateway := range []*httptest.Server{plain, secured} {
		all := address(t.Context(), "http", gateway.Listener.Addr().String(), config.TLS{})
		fine(t, all)
		require.Contains(t, all[0].Found, "a gateway answers at")
	}
}

func TestAnAddressThatIsNotOurs(t *testing.T) {
	f := one(t, address(t.Context(), "http", "192.0.2.1:0", config.TLS{}), Fail)
	require.Equal(t, "192.0.2.1:0 is no address of this machine", f.Found)
}

// served is the findings of a certificate.
func served(t *testing.T, p certificatetest.Pair) ([]Finding, config.TLS) {
	var files config.TLS
	files.Certificate, files.Key = p.Files(t)
	return address(t.Context(), "http", "127.0.0.1:0", files), files
}

func TestACertificateThatHasSignedItself(t *testing.T) {
	all, _ := served(t, certificatetest.Issue(t, 60*24*time.Hour+time.Minute))
	require.Contains(t, told(all), "ok: for localhost, 127.0.0.1, until ")
	require.Contains(t, told(all), ": 60 days left")
	require.Contains(t, one(t, all, Warn).Found, "is signed by nobody that this machine trusts")
}

func TestACertificateNearItsEnd(t *testing.T) {
	all, _ := served(t, certificatetest.Issue(t, 13*24*time.Hour+time.Minute))
	require.Contains(t, told(all), "warn: for localhost, 127.0.0.1, until ")
	require.Contains(t, told(all), ": 13 days left")
}

func TestACertificateThatHasExpired(t *testing.T) {
	all, files := served(t, certificatetest.Issue(t, -time.Hour))
	f := one(t, all, Fail)
	require.Equal(t, "http.tls", f.What)
	require.Contains(t, f.Found, files.Certificate+": it expired on ")
}

func TestAKeyThatEverybodyCanRead(t *testing.T) {
	_, files := served(t, certificatetest.Issue(t, 60*24*time.Hour))
	require.NoError(t, os.Chmod(files.Key, 0o644))
	require.Contains(t, told(address(t.Context(), "http", "127.0.0.1:0", files)), "warn: "+files.Key+" can be read by everybody")
}

func TestAKeyOfAnotherCertificate(t *testing.T) {
	_, files := served(t, certificatetest.Issue(t, time.Hour))
	_, another := served(t, certificatetest.Issue(t, time.Hour))
	f := one(t, address(t.Context(), "http", "127.0.0.1:0", config.TLS{Certificate: files.Certificate, Key: another.Key}), Fail)
	require.Contains(t, f.Found, another.Key+" is not the key of the certificate in "+files.Certificate)
}
