package gateway

import "net/http"

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
