package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"rangegate/api/request"
)

// http1Connection is a connection of HTTP/1. net/http answers what it cannot read as a request with a plain
// text of its own, which no handler sees and no setting changes, and closes the connection without a word
// when the header of a request does not come. Here both get a response in the shape of every other error.
// What is written while no handler has a request is net/http's own text. (HTTP/2 has errors of its own in its
// frames, and a plain 431.)
type http1Connection struct {
	net.Conn // the accepted connection, or TLS over it
	accepted *connection
	// malformed returns the response to what is no valid HTTP request.
	malformed func(status int, reason, from string) []byte

	begun   atomic.Bool // a part of the next request has been read
	handled atomic.Bool // a handler has the request
}

// Read reads from the connection. When the header of a request does not come in time, it responds with 408
// and returns the error.
func (c *http1Connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	switch {
	case c.handled.Load():
	case n > 0:
		c.begun.Store(true)
	case errors.Is(err, os.ErrDeadlineExceeded) && c.begun.Load():
		_ = c.respond(http.StatusRequestTimeout, "")
	}
	return n, err
}

// Write writes to the connection. In place of an error of net/http it writes our own response to it.
func (c *http1Connection) Write(p []byte) (int, error) {
	if c.handled.Load() {
		return c.Conn.Write(p)
	}
	status, reason := parseServerError(p)
	if err := c.respond(status, reason); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *http1Connection) respond(status int, reason string) error {
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_, err := c.Conn.Write(c.malformed(status, reason, c.RemoteAddr().String()))
	return err
}

// parseServerError returns the status of a response that net/http writes by itself, and its reason if it has
// one beside the status: "HTTP/1.1 400 Bad Request: missing required Host header", and headers.
func parseServerError(response []byte) (status int, reason string) {
	line, _, _ := bytes.Cut(response, []byte("\r\n"))
	_, text, _ := bytes.Cut(line, []byte(" "))
	number, text, _ := bytes.Cut(text, []byte(" "))
	status, err := strconv.Atoi(string(number))
	if err != nil {
		status = http.StatusBadRequest
	}
	_, detail, _ := bytes.Cut(text, []byte(": "))
	return status, string(detail)
}

// NetConn returns the accepted connection, which is closed without waiting for TLS.
func (c *http1Connection) NetConn() net.Conn { return c.accepted }

// CloseWrite ends what is sent, so that a client that still sends its request can read the response.
func (c *http1Connection) CloseWrite() error {
	return c.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

// tlsConnection is an http1Connection over TLS. The server takes the state of TLS from it.
type tlsConnection struct {
	*http1Connection
	secured *tls.Conn
}

// ConnectionState returns the state of TLS.
func (c tlsConnection) ConnectionState() tls.ConnectionState { return c.secured.ConnectionState() }

// connectionOf returns the accepted connection under one that the server serves.
func connectionOf(served net.Conn) *connection {
	if h := http1Of(served); h != nil {
		return h.accepted
	}
	return served.(*tls.Conn).NetConn().(*connection)
}

// http1Of returns nil for a connection of HTTP/2.
func http1Of(served net.Conn) *http1Connection {
	switch c := served.(type) {
	case *http1Connection:
		return c
	case tlsConnection:
		return c.http1Connection
	}
	return nil
}

// The keys of a request's connection in its context: of HTTP/1, and of HTTP/2.
type (
	http1Key    struct{}
	acceptedKey struct{}
)

// withConnection passes the connection on to its requests (http.Server.ConnContext).
func withConnection(ctx context.Context, served net.Conn) context.Context {
	accepted := connectionOf(served)
	ctx = request.WithConnection(ctx, accepted)
	if h := http1Of(served); h != nil {
		return context.WithValue(ctx, http1Key{}, h)
	}
	return context.WithValue(ctx, acceptedKey{}, accepted)
}

// trackState takes a connection's new state (http.Server.ConnState).
func trackState(limits *connectionLimits) func(net.Conn, http.ConnState) {
	return func(served net.Conn, state http.ConnState) {
		if h := http1Of(served); h != nil && state == http.StateIdle {
			h.begun.Store(false)
			h.handled.Store(false)
		}
		limits.update(connectionOf(served), state)
	}
}

// byProtocol applies the rules of the connection's protocol to each request. A connection of HTTP/1 is marked
// as handled. It is closed after a request with a Transfer-Encoding: if that had a Content-Length too, a
// proxy may see another request in what follows (RFC 9112, 6.1 and 11.2), and net/http does not tell whether
// it had.
func byProtocol(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, ok := r.Context().Value(http1Key{}).(*http1Connection)
		if !ok {
			countRequests(r.Context().Value(acceptedKey{}).(*connection), next, w, r)
			return
		}
		h.handled.Store(true)
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// limitedListener accepts connections of HTTP/1 under limits.
type limitedListener struct {
	net.Listener
	limits    *connectionLimits
	malformed func(status int, reason, from string) []byte
}

// Accept returns the next connection, an *http1Connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		socket, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c, ok := l.limits.admit(socket); ok {
			return &http1Connection{Conn: c, accepted: c, malformed: l.malformed}, nil
		}
		_ = socket.Close()
	}
}

// tlsListener makes the handshakes of TLS. net/http would make them too, but it answers a client that does
// not use TLS with a text of its own, and writes its errors to the encrypted connection, out of reach of an
// http1Connection.
type tlsListener struct {
	net.Listener // accepts *http1Connection
	config       *tls.Config
	log          zerolog.Logger
	secured      chan accepted
	closed       chan struct{}
	closing      sync.Once
}

// accepted is what Accept returns.
type accepted struct {
	connection net.Conn
	err        error
}

func newTLSListener(plain net.Listener, config *tls.Config, log zerolog.Logger) *tlsListener {
	l := &tlsListener{Listener: plain, config: config, log: log, secured: make(chan accepted), closed: make(chan struct{})}
	go l.acceptAll()
	return l
}

func (l *tlsListener) acceptAll() {
	for {
		c, err := l.Listener.Accept()
		switch {
		case err == nil:
			go l.handshake(c.(*http1Connection))
		case !l.deliver(accepted{err: err}):
			return
		}
	}
}

// deliver waits until Accept takes it. It returns false once the listener is closed.
func (l *tlsListener) deliver(a accepted) bool {
	select {
	case l.secured <- a:
		return true
	case <-l.closed:
		return false
	}
}

func (l *tlsListener) handshake(plain *http1Connection) {
	ctx, cancel := context.WithTimeout(context.Background(), HeaderTimeout)
	defer cancel()
	defer func() { // as net/http does for the connections that it serves
		if cause := recover(); cause != nil {
			l.log.Error().Interface("panic", cause).Bytes("stack", debug.Stack()).Msg("a TLS handshake panicked")
			_ = plain.Close()
		}
	}()
	secured := tls.Server(plain.accepted, l.config)
	if err := secured.HandshakeContext(ctx); err != nil {
		var record tls.RecordHeaderError
		if errors.As(err, &record) && looksLikeHTTP(record.RecordHeader) {
			plain.refusePlainHTTP()
		}
		l.log.Debug().Str("from", plain.RemoteAddr().String()).Err(err).Msg("TLS handshake error")
		_ = plain.Close()
		return
	}
	var served net.Conn = secured // net/http wants it as it is for HTTP/2
	if secured.ConnectionState().NegotiatedProtocol != "h2" {
		plain.Conn = secured
		served = tlsConnection{plain, secured}
	}
	if !l.deliver(accepted{connection: served}) {
		_ = served.Close()
	}
}

// refusePlainHTTP responds to a request of plain HTTP, and reads it for a moment: to close a socket that has
// unread bytes would take the response away from the client.
func (c *http1Connection) refusePlainHTTP() {
	if c.respond(http.StatusBadRequest, "this address takes HTTPS only, and the request is plain HTTP") == nil {
		_ = c.CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		_, _ = io.CopyN(io.Discard, c.Conn, 64<<10)
	}
}

// looksLikeHTTP is true if the first bytes of a connection are those of a request of HTTP/1, and not of TLS.
func looksLikeHTTP(start [5]byte) bool {
	for _, method := range []string{"GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO"} {
		if string(start[:]) == method {
			return true
		}
	}
	return false
}

// Accept returns the next connection after its handshake: a *tls.Conn for HTTP/2, else a tlsConnection.
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case a := <-l.secured:
		return a.connection, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close stops accepting. Connections whose handshake is under way are closed.
func (l *tlsListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
