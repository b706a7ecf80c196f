package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/webhook/egress"
)

const connectionBroke = lanes.Interrupted + ": the connection broke"

func TestTheStatusDecides(t *testing.T) {
	for code, outcome := range map[int]string{
		200: "", 201: "", 204: "", 299: "",
		300: "refused: redirects are not followed", 304: "refused: redirects are not followed",
		400: "refused", 401: "refused", 404: "refused", 409: "refused", 429: "refused",
		500: "refused", 503: "refused", 600: "refused", 999: "refused",
	} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			integrator := startReceiver(t, status(code))
			made := attempt(t, newClient(t, integrator.URL))
			require.Equal(t, code, made.Status)
			require.Equal(t, outcome, made.Error)
			require.Len(t, integrator.requests(), 1, "nothing is tried again")
		})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	for _, code := range []int{301, 302, 303, 307, 308} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			elsewhere := startReceiver(t, status(http.StatusOK))
			integrator := startReceiver(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL, code)
			})
			made := attempt(t, newClient(t, integrator.URL))
			require.Equal(t, code, made.Status)
			require.Equal(t, "refused: redirects are not followed", made.Error)
			require.Len(t, integrator.requests(), 1)
			require.Empty(t, elsewhere.requests())
		})
	}
}

// The receiver has read the whole request; it says that, and its end of the connection is gone.
func TestAConnectionThatBreaks(t *testing.T) {
	const cut = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
	for name, tc := range map[string]struct {
		says   string
		status int
		error  string
	}{
		"before it says anything":          {"", 0, connectionBroke},
		"in the first line":                {"HTTP/1.1 20", 0, connectionBroke},
		"in the headers":                   {"HTTP/1.1 200 OK\r\nContent-", 0, connectionBroke},
		"after something that is not HTTP": {"SSH-2.0-OpenSSH_9.9\r\n", 0, connectionBroke},
		"in the body of a success":         {cut, 200, ""},
		"in the body of a refusal":         {"HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\nabc", 500, lanes.Refused},
		"having switched protocols":        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", 101, lanes.Refused},
	} {
		for end, gone := range map[string]func(net.Conn){"closed": func(net.Conn) {}, "reset": reset} {
			if end == "reset" && tc.status != 0 {
				continue // it may overtake what was said before it
			}
			t.Run(name+", "+end, func(t *testing.T) {
				address := startRawReceiver(t, listen(t), func(conn net.Conn) {
					if readRequest(bufio.NewReader(conn)) == nil {
						_, _ = io.WriteString(conn, tc.says)
						gone(conn)
					}
				})
				made := attempt(t, newClient(t, "http://"+address))
				require.Equal(t, tc.status, made.Status)
				require.Equal(t, tc.error, made.Error)
			})
		}
	}
}

func TestAReceiverThatCannotBeReached(t *testing.T) {
	closed := listen(t)
	require.NoError(t, closed.Close())
	plain := startReceiver(t, status(http.StatusOK))
	secure := newReceiver(t, status(http.StatusOK))
	secure.StartTLS()
	old := newReceiver(t, status(http.StatusOK))
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	silent := startRawReceiver(t, listen(t), func(net.Conn) {})

	trusting := func(change func(*tls.Config)) *http.Transport {
		transport := egress.Transport(false, 1)
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		transport.TLSClientConfig.RootCAs.AddCert(secure.Certificate())
		change(transport.TLSClientConfig)
		return transport
	}
	for name, tc := range map[string]struct {
		url       string
		transport *http.Transport
		error     string
	}{
		"nothing listens": {
			"http://" + closed.Addr().String(), egress.Transport(false, 1), "the connection was refused",
		},
		"its CA is not known": {
			secure.URL, egress.Transport(false, 1), "its certificate is from an unknown authority",
		},
		"its certificate is another's": {
			secure.URL, trusting(func(c *tls.Config) { c.ServerName = "other.test" }),
			"its certificate is for another name",
		},
		"its certificate has expired": {
			secure.URL, trusting(func(c *tls.Config) { c.Time = func() time.Time { return noon.AddDate(200, 0, 0) } }),
			"its certificate is not valid at this time",
		},
		"it does not speak TLS": {
			"https://" + plain.Listener.Addr().String(), egress.Transport(false, 1), "it does not speak TLS",
		},
		"it speaks TLS 1.1": {
			old.URL, trusting(func(*tls.Config) {}), "it refused the TLS handshake",
		},
		"it closes in the TLS handshake": {
			"https://" + silent, egress.Transport(false, 1), "no connection could be made",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(tc.transport.CloseIdleConnections)
			made := attempt(t, newClient(t, tc.url+"/planted?planted=1", withTransport(tc.transport)))
			require.Zero(t, made.Status)
			require.Equal(t, "unreachable: "+tc.error, made.Error)
		})
	}
	require.Empty(t, plain.requests())
	require.Empty(t, secure.requests())
	require.Empty(t, old.requests())

	made := attempt(t, newClient(t, secure.URL, withTransport(trusting(func(*tls.Config) {}))))
	require.Empty(t, made.Error, "trusted, it is reached")
}

// A transport may go on with a request after it has given up on it.
func TestAnEventThatWasGivenUpIsNotSentLater(t *testing.T) {
	gaveUp, late := make(chan struct{}), make(chan error)
	transport := roundTrip(func(request *http.Request) (*http.Response, error) {
		go func() {
			<-gaveUp
			_, err := io.ReadAll(request.Body)
			late <- err
		}()
		return nil, io.EOF
	})
	made := attempt(t, newClient(t, "http://integrator.test", withTransport(transport)))
	close(gaveUp)
	require.Equal(t, "unreachable: no connection could be made", made.Error)
	require.ErrorIs(t, <-late, errWithdrawn)
}

func TestACallerThatHasGivenUpAlready(t *testing.T) {
	integrator := startReceiver(t, status(http.StatusOK))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	made, _ := newClient(t, integrator.URL).Attempt(ctx, entry(newEvent(lanes.Help)), false)
	require.Equal(t, "unreachable: given up before it was sent", made.Error)
	require.Empty(t, integrator.requests())
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Each attempt is measured once, by what became of it.
func TestAttemptsAreMeasured(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	measured := func(s *Settings) { s.Metrics = metrics }
	integrator, gone := startReceiver(t, status(http.StatusOK)), startReceiver(t, status(http.StatusOK))
	gone.Close()
	for _, at := range []string{integrator.URL, integrator.URL, gone.URL} {
		attempt(t, newClient(t, at, measured))
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Equal(t, "rangegate_webhook_request_seconds", families[0].GetName())
	counts := map[string]uint64{}
	for _, m := range families[0].GetMetric() {
		counts[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
	}
	require.Equal(t, map[string]uint64{
		"delivered": 2, "refused": 0, "timed_out": 0, "unreachable": 1,
		"interrupted": 0,
	}, counts)
}
