package websocket

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/coder/websocket"

	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// connect reaches the controller and makes the connection a WebSocket. A controller that cannot be reached is not
// faulty; one that answers anything but yes is.
func (d *Driver) connect(ctx context.Context, target Target, trust TLS) (*socket, error) {
	address, err := url.Parse(target.Address)
	if err != nil {
		return nil, errors.New("the lane's address is no URL") // err may quote a password
	}
	wire, through, err := d.reach(ctx, address, trust)
	if err != nil {
		return nil, err
	}
	s := &socket{wire: wire, now: d.settings.Now}
	var answered atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { answered.Store(true) }})
	s.frames, _, err = websocket.Dial(ctx, target.Address, &websocket.DialOptions{
		HTTPClient: over(through), HTTPHeader: credential(target.Key), Subprotocols: []string{frame.Subprotocol},
		OnPongReceived: func(context.Context, []byte) { s.heard() },
	})
	switch {
	case err != nil && answered.Load() && ctx.Err() == nil:
		_ = wire.Close()
		return nil, fmt.Errorf("%w: %w", link.ErrFaulty, err)
	case err != nil:
		_ = wire.Close()
		return nil, err
	case s.frames.Subprotocol() != frame.Subprotocol:
		err := broken{errors.New("the controller does not speak " + frame.Subprotocol)}
		s.end(d.waits.write, err)
		return nil, err
	}
	s.frames.SetReadLimit(-1) // ours is read.go's
	return s, nil
}

// reach makes the connection that the WebSocket goes through: wire itself, or TLS over it.
func (d *Driver) reach(ctx context.Context, address *url.URL, trust TLS) (wire, through net.Conn, err error) {
	port := address.Port()
	switch {
	case port == "" && address.Scheme == "wss":
		port = "443"
	case port == "":
		port = "80"
	}
	dialer := net.Dialer{KeepAlive: -1} // pings do that
	made, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address.Hostname(), port))
	if err != nil {
		return nil, nil, err
	}
	wire = impatient{made, d.waits.write}
	if address.Scheme != "wss" {
		return wire, wire, nil
	}
	secured := tls.Client(wire, trust.config(address.Hostname()))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = wire.Close()
		if mistrust(err) {
			err = fmt.Errorf("%w: %w", link.ErrFaulty, err)
		}
		return nil, nil, err
	}
	return wire, secured, nil
}

// over is a client of one request over one connection. It follows no redirect: that would take the key elsewhere.
func over(connection net.Conn) *http.Client {
	give := func(context.Context, string, string) (net.Conn, error) { return connection, nil }
	return &http.Client{
		Transport: &http.Transport{
			DialContext: give, DialTLSContext: give, DisableCompression: true, MaxResponseHeaderBytes: frame.Longest,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func credential(key string) http.Header {
	header := http.Header{}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return header
}
