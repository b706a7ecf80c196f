package lanesim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"rangegate/lanes/link/websocket/frame"
)

// The time before the next dial: full jitter below a ceiling that doubles with each failure (LINK.md).
const (
	firstBackoff = 250 * time.Millisecond
	lastBackoff  = 15 * time.Second
	settledAfter = 30 * time.Second // a connection that was up for so long starts again from firstBackoff
)

// BusyError means that the gateway lets nobody in for that time: 503 with Retry-After.
type BusyError struct{ RetryAfter time.Duration }

func (b BusyError) Error() string {
	return fmt.Sprintf("the gateway wants no new link for %s", b.RetryAfter)
}

var errRefusing = errors.New("this controller does not dial at the moment")

// keepDialling dials the gateway until the controllers are closed.
func (c *Controller) keepDialling() {
	for failures := 0; ; {
		began := time.Now()
		err := c.Dial(c.controllers.closing)
		if time.Since(began) >= settledAfter {
			failures = 0
		}
		wait := rand.N(min(firstBackoff<<min(failures, 6), lastBackoff))
		failures++
		var busy BusyError
		if errors.As(err, &busy) {
			wait = busy.RetryAfter + rand.N(time.Second) // others were told the same second
		}
		if !c.sleep(wait) {
			return
		}
	}
}

// Dial connects to the gateway and serves the connection until it ends. The error says why it did: a
// BusyError, or any other. The context bounds the connecting only; 307 is followed, this time.
func (c *Controller) Dial(ctx context.Context) error {
	if c.currentFaults().refuse {
		return errRefusing
	}
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	conn := &connection{controller: c}
	transport := &http.Transport{TLSClientConfig: c.lane.TLS, DisableKeepAlives: true}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer net.Dialer
		socket, err := dialer.DialContext(ctx, network, address)
		conn.socket = socket // the last one, after redirects
		return socket, err
	}
	//nolint:bodyclose // the library closes it
	frames, response, err := websocket.Dial(ctx, c.lane.Dial, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, Subprotocols: []string{frame.Subprotocol},
		OnPingReceived: func(context.Context, []byte) bool { return conn.receivePing() },
	})
	if err != nil {
		if response != nil && response.StatusCode == http.StatusServiceUnavailable {
			seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			return BusyError{time.Duration(seconds) * time.Second}
		}
		return err
	}
	conn.frames = frames
	cancel()
	if c.currentFaults().hang {
		return c.hangAfterHandshake(conn)
	}
	return c.serve(conn)
}

// hangAfterHandshake says nothing until the gateway gives up.
func (c *Controller) hangAfterHandshake(conn *connection) error {
	if !c.add(conn) {
		_ = conn.frames.CloseNow()
		return net.ErrClosed
	}
	defer c.remove(conn)
	for {
		if _, _, err := conn.frames.Read(context.Background()); err != nil {
			conn.close(nil)
			return err
		}
	}
}

// HasRefused reports whether the error of Dial says that this controller refused the gateway.
func HasRefused(err error) bool { return errors.As(err, &protocolError{}) }
