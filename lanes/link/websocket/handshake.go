package websocket

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/gobwas/ws"

	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// reach makes the connection that the WebSocket goes through, with TLS over it for a wss:// address.
func (d *Driver) reach(ctx context.Context, address *url.URL, trust TLS) (*socket, error) {
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
		return nil, err
	}
	wire := impatient{made, d.waits.write}
	if address.Scheme != "wss" {
		return d.socket(wire, wire), nil
	}
	secured := tls.Client(wire, trust.config(address.Hostname()))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = wire.Close()
		if mistrust(err) {
			err = fmt.Errorf("%w: %w", link.ErrFaulty, err)
		}
		return nil, err
	}
	return d.socket(secured, wire), nil
}

// upgrade makes the connection a WebSocket. A controller that answers anything but yes is faulty, unless ctx has ended.
// No redirect is followed: that would take the key elsewhere.
func (s *socket) upgrade(ctx context.Context, address *url.URL, key string) error {
	through := &answer{ReadWriter: s.frames}
	handshake := ws.Dialer{
		Protocols: []string{frame.Subprotocol}, Header: ws.HandshakeHeaderHTTP(credential(key)),
	}
	ahead, agreed, err := handshake.Upgrade(through, address)
	if ahead != nil { // the controller has not waited for the gateway's hello
		early, _ := ahead.Peek(ahead.Buffered())
		s.frames = &overtaken{s.frames, io.MultiReader(bytes.NewReader(bytes.Clone(early)), s.frames)}
		ws.PutReader(ahead)
	}
	switch {
	case err != nil && through.heard > 0 && ctx.Err() == nil:
		return fmt.Errorf("%w: %w", link.ErrFaulty, err)
	case err != nil:
		return err
	case agreed.Protocol != frame.Subprotocol:
		return broken{ws.StatusPolicyViolation, errors.New("the controller does not speak " + frame.Subprotocol)}
	}
	return nil
}

// answer is a connection on which the controller answers to the handshake: not at any length.
type answer struct {
	io.ReadWriter
	heard int
}

func (a *answer) Read(p []byte) (int, error) {
	if a.heard >= frame.Longest {
		return 0, errors.New("an answer longer than 16 KiB")
	}
	n, err := a.ReadWriter.Read(p)
	a.heard += n
	return n, err
}

// overtaken is a connection of which some has been read already.
type overtaken struct {
	net.Conn
	all io.Reader
}

func (o *overtaken) Read(p []byte) (int, error) { return o.all.Read(p) }

func credential(key string) http.Header {
	header := http.Header{}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return header
}
