package webhook

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/webhook/egress"
)

// These tests run in fake time, so the connections are pipes.

// attemptTimeout is the time-out of the attempts in these tests.
const attemptTimeout = 10 * time.Second

// pipeTransport is a transport with at most so many connections, each a pipe to that receiver.
func pipeTransport(connections int, receiver func(net.Conn, *bufio.Reader)) *http.Transport {
	transport := egress.Transport(false, connections)
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			from := bufio.NewReader(theirs)
			if readRequest(from) == nil {
				receiver(theirs, from)
			}
			_ = theirs.Close()
		}()
		return ours, nil
	}
	return transport
}

// attemptInFakeTime makes one attempt to deliver a purchaseRequest.
func attemptInFakeTime(t *testing.T, transport *http.Transport, check func(*testing.T, lanes.Attempt, lanes.Answer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer transport.CloseIdleConnections()
		made, answer := newTimedClient(t, transport).Attempt(t.Context(), entry(newEvent(lanes.PurchaseRequest)), false)
		check(t, made, answer)
	})
}

func newTimedClient(t *testing.T, transport *http.Transport) *Client {
	return newClient(t, "http://integrator.test", withTransport(transport), func(s *Settings) {
		s.Timeout = attemptTimeout
	})
}

// hang waits until the gateway closes the connection.
func hang(_ net.Conn, from *bufio.Reader) { _, _ = io.Copy(io.Discard, from) }

// drip sends the beginning, and then more every second until the gateway closes the connection.
func drip(says, more string) func(net.Conn, *bufio.Reader) {
	return func(conn net.Conn, from *bufio.Reader) {
		closed := make(chan struct{})
		go func() {
			hang(conn, from)
			close(closed)
		}()
		for _, err := io.WriteString(conn, says); err == nil; _, err = io.WriteString(conn, more) {
			select {
			case <-time.After(time.Second):
			case <-closed:
				return
			}
		}
	}
}

func TestAReceiverThatTakesTooLong(t *testing.T) {
	const chunk = "1\r\n \r\n"
	for name, tc := range map[string]struct {
		receiver func(net.Conn, *bufio.Reader)
		status   int
		error    string
		answer   lanes.Answer
	}{
		"it hang":          {hang, 0, lanes.TimedOut, lanes.Answer{}},
		"its headers drip": {drip("HTTP/1.1 200 OK\r\n", "A: b\r\n"), 0, lanes.TimedOut, lanes.Answer{}},
		"the body of its success drips": {
			drip("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "."), 200, "",
			lanes.Answer{},
		},
		"the body of its refusal drips": {
			drip("HTTP/1.1 402 No\r\nContent-Length: 99\r\n\r\n{", "."), 402,
			lanes.Refused,
			lanes.Answer{},
		},
		"its answer is whole but for its end": {
			drip("HTTP/1.1 402 No\r\nTransfer-Encoding: chunked\r\n\r\n18\r\n{\"user_message\":\"broke\"}\r\n", chunk),
			402, lanes.Refused,
			lanes.Answer{UserMessage: "broke"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			attemptInFakeTime(t, pipeTransport(1, tc.receiver),
				func(t *testing.T, made lanes.Attempt, answer lanes.Answer) {
					require.Equal(t, lanes.Attempt{
						At: noon, Status: tc.status, Error: tc.error,
						Duration: attemptTimeout,
					}, made)
					require.Equal(t, tc.answer, answer)
				})
		})
	}
}

func TestHeadersWithoutAnEndAreNotReadFor(t *testing.T) {
	written := 0
	flood := func(conn net.Conn, _ *bufio.Reader) {
		n, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
		for ; err == nil; n, err = io.WriteString(conn, "A: b\r\n") {
			written += n
		}
	}
	attemptInFakeTime(t, pipeTransport(1, flood), func(t *testing.T, made lanes.Attempt, _ lanes.Answer) {
		synctest.Wait()
		require.Equal(t, lanes.Attempt{At: noon, Error: connectionBroke}, made)
		require.Less(t, written, 2*egress.MaxHeaderBytes)
	})
}

func TestAConnectionThatTakesTooLong(t *testing.T) {
	transport := egress.Transport(false, 1)
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		time.Sleep(time.Hour)
		return nil, io.EOF
	}
	attemptInFakeTime(t, transport, func(t *testing.T, made lanes.Attempt, _ lanes.Answer) {
		require.Equal(t, lanes.Attempt{At: noon, Error: "unreachable: no connection in time", Duration: attemptTimeout},
			made)
		time.Sleep(time.Hour)
	})
}

func TestATLSHandshakeThatTakesTooLong(t *testing.T) {
	transport := egress.Transport(false, 1)
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go hang(theirs, bufio.NewReader(theirs))
		return ours, nil
	}
	synctest.Test(t, func(t *testing.T) {
		made := attempt(t, newClient(t, "https://integrator.test", withTransport(transport)))
		require.Equal(t, "unreachable: no connection in time", made.Error)
		require.Equal(t, egress.HandshakeTimeout, made.Duration)
	})
}

func TestAnEventThatFindsEveryConnectionBusyIsNotSent(t *testing.T) {
	transport := pipeTransport(1, hang)
	synctest.Test(t, func(t *testing.T) {
		client := newTimedClient(t, transport)
		first := make(chan lanes.Attempt)
		go func() {
			made, _ := client.Attempt(t.Context(), entry(newEvent(lanes.Help)), false)
			first <- made
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), attemptTimeout/2)
		defer cancel()
		second, _ := client.Attempt(ctx, entry(newEvent(lanes.Help)), false)
		require.Equal(t, "unreachable: given up before it was sent", second.Error)
		require.Equal(t, attemptTimeout/2, second.Duration)
		require.Equal(t, lanes.TimedOut, (<-first).Error)
	})
}

func TestACallerThatGivesUp(t *testing.T) {
	for name, tc := range map[string]struct {
		receiver func(net.Conn, *bufio.Reader)
		status   int
		error    string
	}{
		"before there is an answer": {hang, 0, "interrupted: given up before it was answered"},
		"in the body of the answer": {drip("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "."), 200, ""},
		"in the headers of an answer": {
			drip("HTTP/1.1 200 OK\r\n", "A: b\r\n"), 0,
			"interrupted: given up before it was answered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			transport := pipeTransport(1, tc.receiver)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(2500*time.Millisecond, cancel)
				made, _ := newTimedClient(t, transport).Attempt(ctx, entry(newEvent(lanes.SessionStopped)), false)
				require.Equal(t, lanes.Attempt{
					At: noon, Status: tc.status, Error: tc.error, Duration: 2500 * time.Millisecond,
				}, made)
			})
		})
	}
}
