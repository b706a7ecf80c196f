// Package websocket is the driver of lane controllers that speak LINK.md version 1: the gateway's side.
//
// An idle lane uses one goroutine, which reads, and one timer, which pings; it has no buffers (TestAnIdleLaneIsCheap).
// Another goroutine writes, and exists only while there is something to write.
package websocket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"github.com/gobwas/ws"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// The driver's timeouts (LINK.md).
const (
	helloTimeout   = 5 * time.Second // to connect, and for the controller's hello
	pingInterval   = 5 * time.Second
	silenceTimeout = 15 * time.Second // without pong or message: the link is down
	writeTimeout   = time.Second      // a write that blocks longer closes the connection
)

// Settings are the addresses of the controllers and what the driver needs of the gateway.
type Settings struct {
	Lanes map[uuid.UUID]Target // by lane id
	// by range id, for wss:// addresses; without an entry the system's certificates are trusted
	TLS map[uuid.UUID]TLS
	Now func() lanes.Instant
	// RoundTrip receives the time from a ping to its pong. It does not block. It may be nil.
	RoundTrip func(took time.Duration)
	// Acceptor is what the controllers of incoming lanes dial; nil without such lanes.
	Acceptor *Acceptor
}

// Target is how a lane's controller is reached.
type Target struct {
	Address  string // ws:// or wss://; empty for one that dials
	Key      string // that gateway and controller prove to each other; empty: no proofs
	Incoming bool   // the controller dials
}

// Driver connects to the controllers of many lanes.
type Driver struct {
	settings Settings
	timeouts timeouts
}

type timeouts struct{ hello, ping, silence, write time.Duration }

var _ link.Awaiter = (*Driver)(nil)

// New makes a driver of these lanes.
func New(settings Settings) *Driver {
	return &Driver{settings, timeouts{helloTimeout, pingInterval, silenceTimeout, writeTimeout}}
}

// Dial connects and exchanges hellos. The error is link.ErrFaulty when the controller answers and is not in order.
func (d *Driver) Dial(
	ctx context.Context, lane link.Lane, receiver link.Receiver,
) (link.Connection, link.Hello, error) {
	target, found := d.settings.Lanes[lane.ID]
	if !found {
		return nil, link.Hello{}, fmt.Errorf("no address is known of lane %s", lane.ID)
	}
	address, err := parseAddress(target.Address)
	if err != nil {
		return nil, link.Hello{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeouts.hello)
	defer cancel()
	s, err := d.connect(ctx, address, d.settings.TLS[lane.Range])
	if err != nil {
		return nil, link.Hello{}, err
	}
	s.tap = tap{lane.Taps, lane.ID, s.wire.RemoteAddr().String()}
	stopTimeout := context.AfterFunc(ctx, func() { _ = s.wire.Close() })
	var hello link.Hello
	var proof string
	if err = s.upgrade(ctx, address); err == nil {
		hello, proof, err = exchangeHellos(s, lane, target.Key)
	}
	if !stopTimeout() && !errors.Is(err, link.ErrFaulty) {
		err = ctx.Err()
	}
	if err != nil {
		s.end(d.timeouts.write, err)
		return nil, link.Hello{}, err
	}
	return newConnection(&d.timeouts, s, hello.LogID, proof, receiver), hello, nil
}

// Address returns the host and port at which the lane's controller is dialled, empty for one that dials.
func (d *Driver) Address(lane uuid.UUID) string {
	address, err := parseAddress(d.settings.Lanes[lane].Address)
	if err != nil {
		return ""
	}
	return address.Host
}

// Awaits implements link.Awaiter.
func (d *Driver) Awaits(lane uuid.UUID) bool { return d.settings.Lanes[lane].Incoming }

// Await implements link.Awaiter.
func (d *Driver) Await(lane link.Lane, waiter link.Waiter) (cancel func()) {
	return d.settings.Acceptor.await(invitation{lane, d.settings.Lanes[lane.ID].Key}, waiter)
}

// Probe connects to a controller, TLS included, and disconnects. It sends nothing of the protocol, so a
// controller keeps the connection of its gateway. The error is link.ErrFaulty when the certificate is not
// trusted, or the controller does not speak TLS.
func Probe(ctx context.Context, address string, trust TLS) error {
	parsed, err := parseAddress(address)
	if err != nil {
		return err
	}
	s, err := New(Settings{}).connect(ctx, parsed, trust)
	if err != nil {
		return err
	}
	return s.wire.Close()
}

func parseAddress(address string) (*url.URL, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the lane's address is no URL") // err may quote a password
	}
	return parsed, nil
}

// exchangeHellos sends the gateway's hello and reads the controller's, which proves on a lane with a key that
// the controller has it. proof is that of the gateway, for its first state, and empty without a key.
func exchangeHellos(s *socket, lane link.Lane, key string) (hello link.Hello, proof string, err error) {
	handshake := frame.Handshake{Key: key, Lane: lane.ID}
	if key != "" {
		handshake.Gateway = frame.NewChallenge()
	}
	if err := s.write(ws.OpText, frame.GatewayHello(frame.Greeting{
		Lane:      lane,
		Challenge: handshake.Gateway,
	})); err != nil {
		return link.Hello{}, "", fmt.Errorf("saying hello: %w", err)
	}
	for {
		h, err := s.readHeader(newMessage)
		var message any
		if err == nil {
			message, err = s.readBody(h)
		}
		if err != nil {
			return link.Hello{}, "", fmt.Errorf("waiting for the controller's hello: %w", err)
		}
		switch m := message.(type) {
		case nil: // a control frame, or a message of a later version
		case frame.Hello:
			if m.Lane != lane.ID {
				return link.Hello{}, "", violation{
					ws.StatusPolicyViolation,
					fmt.Errorf("the controller is that of lane %s", m.Lane),
				}
			}
			m.Address = s.tap.address
			proof, err = prove(handshake, m, lane.Epoch)
			return m.Hello, proof, err
		default:
			return link.Hello{}, "", violation{
				ws.StatusPolicyViolation,
				errors.New("the controller reports before its hello"),
			}
		}
	}
}

// prove checks that the controller has the lane's key, and returns the proof that the gateway has it. Without
// a key nothing is proven.
func prove(handshake frame.Handshake, hello frame.Hello, epoch uint64) (proof string, err error) {
	if handshake.Key == "" {
		return "", nil
	}
	handshake.Controller = hello.Challenge
	switch {
	case hello.Challenge == "" || hello.Proof == "":
		return "", violation{
			ws.StatusPolicyViolation,
			errors.New("the controller's hello wants challenge and proof: the lane has a key"),
		}
	case !handshake.VerifyController(hello.Proof, hello.LogID):
		return "", violation{
			ws.StatusPolicyViolation,
			errors.New("the controller has not proven that it has the key of this lane"),
		}
	}
	return handshake.GatewayProof(epoch), nil
}

// connect makes the connection under the WebSocket, with TLS for a wss:// address.
func (d *Driver) connect(ctx context.Context, address *url.URL, trust TLS) (*socket, error) {
	port := cmp.Or(address.Port(), map[string]string{"wss": "443"}[address.Scheme], "80")
	dialer := net.Dialer{KeepAlive: -1} // pings replace it
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address.Hostname(), port))
	if err != nil {
		return nil, err
	}
	wire := deadlineConn{conn, d.timeouts.write}
	if address.Scheme != "wss" {
		return newSocket(ws.StateClientSide, wire, wire, d.settings), nil
	}
	secured := tls.Client(wire, trust.Config(address.Hostname()))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = wire.Close()
		if isDistrust(err) {
			err = fmt.Errorf("%w: %w", link.ErrFaulty, err)
		}
		return nil, err
	}
	return newSocket(ws.StateClientSide, secured, wire, d.settings), nil
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

// Config returns the settings of a connection to that host.
func (t TLS) Config(host string) *tls.Config {
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

// isDistrust reports whether the handshake failed because of the controller's certificate, or because it does
// not speak TLS.
func isDistrust(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.Is(err, ErrFingerprint) || errors.As(err, &certificate) || errors.As(err, &record)
}

// upgrade makes the connection a WebSocket. A controller that refuses is faulty, unless ctx has ended.
// Redirects are not followed: another address than the configured one is not the lane's.
func (s *socket) upgrade(ctx context.Context, address *url.URL) error {
	response := &limitedResponse{ReadWriter: s.frames}
	handshake := ws.Dialer{Protocols: []string{frame.Subprotocol}}
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
