package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/webhook/egress"
)

// A connection that was kept breaks when the next event is on it. net/http likes to send such a request again.
func TestAnEventOnAConnectionThatBreaksIsNotSentAgain(t *testing.T) {
	for name, breakOff := range map[string]func(net.Conn, *bufio.Reader){
		"when it begins to arrive":   func(net.Conn, *bufio.Reader) {},
		"when it has arrived":        func(_ net.Conn, from *bufio.Reader) { _ = readRequest(from) },
		"when it has arrived, reset": func(conn net.Conn, from *bufio.Reader) { _ = readRequest(from); reset(conn) },
		"when the answer has not begun": func(conn net.Conn, from *bufio.Reader) {
			_ = readRequest(from)
			_,
				_ = io.WriteString(conn, "HT")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var arrived atomic.Int32
			address := startRawReceiver(t, listen(t), func(conn net.Conn) {
				from := bufio.NewReader(conn)
				if _, err := from.Peek(1); err != nil {
					return
				}
				arrived.Add(1)
				if readRequest(from) != nil {
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
				if _, err := from.Peek(1); err == nil {
					arrived.Add(1)
					breakOff(conn, from)
				}
			})
			client := newClient(t, "http://"+address)
			for i := range int32(10) {
				require.Empty(t, attempt(t, client).Error, "on a new connection")
				require.Equal(t, connectionBroke, attempt(t, client).Error, "on the same")
				require.Equal(t, 2*(i+1), arrived.Load(), "each event once")
			}
		})
	}
}

// The receiver ends a connection that it said it would keep. That may cross the next event, which it gets all the same.
func TestAnEventThatCrossesTheEndOfAConnectionArrivesOnce(t *testing.T) {
	var (
		mu      sync.Mutex
		arrived = map[string]int{}
	)
	address := startRawReceiver(t, listen(t), func(conn net.Conn) {
		from := bufio.NewReader(conn)
		for first := true; ; first = false {
			request, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			mu.Lock()
			arrived[request.Header.Get("webhook-id")]++
			mu.Unlock()
			_, _ = io.Copy(io.Discard, request.Body)
			if first {
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
				_ = conn.(*net.TCPConn).CloseWrite()
			}
		}
	})
	client := newClient(t, "http://"+address)
	for range 100 {
		event := newEvent(lanes.CarrierHit)
		made, _ := client.Attempt(t.Context(), entry(event), false)
		mu.Lock()
		times := arrived["msg_"+event.ID.String()]
		mu.Unlock()
		require.LessOrEqual(t, times, 1)
		if made.Outcome() == "delivered" {
			require.Equal(t, 1, times)
		}
	}
}

// Over HTTP/2 net/http sends again what the receiver says it did not process; a receiver may be wrong about that.
func TestAnEventThatIsTurnedDownOverHTTP2IsNotSentAgain(t *testing.T) {
	const (
		goAway, rstStream            = 7, 3
		protocolError, refusedStream = 1, 7
	)
	secure := newReceiver(t, status(http.StatusOK))
	secure.StartTLS()
	for name, frame := range map[string]func(stream []byte) []byte{
		"refused":          func(stream []byte) []byte { return http2Frame(rstStream, stream, 0, 0, 0, refusedStream) },
		"a protocol error": func(stream []byte) []byte { return http2Frame(rstStream, stream, 0, 0, 0, protocolError) },
		"going away": func([]byte) []byte {
			return http2Frame(goAway, []byte{0, 0, 0, 0}, 0, 0, 0,
				0, 0, 0, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var arrived atomic.Int32
			listener := tls.NewListener(listen(t), &tls.Config{
				Certificates: secure.TLS.Certificates, NextProtos: []string{"h2"},
			})
			address := startRawReceiver(t, listener, func(conn net.Conn) {
				serveHTTP2(conn, frame, &arrived)
			})
			transport := egress.Transport(false, 1)
			t.Cleanup(transport.CloseIdleConnections)
			transport.TLSClientConfig.RootCAs = x509.NewCertPool()
			transport.TLSClientConfig.RootCAs.AddCert(secure.Certificate())

			made := attempt(t, newClient(t, "https://"+address, withTransport(transport)))
			require.Equal(t, connectionBroke, made.Error)
			require.EqualValues(t, 1, arrived.Load())
		})
	}
}

func TestAnEventGoesOverHTTP2WhereTheReceiverSpeaksIt(t *testing.T) {
	integrator := newReceiver(t, status(http.StatusOK))
	integrator.EnableHTTP2 = true
	integrator.StartTLS()
	transport := egress.Transport(false, 1)
	t.Cleanup(transport.CloseIdleConnections)
	transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	transport.TLSClientConfig.RootCAs.AddCert(integrator.Certificate())

	require.Empty(t, attempt(t, newClient(t, integrator.URL, withTransport(transport))).Error)
	require.Equal(t, "HTTP/2.0", integrator.requests()[0].proto)
}

// serveHTTP2 speaks as much of HTTP/2 as it takes to answer each whole request with that frame.
func serveHTTP2(conn net.Conn, frame func(stream []byte) []byte, arrived *atomic.Int32) {
	const (
		data, settings = 0, 4
		endOfStream    = 1
	)
	from := bufio.NewReader(conn)
	if _, err := from.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		return
	}
	_, _ = conn.Write(http2Frame(settings, []byte{0, 0, 0, 0}))
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		if _, err := from.Discard(int(binary.BigEndian.Uint32(head) >> 8)); err != nil {
			return
		}
		if head[3] == data && head[4] == endOfStream {
			arrived.Add(1)
			_, _ = conn.Write(frame(head[5:]))
		}
	}
}

func http2Frame(kind byte, stream []byte, payload ...byte) []byte {
	frame := append([]byte{0, 0, byte(len(payload)), kind, 0}, stream...)
	return append(frame, payload...)
}

// The way to the receiver is gone, and nothing says so. Without a sign of life the connection would be used for as
// long as the machine repeats what it had sent: a quarter of an hour, in which no event arrives.
func TestAnHTTP2ConnectionThatHasDiedIsLeft(t *testing.T) {
	secure := newReceiver(t, status(http.StatusOK))
	secure.StartTLS()
	transport := egress.Transport(false, 1)
	transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	transport.TLSClientConfig.RootCAs.AddCert(secure.Certificate())
	transport.TLSClientConfig.ServerName = "example.com"
	var connections, arrived atomic.Int32
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		connections.Add(1)
		ours, theirs := net.Pipe()
		go serveHTTP2(tls.Server(theirs, &tls.Config{
			Certificates: secure.TLS.Certificates,
			NextProtos:   []string{"h2"},
		}),
			func([]byte) []byte { return nil }, &arrived)
		return ours, nil
	}
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, "https://integrator.test", withTransport(transport), func(s *Settings) {
			s.Timeout = attemptTimeout
		})
		require.Equal(t, lanes.TimedOut, attempt(t, client).Error)
		time.Sleep(egress.PingAfter + egress.PingTimeout)
		require.Equal(t, lanes.TimedOut, attempt(t, client).Error)
		require.EqualValues(t, 2, arrived.Load())
		require.EqualValues(t, 2, connections.Load(), "the second event went over a new one")
		time.Sleep(egress.PingAfter + egress.PingTimeout)
	})
}
