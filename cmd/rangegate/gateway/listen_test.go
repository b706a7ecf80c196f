package gateway

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rangegate/api/request"
	"rangegate/cmd/rangegate/certificate"
	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/config"
)

// Every accepted connection ends when its other end acknowledges nothing.
func TestUnacknowledgedConnectionsEnd(t *testing.T) {
	listener, err := listenTCP("127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	client, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	accepted, err := listener.Accept()
	require.NoError(t, err)
	defer func() { _ = accepted.Close() }()
	socket, err := accepted.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var limit int
	require.NoError(t, socket.Control(func(fd uintptr) {
		limit, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}))
	require.NoError(t, err)
	require.Equal(t, int(unacknowledgedTimeout.Milliseconds()), limit)
}

// A stranger who cancels requests, or makes many, is cut off; whoever has credentials is not, and has one connection.
func TestAConnectionOfHTTP2EndsAfterTooManyRequestsOfAStranger(t *testing.T) {
	for name, client := range map[string]struct {
		path        string
		requests    int
		connections int
	}{
		"refused, a few":          {"/refused", maxStrangersRequests - 1, 1},
		"refused, too many":       {"/refused", maxStrangersRequests + 1, 2},
		"cancelled, a few":        {"/hangs", maxStrangersCancelled - 1, 1},
		"cancelled, too many":     {"/hangs", maxStrangersCancelled + 1, 2},
		"accepted":                {"/accepted", maxStrangersRequests + 1, 1},
		"accepted, and cancelled": {"/hangs-accepted", maxStrangersCancelled + 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{})
			mux := http.NewServeMux()
			hang := func(r *http.Request) {
				began <- struct{}{}
				<-r.Context().Done()
			}
			mux.HandleFunc("/refused", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusUnauthorized)
			})
			mux.HandleFunc("/accepted", func(_ http.ResponseWriter, r *http.Request) {
				request.Authenticated(r.Context())
			})
			mux.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) { hang(r) })
			mux.HandleFunc("/hangs-accepted", func(_ http.ResponseWriter, r *http.Request) {
				request.Authenticated(r.Context())
				hang(r)
			})
			url, transport := serveTLS(t, mux)
			connections := 0
			trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
				if !got.Reused {
					connections++
				}
			}}
			ask := func(path string) {
				ctx, cancel := context.WithCancel(httptrace.WithClientTrace(t.Context(), trace))
				defer cancel()
				if strings.HasPrefix(path, "/hangs") {
					go func() {
						<-began
						cancel()
					}()
				}
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
				require.NoError(t, err)
				if response, err := transport.RoundTrip(r); err == nil {
					require.Equal(t, 2, response.ProtoMajor)
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			}
			for range client.requests {
				ask(client.path)
			}
			next := "/accepted"
			if client.connections > 1 {
				// the gateway hears of the last one a little later, and would forgive all of them until then
				next = "/refused"
			}
			require.Eventually(t, func() bool {
				ask(next)
				return connections == client.connections
			}, time.Minute, time.Millisecond)
			require.Equal(t, client.connections, connections)
		})
	}
}

// One connection has a hundred requests under way at most: a client with more makes another one, which counts against
// its address.
func TestAConnectionOfHTTP2HasABoundedNumberOfRequests(t *testing.T) {
	var mu sync.Mutex
	underWay := map[string]int{} // by connection
	began, release := make(chan struct{}, 2*maxStreams), make(chan struct{})
	url, transport := serveTLS(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		request.Authenticated(r.Context())
		mu.Lock()
		underWay[r.RemoteAddr]++
		mu.Unlock()
		began <- struct{}{}
		<-release
	}))
	var clients sync.WaitGroup
	for range maxStreams + 20 {
		clients.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if !assert.NoError(t, err) {
				return
			}
			if response, err := transport.RoundTrip(r); assert.NoError(t, err) {
				_ = response.Body.Close()
			}
		})
	}
	for range maxStreams + 20 {
		<-began
	}
	mu.Lock()
	for connection, requests := range underWay {
		require.LessOrEqual(t, requests, maxStreams, connection)
	}
	require.Greater(t, len(underWay), 1)
	mu.Unlock()
	close(release)
	clients.Wait()
}

// What is behind a request with two lengths is read as no request: a proxy may have read it as a part of the
// one before.
func TestAConnectionEndsWithARequestThatHasTwoLengths(t *testing.T) {
	served := make(chan string, 2)
	url := serveOver(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		served <- r.URL.Path
	}), nil)
	connection, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	_, err = fmt.Fprint(connection, "POST /first HTTP/1.1\r\nHost: gateway\r\nContent-Length: "+
		"4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+
		"GET /smuggled HTTP/1.1\r\nHost: gateway\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, connection.SetReadDeadline(time.Now().Add(time.Minute)))
	text, err := io.ReadAll(bufio.NewReader(connection))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "HTTP/1.1 "), "%s", text)
	require.Contains(t, string(text), "Connection: close")
	require.Equal(t, "/first", <-served)
	require.Empty(t, served)
}

// serveTLS serves the handler over TLS, and returns a client that trusts it.
func serveTLS(t *testing.T, handler http.Handler) (url string, client *http.Transport) {
	pair := certificatetest.Issue(t, time.Hour)
	var files config.TLS
	files.Certificate, files.Key = pair.Files(t)
	watcher, err := certificate.Watch("http", files, certificate.NewMetrics(prometheus.NewRegistry()), zerolog.Nop())
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(pair.Certificate))
	client = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(client.CloseIdleConnections)
	return serveOver(t, handler, watcher), client
}

func serveOver(t *testing.T, handler http.Handler, watcher *certificate.Watcher) (url string) {
	s, err := listen("127.0.0.1:0", handler, listening{
		tls: watcher, metrics: newConnectionMetrics(prometheus.NewRegistry()), log: zerolog.Nop(), open: listenTCP,
		failed: make(chan error, 1),
	})
	require.NoError(t, err)
	t.Cleanup(func() { s.close(time.Second) })
	return s.url
}
