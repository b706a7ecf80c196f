package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"rangegate/api/request"
)

// Proxies are the networks of the trusted proxies in front of the gateway. Forwarding headers of other peers
// are ignored.
//
// X-Forwarded-For lists the addresses on the request's path; each proxy appends the address of its own peer.
// So it is read from the right, past trusted proxies. The first other address is the client, and everything
// to the left of it is unverified. X-Forwarded-Proto tells whether the client used TLS. Forwarded (RFC 7239)
// is not read: a proxy that only knows the other header passes it on as the client wrote it.
type Proxies []netip.Prefix

// IdentifyClient sets RemoteAddr to the address of the request's client, with port 0 if a proxy reported it.
// Of a request that another node has handed on that node has said it.
func (p Proxies) IdentifyClient(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || request.Entry(r.Context()) != "" || !p.Trusts(peer.Addr()) {
			next.ServeHTTP(w, r)
			return
		}
		if info := request.Of(r.Context()); info != nil {
			info.ProxyTLS = allHTTPS(r.Header.Values("X-Forwarded-Proto"))
		}
		if client := p.client(peer.Addr(), r.Header.Values("X-Forwarded-For")); client != peer.Addr() {
			r = r.WithContext(r.Context()) // copies the request, which belongs to the server
			r.RemoteAddr = net.JoinHostPort(client.String(), "0")
		}
		next.ServeHTTP(w, r)
	})
}

// Trusts is true for the address of a trusted proxy.
func (p Proxies) Trusts(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(address) })
}

// client returns the address from which the request reached the proxies. An entry that is no address ends the search.
func (p Proxies) client(peer netip.Addr, lines []string) netip.Addr {
	client := peer
	hops := strings.Split(strings.Join(lines, ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			break
		}
		client = address
		if !p.Trusts(client) {
			break
		}
	}
	return client
}

// parseHop parses an address as proxies write it: bare, in brackets, or with the port. It drops the zone of
// an IPv6 address, which means nothing on another machine and may be of any length.
func parseHop(hop string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(hop); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]"))
	return address.Unmap().WithZone(""), err == nil
}

// allHTTPS is true if the header is present and every proxy wrote https.
func allHTTPS(lines []string) bool {
	return !slices.ContainsFunc(strings.Split(strings.Join(lines, ","), ","), func(scheme string) bool {
		return !strings.EqualFold(strings.TrimSpace(scheme), "https")
	})
}
