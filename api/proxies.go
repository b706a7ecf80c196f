package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"rangegate/api/screens"
)

// Proxies are the networks of the proxies in front of the gateway: what they say of a request's way is believed, and what
// anybody else says of it is not.
//
// X-Forwarded-For lists the addresses that the request came by, each proxy adding at the right whom it heard it from. So it
// is read from the right, past trusted proxies; the first that is none is the client, and whatever stands left of it is his
// own word. X-Forwarded-Proto says whether the client asked over TLS. RFC 7239's Forwarded is not read: of two headers that
// say the same, a proxy that knows only one hands on the other as its client wrote it.
type Proxies []netip.Prefix

// forwarded gives every request the address of its client as RemoteAddr, with port 0 where a proxy told it.
func (p Proxies) forwarded(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !p.trust(peer.Addr()) {
			next.ServeHTTP(w, r)
			return
		}
		if overTLS(r.Header.Values("X-Forwarded-Proto")) {
			r = screens.Secured(r)
		}
		if client := p.client(peer.Addr(), r.Header.Values("X-Forwarded-For")); client != peer.Addr() {
			r = r.WithContext(r.Context()) // a copy: the request itself is its server's
			r.RemoteAddr = net.JoinHostPort(client.String(), "0")
		}
		next.ServeHTTP(w, r)
	})
}

func (p Proxies) trust(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(address) })
}

// client is where the request came from before the trusted proxies. What a proxy wrote that is no address, such as
// "unknown", ends the search: the client is then that proxy.
func (p Proxies) client(peer netip.Addr, lines []string) netip.Addr {
	client := peer
	hops := strings.Split(strings.Join(lines, ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, ok := readHop(strings.TrimSpace(hop))
		if !ok {
			break
		}
		client = address
		if !p.trust(client) {
			break
		}
	}
	return client
}

// readHop reads an address as proxies write it: bare, in brackets, or with the port.
func readHop(hop string) (netip.Addr, bool) {
	if with, err := netip.ParseAddrPort(hop); err == nil {
		return with.Addr().Unmap(), true
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]"))
	return address.Unmap(), err == nil
}

// overTLS: every proxy that says anything says https.
func overTLS(lines []string) bool {
	if len(lines) == 0 {
		return false
	}
	for _, scheme := range strings.Split(strings.Join(lines, ","), ",") {
		if !strings.EqualFold(strings.TrimSpace(scheme), "https") {
			return false
		}
	}
	return true
}
