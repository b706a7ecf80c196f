package egress

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// ErrNotHTTPS is the error of a request without TLS that production refuses.
var ErrNotHTTPS = errors.New("egress: production wants https")

// Production is the transport for addresses that an integrator chooses: of pictures, and those that a
// redirect names. It makes https requests only, to public addresses and to one origin of the operator's
// choice. A client that follows redirects asks it for each of them, so they keep the same rule. It is safe
// for concurrent use.
type Production struct {
	origin          string // that may have a private address; empty, which no request has: none
	public, private *http.Transport
}

// NewProduction returns a transport with at most that many connections to a host. The scheme, host and port of the URL
// private may have an address that is not public; an empty URL opens nothing.
func NewProduction(private string, connections int) *Production {
	p := &Production{public: Transport(true, connections)}
	if u, err := url.Parse(private); err == nil && u.Host != "" {
		p.origin, p.private = origin(u), Transport(false, connections)
	}
	return p
}

// RoundTrip makes the request, or refuses it: with ErrNotHTTPS, or with an error for which Reason says that
// the address is not allowed.
func (p *Production) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case request.URL.Scheme != "https":
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, ErrNotHTTPS
	case origin(request.URL) == p.origin:
		return p.private.RoundTrip(request)
	}
	return p.public.RoundTrip(request)
}

// CloseIdleConnections closes the connections that no request uses.
func (p *Production) CloseIdleConnections() {
	p.public.CloseIdleConnections()
	if p.private != nil {
		p.private.CloseIdleConnections()
	}
}

// origin returns the scheme, host and port of a URL in one spelling. Two spellings of a host that it does not
// know as one are two origins, so that at worst an address stays closed.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
