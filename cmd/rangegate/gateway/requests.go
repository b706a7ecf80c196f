package gateway

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"rangegate/api/request"
)

// acceptedKey is the key of a request's connection in its context.
type acceptedKey struct{}

// acceptedOf returns the accepted connection under one that the server serves.
func acceptedOf(served net.Conn) *connection {
	if secured, ok := served.(*tls.Conn); ok {
		served = secured.NetConn()
	}
	return served.(*connection)
}

// withConnection passes the connection on to its requests (http.Server.ConnContext).
func withConnection(ctx context.Context, served net.Conn) context.Context {
	accepted := acceptedOf(served)
	return context.WithValue(request.WithConnection(ctx, accepted), acceptedKey{}, accepted)
}

// trackState takes a connection's new state (http.Server.ConnState).
func trackState(limits *connectionLimits) func(net.Conn, http.ConnState) {
	return func(served net.Conn, state http.ConnState) { limits.update(acceptedOf(served), state) }
}

// byProtocol applies the rules of the connection's protocol to each request. A connection of HTTP/1 is closed
// after a request with a Transfer-Encoding: if that had a Content-Length too, a proxy may see another request in
// what follows (RFC 9112, 6.1 and 11.2), and net/http does not tell whether it had.
func byProtocol(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor >= 2 {
			countRequests(r.Context().Value(acceptedKey{}).(*connection), next, w, r)
			return
		}
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// limitedListener accepts connections under limits.
type limitedListener struct {
	net.Listener
	limits *connectionLimits
}

// Accept returns the next connection, a *connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		socket, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c, ok := l.limits.admit(socket); ok {
			return c, nil
		}
		_ = socket.Close()
	}
}

const (
	// maxStreams is how many requests may be under way on one connection of HTTP/2. A client with more of
	// them opens another connection.
	maxStreams = 100

	// A connection of HTTP/2 is closed after so many requests in a row without valid credentials, or so many
	// of them that were cancelled: to cancel one costs the client less than it costs the gateway. A browser
	// loads some 40 files before it signs in.
	maxStrangersRequests  = 1_000
	maxStrangersCancelled = 100
)

// countRequests closes a connection of HTTP/2 on which a stranger has made or cancelled too many requests. A
// trusted proxy's is not closed, as it has the requests of many clients.
func countRequests(c *connection, next http.Handler, w http.ResponseWriter, r *http.Request) {
	next.ServeHTTP(w, r)
	if !c.limits.exempt(c.host.Addr()) && c.isOver(r.Context().Err() != nil) {
		c.limits.metrics.limited(requestsLimit, "closed")
		_ = c.Close()
	}
}

// isOver counts a request that has ended, and reports whether it is the one that is too many.
func (c *connection) isOver(cancelled bool) bool {
	if cancelled && c.strangersCancelled.Add(1) == maxStrangersCancelled {
		return true
	}
	return c.strangersRequests.Add(1) == maxStrangersRequests
}
