package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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

// public reports whether host:port may be reachable from public networks: every host is, except localhost and
// IP addresses that are loopback, private, unique local or link-local. listenProblem reports what is no
// host:port.
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
	for i, host := range o.Hosts {
		in.require(path("operations.hosts").item(i), hostname.MatchString(host),
			"wants a host name without a port, such as gateway.internal")
	}
	in.require("operations.address", !in.production || o.TLS != (TLS{}) || !public(o.Address),
		"is public, and without TLS the operations token would go over it in the clear: wants operations.tls, or "+
			"a loopback or private IP address")
	in.operationsTokens(o)
}

// operationsTokens notes the names of the tokens: acts are recorded by them, and no person may have one of them.
func (in *inspection) operationsTokens(o Operations) {
	digests := map[Digest]path{}
	check := func(token Secret, p path) {
		digest, problem := OperationsDigest(token)
		if problem == "" && in.production && !strings.HasPrefix(token.Reveal(), "sha256:") && weak(token.Reveal()) {
			problem = couldBeGuessed + "such as openssl rand -hex 16 prints, or sha256: and 64 hexadecimal digits"
		}
		unique(in, digests, digest, p, problem, "the same token as %s")
	}
	in.operators[OperatorName] = "operations.token"
	if o.Token != "" {
		check(o.Token, "operations.token")
	}
	for i, named := range o.Tokens {
		p := path("operations.tokens").item(i)
		check(named.Token, p.key("token"))
		name := strings.TrimSpace(named.Name)
		problem := nameProblem(name)
		if problem == "" && name == controllerName {
			problem = "is that of holds that a controller has set"
		}
		unique(in, in.operators, name, p.key("name"), problem, "already the name of %s")
	}
}

func (in *inspection) nodes(n Nodes, c *Config) {
	in.require("nodes", c.Store.Redis != "",
		"wants store.redis: nodes share the ranges of one Redis, and the embedded store has one process")
	in.require("nodes.name", len(n.Name) <= maxNodeName && hostname.MatchString(n.Name),
		"wants at most 253 letters, digits and . _ -, such as the machine's host name, and another one for each node")
	in.expect("nodes.address", listenProblem(n.Address))
	in.require("nodes.address", !sameListener(n.Address, c.HTTP.Address), "the same as http.address")
	in.require("nodes.address", !sameListener(n.Address, c.Operations.Address), "the same as operations.address")
	in.require("nodes.advertise", n.Advertise == "" || dialable(n.Advertise),
		"wants host:port, as the other nodes reach this one")
	complete := n.TLS.Certificate != "" && n.TLS.Key != "" && n.TLS.CA != ""
	in.require("nodes.tls", complete || n.TLS == (NodesTLS{}), "wants certificate, key and ca")
	in.require("nodes.tls", complete || !in.production,
		"missing; in production nodes know each other by certificate, key and ca, as they hand each other "+
			"everybody's requests")
	in.require("nodes.ttl", n.TTL >= MinNodesTTL, "wants at least 1s")
}

// maxNodeName is the length of the longest host name.
const maxNodeName = 253

// dialable accepts host:port with a host and a port that can be connected to.
func dialable(address string) bool {
	host, port, err := net.SplitHostPort(address)
	return err == nil && !everyInterface(host) && strings.Trim(port, "0") != "" && listenProblem(address) == ""
}

func (in *inspection) tls(t TLS, p path) {
	in.require(p.key("certificate"), t.Certificate != "" || t.Key == "", "missing; tls wants certificate and key")
	in.require(p.key("key"), t.Key != "" || t.Certificate == "", "missing; tls wants certificate and key")
}

// controllers checks the address that controllers dial. In production nobody on its network may read what
// crosses it, unless every range whose controllers dial accepts that.
func (in *inspection) controllers(c *Config) {
	dialled := *c.Controllers
	in.expect("controllers.address", listenProblem(dialled.Address))
	in.tls(dialled.TLS, "controllers.tls")
	in.proxies(dialled.TrustedProxies, dialled.BehindProxy, "controllers")
	in.require("controllers.admit", dialled.Admit <= MaxAdmit, fmt.Sprintf("at most %d new links a second", MaxAdmit))
	in.require("controllers.address", !sameListener(c.HTTP.Address, dialled.Address), "the same as http.address")
	in.require("controllers.address", !sameListener(c.Operations.Address, dialled.Address),
		"the same as operations.address")
	strict := slices.ContainsFunc(c.Ranges, func(r Range) bool {
		return !r.InsecureLinks && slices.ContainsFunc(r.Lanes, Lane.Incoming)
	})
	in.require("controllers.tls", !in.production || dialled.encrypted() || !strict,
		"missing; wants certificate and key in production, controllers.behind_proxy: true where a proxy in front "+
			"has TLS, or insecure_links: true in every range whose controllers dial")
}

// encrypted reports whether controllers dial with TLS, which ends here or at a proxy.
func (c Controllers) encrypted() bool { return c.TLS != (TLS{}) || c.BehindProxy }

func (in *inspection) proxies(trusted []string, behindProxy bool, section path) {
	in.require(section.key("trusted_proxies"), len(trusted) == 0 || behindProxy, "wants "+
		string(section.key("behind_proxy"))+": true")
	for i, text := range trusted {
		_, ok := network(text)
		in.require(section.key("trusted_proxies").item(i), ok, "wants an IP address, or a network such as 10.1.0.0/16")
	}
}

// Proxies returns the networks of the trusted proxies; an address is a network of one.
func (h HTTP) Proxies() []netip.Prefix { return networks(h.TrustedProxies) }

// Proxies is that of HTTP, for the address that controllers dial. Without one there is none.
func (c *Controllers) Proxies() []netip.Prefix {
	if c == nil {
		return nil
	}
	return networks(c.TrustedProxies)
}

func networks(trusted []string) []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range trusted {
		if prefix, ok := network(text); ok {
			networks = append(networks, prefix)
		}
	}
	return networks
}

// widestNetwork is the shortest prefix of a network of proxies, that of 10.0.0.0/8 and fd00::/8.
const widestNetwork = 8

// network parses an IPv4 or IPv6 address or network. It refuses a network with host bits, as 10.1.2.3/16 may mean
// 10.1.0.0/16 or 10.1.2.3, and networks of so many addresses that clients are among them, which could forge theirs.
func network(text string) (prefix netip.Prefix, ok bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), address.Zone() == ""
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix, err == nil && prefix.Bits() >= widestNetwork && prefix == prefix.Masked() && !prefix.Addr().Is4In6()
}

const (
	wantsRedis   = "wants redis://host:port/db or rediss://host:port/db"
	wantsTimeout = "as a duration such as 500ms, or a number of seconds"
	maxReplicas  = 64
)

// redisOptions are the query parameters of a Redis url, with what each wants; "" means any text.
var redisOptions = map[string]string{
	"addr":              "as host:port",
	"master_name":       "as the name that the Sentinels know the master by",
	"sentinel_username": "", "sentinel_password": "", "client_name": "",
	"wait_replicas": "as a number from 1 to " + strconv.Itoa(maxReplicas),
	"dial_timeout":  wantsTimeout, "read_timeout": wantsTimeout, "write_timeout": wantsTimeout,
	"pool_timeout": wantsTimeout,
	"skip_verify":  "as true or false, and rediss://",
}

// redisProblem checks the url of one server, of a cluster's nodes (addr), or of the Sentinels of a master
// (master_name). It quotes nothing of the url except the names of known options, as the url may carry
// passwords.
func redisProblem(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || !reachable(u) || u.Fragment != "" {
		return wantsRedis
	}
	database := strings.Trim(u.Path, "/")
	if _, err := strconv.ParseUint(database, 10, 16); err != nil && database != "" {
		return "wants a number for the database"
	}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return wantsRedis
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		wants, ok := redisOptions[name]
		if !ok {
			return "wants no other options than those of the documentation behind ?"
		}
		for _, value := range options[name] {
			if !redisOptionFits(name, value, u.Scheme == "rediss") {
				return "wants " + name + " " + wants
			}
		}
	}
	sentinel := options.Has("master_name")
	switch {
	case !sentinel && (options.Has("sentinel_username") || options.Has("sentinel_password")):
		return "wants master_name beside sentinel_username and sentinel_password"
	case !sentinel && options.Has("addr") && strings.Trim(database, "0") != "":
		return "wants database 0 in a cluster, which addr without master_name makes it"
	}
	return ""
}

// redisExposure says what a Redis on another host leaves open to whoever is on its network, and what mends
// it; "" if nothing. The url has no problem. What crosses the wire has the secret of the sign-ins.
func redisExposure(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	options := u.Query()
	hosts := []string{u.Hostname()}
	for _, node := range options["addr"] {
		if other, err := url.Parse("redis://" + node); err == nil {
			hosts = append(hosts, other.Hostname())
		}
	}
	if !slices.ContainsFunc(hosts, func(host string) bool { return !loopback(host) }) {
		return ""
	}
	unchecked, _ := strconv.ParseBool(options.Get("skip_verify"))
	_, password := u.User.Password()
	switch {
	case u.Scheme == "redis" && (password || options.Get("sentinel_password") != ""):
		return "would send its password to another host in the clear: wants rediss://, or a Redis at a loopback address"
	case u.Scheme == "redis":
		return "is read and written on another host without password and TLS: wants rediss:// and a password, a " +
			"Redis at a loopback address, or store.insecure: true"
	case unchecked:
		return "may be whatever answers on another host, as skip_verify checks no certificate: wants a certificate " +
			"that the machine trusts, or store.insecure: true"
	case !password:
		return "is read and written on another host without password: wants one, or store.insecure: true"
	}
	return ""
}

// loopback reports whether the host of an address is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

func redisOptionFits(name, value string, encrypted bool) bool {
	switch redisOptions[name] {
	case "":
		return true
	case wantsTimeout:
		seconds, err := strconv.Atoi(value)
		if err != nil {
			duration, err := time.ParseDuration(value)
			return err == nil && duration > 0
		}
		return seconds > 0
	}
	switch name {
	case "addr":
		u, err := url.Parse("redis://" + value)
		return err == nil && u.Host == value && reachable(u)
	case "wait_replicas":
		replicas, err := strconv.Atoi(value)
		return err == nil && replicas >= 1 && replicas <= maxReplicas
	case "skip_verify":
		return encrypted && (value == "true" || value == "false")
	}
	return value != "" // master_name
}

// maxOrigins bounds what every request is compared with.
const maxOrigins = 100

func (in *inspection) origins(origins []string, p path) {
	in.require(p, len(origins) > 0, "wants at least one origin, such as https://till.example.com")
	in.require(p, len(origins) <= maxOrigins, "wants at most 100 origins")
	taken := map[string]path{}
	for i, origin := range origins {
		unique(in, taken, strings.ToLower(origin), p.item(i), originProblem(origin, in.production), "the same as %s")
	}
}

// originProblem accepts what browsers send as the origin of a page: scheme, host, and a port that is not the
// scheme's own.
func originProblem(origin string, production bool) string {
	u, err := url.Parse(origin)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || !reachable(u) || strings.Contains(u.Host, "*") ||
		!strings.EqualFold(origin, u.Scheme+"://"+u.Host):
		return "wants scheme and host of a page alone, such as https://till.example.com or http://localhost:3000"
	case u.Port() != "" && u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme]:
		return "wants no port where it is that of the scheme: browsers leave it out"
	case production && u.Scheme == "http" && !loopback(u.Hostname()):
		return "wants https in production: whoever is on the network of a page over http can change it"
	}
	return ""
}
