package gateway

import "net/http"

const (
	// maxStreams is how many requests may be under way on one connection of HTTP/2. A POS that waits for the events of more ranges at
	// a time opens another one.
	maxStreams = 100

	// A connection of HTTP/2 is closed after so many requests in a row without valid credentials, or so many of those that the client has
	// cancelled: cancelling one costs a client less than it costs the gateway. A browser asks for some 40 files before it signs in.
	maxStrangersRequests  = 1_000
	maxStrangersCancelled = 100
)

// countRequests ends a connection of HTTP/2 on which a stranger has made or cancelled too many requests. Through a trusted proxy come
// those of many clients.
func countRequests(c *connection, next http.Handler, w http.ResponseWriter, r *http.Request) {
	next.ServeHTTP(w, r)
	if !c.limits.exempt(c.host.Addr()) && c.isOver(r.Context().Err() != nil) {
		c.limits.metrics.limited(requestsLimit, "closed")
		_ = c.Close()
	}
}

// isOver counts a request that has ended, and reports whether it is the one that is too many.
func (c *connection) isOver(cancelled bool) bool {
	requests, ended := c.strangersRequests.Add(1), int32(0)
	if cancelled {
		ended = c.strangersCancelled.Add(1)
	}
	return requests == maxStrangersRequests || ended == maxStrangersCancelled
}
