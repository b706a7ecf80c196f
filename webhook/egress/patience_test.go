package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests run in fake time, so the connections are pipes.

// pipeTransport is a transport whose connections are pipes. serve gets the other end of each.
func pipeTransport(serve func(net.Conn)) *http.Transport {
	transport := Transport(false, 1)
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			serve(theirs)
			_ = theirs.Close()
		}()
		return ours, nil
	}
	return transport
}

// get makes one request and reads no more than the headers of its answer.
func get(t *testing.T, transport *http.Transport, url string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// answer gives each request the same answer, and sends the time at which the gateway closes the connection.
func answer(text string, closed chan<- time.Time) func(net.Conn) {
	return func(conn net.Conn) {
		from := bufio.NewReader(conn)
		for {
			if _, err := http.ReadRequest(from); err != nil {
				closed <- time.Now()
				return
			}
			_, _ = io.WriteString(conn, text)
		}
	}
}

// A name server that does not answer holds nobody up for longer than a host that does not.
func TestConnectingTakesNoLongerThanFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := net.DefaultResolver
		defer func() { net.DefaultResolver = system }()
		net.DefaultResolver = &net.Resolver{
			PreferGo: true,
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}
		begun := time.Now()
		require.Error(t, get(t, Transport(false, 1), "http://integrator.test."))
		require.LessOrEqual(t, time.Since(begun), 5*time.Second)
		require.Greater(t, time.Since(begun), time.Duration(0))
	})
}

func TestATLSHandshakeTakesNoLongerThanFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := get(t, pipeTransport(func(silent net.Conn) { _, _ = io.Copy(io.Discard, silent) }),
			"https://integrator.test")
		require.Equal(t, "no connection in time", Reason(err, ""))
		require.Equal(t, 5*time.Second, time.Since(begun))
	})
}

// Node.js closes a connection that nobody has used for 5 s. A request that crosses that would be lost.
func TestAnIdleConnectionIsClosedBeforeAServerClosesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan time.Time)
		transport := pipeTransport(answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", closed))
		for range 2 { // the second time over the same connection, else nobody would read that it is closed
			require.NoError(t, get(t, transport, "http://integrator.test"))
			time.Sleep(3 * time.Second)
		}
		begun := time.Now()
		require.Equal(t, begun.Add(time.Second), <-closed)
	})
}

func TestHeadersAreReadUpTo64KiB(t *testing.T) {
	for size, fits := range map[int]bool{60 << 10: true, 70 << 10: false} {
		synctest.Test(t, func(t *testing.T) {
			closed := make(chan time.Time, 1)
			transport := pipeTransport(answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: "+strings.Repeat("b", size)+
				"\r\n\r\n", closed))
			require.Equal(t, fits, get(t, transport, "http://integrator.test") == nil)
			transport.CloseIdleConnections()
			<-closed
		})
	}
}

// severed is a connection that loses everything that is written to it once gone is set.
type severed struct {
	net.Conn
	gone atomic.Bool
}

func (s *severed) Write(p []byte) (int, error) {
	if s.gone.Load() {
		return len(p), nil
	}
	return s.Conn.Write(p)
}

// Without a sign of life, a dead connection would be used for as long as the machine repeats what it had sent.
func TestADeadHTTP2ConnectionIsLeftAfter20Seconds(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan time.Time)
		transport := pipeTransport(func(conn net.Conn) {
			connection := &severed{Conn: conn}
			server := tls.Server(connection, &tls.Config{
				Certificates: certified.TLS.Certificates,
				NextProtos:   []string{"h2"},
			})
			_, _ = server.Read(make([]byte, 4096))                 // what a client begins with
			_, _ = server.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // its SETTINGS
			connection.gone.Store(true)
			_, _ = io.Copy(io.Discard, server)
			closed <- time.Now()
		})
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		transport.TLSClientConfig.RootCAs.AddCert(certified.Certificate())
		transport.TLSClientConfig.ServerName = "example.com"
		begun := time.Now()
		failed := make(chan error)
		go func() { failed <- get(t, transport, "https://integrator.test") }()
		require.Equal(t, 20*time.Second, (<-closed).Sub(begun))
		require.Error(t, <-failed)
	})
}
