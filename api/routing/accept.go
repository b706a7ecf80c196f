package routing

import (
	"net/http"
	"net/netip"

	"rangegate/api/request"
)

// Acceptor is the handler of the node listener, which only nodes reach: it takes what an entry says of a
// request, and serves the request with the handler that it came to there.
type Acceptor struct {
	// Requests, Operations and Links are the handlers of the addresses for clients, operators and controllers
	// that dial. One may be nil.
	Requests, Operations, Links http.Handler
	// Other serves what no entry has sent.
	Other http.Handler
	// Believes is true if the request came over a connection of the living node with this name. Any other request is
	// refused. nil, without certificates: whoever reaches the listener is believed.
	Believes func(r *http.Request, entry string) bool
	Metrics  *Metrics
}

// ServeHTTP serves the request as if the client had sent it to this node.
func (a *Acceptor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var handler http.Handler
	switch service(r.Header.Get(serviceHeader)) {
	case requests:
		handler = a.Requests
	case operations:
		handler = a.Operations
	case links:
		handler = a.Links
	}
	entry := r.Header.Get(entryHeader)
	client, err := netip.ParseAddrPort(r.Header.Get(clientHeader))
	if handler == nil || entry == "" || err != nil {
		a.Other.ServeHTTP(w, r)
		return
	}
	if a.Believes != nil && !a.Believes(r, entry) {
		a.Metrics.proxied(notANode)
		http.Error(w, "this connection is not that of a living node with the name in "+entryHeader,
			http.StatusMisdirectedRequest)
		return
	}
	overTLS := r.Header.Get(tlsHeader) == "true"
	r = r.WithContext(request.WithEntry(r.Context(), entry, overTLS))
	r.RemoteAddr, r.TLS = client.String(), nil // the connection's own are the entry's
	for _, name := range []string{entryHeader, serviceHeader, clientHeader, tlsHeader} {
		delete(r.Header, name)
	}
	handler.ServeHTTP(w, r)
}
