package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// The functions named …Problem return what is wrong with an address, or "". They never quote it: a url may carry a
// password.

var hostname = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// listenProblem accepts host:port with a port from 0 to 65535; 0 means any free one, an empty host every interface.
func listenProblem(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "wants host:port, such as 127.0.0.1:8080"
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "wants a port from 0 to 65535"
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !hostname.MatchString(host) {
		return "wants an IP address or a host name before the port"
	}
	return ""
}

// sameListener reports whether two addresses exclude each other. Port 0 never does.
func sameListener(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || strings.Trim(portA, "0") == "" {
		return false
	}
	return strings.EqualFold(hostA, hostB) || everyInterface(hostA) || everyInterface(hostB)
}

func everyInterface(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" }

// urlProblem accepts an absolute url without user and password, which would show in the output of check.
func urlProblem(raw string, production bool) string {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return "missing"
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || !reachable(u):
		return "wants an absolute http or https url"
	case u.User != nil:
		return "wants a url without user and password"
	case production && u.Scheme != "https":
		return "wants https in production"
	}
	return ""
}

func reachable(u *url.URL) bool {
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	return u.Hostname() != ""
}

// public reports whether host:port may be reachable from public networks: every host is, except localhost and IP addresses
// that are loopback, private, unique local or link-local. listenProblem reports what is no host:port.
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

func (in *inspection) tls(t TLS, p path) {
	switch {
	case t.Certificate == "" && t.Key != "":
		in.found.add(p.key("certificate"), "missing; tls wants certificate and key")
	case t.Certificate != "" && t.Key == "":
		in.found.add(p.key("key"), "missing; tls wants certificate and key")
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

// Proxies returns the networks of the trusted proxies; an address is a network of one.
func (h HTTP) Proxies() []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range h.TrustedProxies {
		if prefix, ok := network(text); ok {
			networks = append(networks, prefix)
		}
	}
	return networks
}

// network parses an IPv4 or IPv6 address or network. It refuses a network with host bits, as 10.1.2.3/16 may mean
// 10.1.0.0/16 or 10.1.2.3, and the network of all addresses, which would let every client forge its address.
func network(text string) (prefix netip.Prefix, ok bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), address.Zone() == ""
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix, err == nil && prefix.Bits() > 0 && prefix == prefix.Masked() && !prefix.Addr().Is4In6()
}
