package config

import (
	"net"
	"net/netip"
	"strings"
)

// public tells whether the gateway could be reached from anywhere at this host:port: unless the host is an IP address that
// is loopback, private, unique local or link-local, or localhost. What is no host:port is another fault's matter.
func public(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || strings.EqualFold(host, "localhost") {
		return false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil { // a name may resolve to anything, and an empty host is every interface
		return true
	}
	return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
}

func (in *inspection) operations(o Operations) {
	in.expect("operations.address", listenProblem(o.Address))
	in.tls(o.TLS, "operations.tls")
	if in.production && o.TLS == (TLS{}) && public(o.Address) {
		in.found.add("operations.address", "is public, and without TLS the operations token would go over it in the clear: "+
			"wants operations.tls, or a loopback or private IP address")
	}
}

func (in *inspection) tls(t TLS, at path) {
	switch {
	case t.Certificate == "" && t.Key != "":
		in.found.add(at.key("certificate"), "missing; tls wants certificate and key")
	case t.Certificate != "" && t.Key == "":
		in.found.add(at.key("key"), "missing; tls wants certificate and key")
	}
}

func (in *inspection) proxies(h HTTP) {
	if len(h.TrustedProxies) > 0 && !h.BehindProxy {
		in.found.add("http.trusted_proxies", "wants http.behind_proxy: true")
	}
	for i, text := range h.TrustedProxies {
		if _, ok := network(text); !ok {
			in.found.add(path("http.trusted_proxies").item(i), "wants an IP address, or a network such as 10.1.0.0/16")
		}
	}
}

// Proxies are the networks of the trusted proxies; an address is a network of its own.
func (h HTTP) Proxies() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range h.TrustedProxies {
		if of, ok := network(text); ok {
			all = append(all, of)
		}
	}
	return all
}

// network takes IPv4 and IPv6, but no network that reads like a slip: 10.1.2.3/16 is 10.1.0.0/16 or 10.1.2.3. Nor does it take
// everybody: whoever asks could then say that he is somebody else.
func network(text string) (of netip.Prefix, ok bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), address.Zone() == ""
	}
	of, err := netip.ParsePrefix(text)
	return of, err == nil && of.Bits() > 0 && of == of.Masked() && !of.Addr().Is4In6()
}
