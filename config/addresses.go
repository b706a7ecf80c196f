package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// These rules answer what is wrong with an address, or "". They never quote it: a url may carry a password.

var hostname = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// listenProblem takes host:port with a port from 0 to 65535; 0 is any free one, an empty host every interface.
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

// sameListener reports whether two addresses cannot be listened on side by side. Port 0 never collides.
func sameListener(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || strings.Trim(portA, "0") == "" {
		return false
	}
	return strings.EqualFold(hostA, hostB) || everyInterface(hostA) || everyInterface(hostB)
}

func everyInterface(host string) bool { return host == "" || host == "0.0.0.0" || host == "::" }

// urlProblem takes an absolute url of the integrator. Its user and password would show in check's output.
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
