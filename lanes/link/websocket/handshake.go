package websocket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/gobwas/ws"

	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// connect makes the connection under the WebSocket, with TLS for a wss:// address.
func (d *Driver) connect(ctx context.Context, address *url.URL, trust TLS) (*socket, error) {
	port := address.Port()
	switch {
	case port == "" && address.Scheme == "wss":
		port = "443"
	case port == "":
		port = "80"
	}
	dialer := net.Dialer{KeepAlive: -1} // pings replace it
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address.Hostname(), port))
	if err != nil {
		return nil, err
	}
	wire := deadlineConn{conn, d.timeouts.write}
	if address.Scheme != "wss" {
		return d.newSocket(wire, wire), nil
	}
	secured := tls.Client(wire, trust.config(address.Hostname()))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = wire.Close()
		if isDistrust(err) {
			err = fmt.Errorf("%w: %w", link.ErrFaulty, err)
		}
		return nil, err
	}
	return d.newSocket(secured, wire), nil
}

// deadlineConn limits how long a write blocks. A write that fails has broken the connection.
type deadlineConn struct {
	net.Conn
	timeout time.Duration
}

func (c deadlineConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// TLS is which certificates of a range's controllers are trusted besides the system's: those signed by CA, or, with a
// fingerprint, that certificate and no other.
type TLS struct {
	CA          *x509.CertPool
	Fingerprint *[sha256.Size]byte // SHA-256 of the certificate (DER)
}

// ErrFingerprint means that the controller has another certificate than the trusted one.
var ErrFingerprint = errors.New("the controller's certificate has another fingerprint")

func (t TLS) config(host string) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: t.CA}
	if t.Fingerprint != nil {
		config.InsecureSkipVerify = true // the fingerprint is stricter than a name
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if sha256.Sum256(state.PeerCertificates[0].Raw) != *t.Fingerprint {
				return ErrFingerprint
			}
			return nil
		}
	}
	return config
}

// isDistrust reports whether the handshake failed because of the controller's certificate, or because it does not speak TLS.
func isDistrust(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.Is(err, ErrFingerprint) || errors.As(err, &certificate) || errors.As(err, &record)
}

// upgrade makes the connection a WebSocket. A controller that refuses is faulty, unless ctx has ended. Redirects are not
// followed: they would send the key to another server.
func (s *socket) upgrade(ctx context.Context, address *url.URL, key string) error {
	response := &limitedResponse{ReadWriter: s.frames}
	header := http.Header{}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	handshake := ws.Dialer{Protocols: []string{frame.Subprotocol}, Header: ws.HandshakeHeaderHTTP(header)}
	buffered, agreed, err := handshake.Upgrade(response, address)
	if buffered != nil { // the controller has not waited for the gateway's hello
		early, _ := buffered.Peek(buffered.Buffered())
		s.frames = &prefixedConn{s.frames, io.MultiReader(bytes.NewReader(bytes.Clone(early)), s.frames)}
		ws.PutReader(buffered)
	}
	switch {
	case err != nil && response.size > 0 && ctx.Err() == nil:
		return fmt.Errorf("%w: %w", link.ErrFaulty, err)
	case err != nil:
		return err
	case agreed.Protocol != frame.Subprotocol:
		return violation{ws.StatusPolicyViolation, errors.New("the controller does not speak " + frame.Subprotocol)}
	}
	return nil
}

// limitedResponse limits the size of the controller's response to the handshake.
type limitedResponse struct {
	io.ReadWriter
	size int
}

func (r *limitedResponse) Read(p []byte) (int, error) {
	if r.size >= frame.Longest {
		return 0, errors.New("an answer longer than 16 KiB")
	}
	n, err := r.ReadWriter.Read(p)
	r.size += n
	return n, err
}

// prefixedConn is a connection of which some bytes were read already.
type prefixedConn struct {
	net.Conn
	reader io.Reader
}

func (c *prefixedConn) Read(p []byte) (int, error) { return c.reader.Read(p) }
