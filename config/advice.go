package config

import (
	"cmp"
	"fmt"
	"net"
	"slices"
)

// Unused lists the paths of the settings that have no effect because another setting is missing.
func (c Config) Unused() []string {
	var unused []string
	if c.Controllers != nil && !slices.ContainsFunc(c.Ranges,
		func(r Range) bool { return slices.ContainsFunc(r.Lanes, Lane.Incoming) }) {
		unused = append(unused, "controllers")
	}
	if c.Store.Insecure && (c.Environment != InProduction || !c.Store.Exposed()) {
		unused = append(unused, "store.insecure")
	}
	for i, r := range c.Ranges {
		p := path("ranges").item(i)
		secured := slices.ContainsFunc(r.Lanes, func(l Lane) bool { return l.secured() })
		if r.LinkTLS != (LinkTLS{}) && !secured {
			unused = append(unused, string(p.key("link_tls")))
		}
		if r.InsecureLinks && (c.Environment != InProduction || len(c.InsecureLanes(r)) == 0) {
			unused = append(unused, string(p.key("insecure_links")))
		}
		if r.Purchasing && !r.Sells() {
			unused = append(unused, string(p.key("purchasing")))
		}
	}
	return unused
}

// Exposure is a setting of production that leaves something open to whoever is on a network.
type Exposure struct {
	Path    string
	Problem string // what is open, and to whom
	Remedy  string
}

// Exposures lists what the configuration leaves open although every rule is kept. In the playground it is nothing.
func (c Config) Exposures() (all []Exposure) {
	if c.Environment != InProduction {
		return nil
	}
	if plainOverNetwork(c.HTTP.Address, c.HTTP.TLS) {
		open := Exposure{
			"http.address", "is plain HTTP: whoever is on that network reads tokens, PINs and customers' names",
			"set http.tls, or a loopback address with a proxy that has TLS on this machine",
		}
		if c.HTTP.BehindProxy {
			open.Problem = "is plain HTTP between the proxy and the gateway: whoever is on that network reads " +
				"tokens, PINs and customers' names"
		}
		all = append(all, open)
	}
	if plainOverNetwork(c.Operations.Address, c.Operations.TLS) {
		all = append(all, Exposure{
			"operations.address", "is plain HTTP: whoever is on that network reads the operations token",
			"set operations.tls, or a loopback address",
		})
	}
	if dialled := c.Controllers; dialled != nil && dialled.BehindProxy &&
		plainOverNetwork(dialled.Address, dialled.TLS) {
		all = append(all, Exposure{
			"controllers.address", "is plain HTTP between the proxy and the gateway: whoever is on that network " +
				"reads customers' names, and can change what a controller with a proven link is told",
			"set controllers.tls, or a loopback address with the proxy on this machine",
		})
	}
	if c.Store.Exposed() {
		all = append(all, Exposure{
			"store.insecure", "leaves the Redis open: whoever is on its network can read and change what the ranges " +
				"have, and forge sign-ins",
			"use rediss:// with a password and a certificate that this machine trusts, or a Redis at " +
				"a loopback address",
		})
	}
	for i, r := range c.Ranges {
		if insecure := len(c.InsecureLanes(r)); insecure > 0 {
			all = append(all, Exposure{
				string(path("ranges").item(i).key("insecure_links")),
				fmt.Sprintf("leaves %d of %d lanes with a link without wss, link_tls or key: whoever is on their "+
					"network can take them over", insecure, len(r.Lanes)),
				"give each controller a certificate and a key",
			})
		}
		for n, w := range r.Receivers() {
			if len(w.Secrets) > 0 {
				continue
			}
			p := path("ranges").item(i).key("webhook")
			if r.Webhook == nil {
				p = path("ranges").item(i).key("webhooks").item(n)
			}
			all = append(all, Exposure{
				string(p.key("secrets")),
				"has no secret: the integrator cannot tell the gateway's events from forged ones",
				"agree on one with the integrator",
			})
		}
	}
	return all
}

// Exposed reports whether whoever is on the network of the Redis can read it or take its place. In production
// that needs Insecure.
func (s Store) Exposed() bool { return s.Redis != "" && redisExposure(s.Redis.Reveal()) != "" }

// plainOverNetwork reports whether the address is served without TLS to other machines.
func plainOverNetwork(address string, t TLS) bool {
	host, _, err := net.SplitHostPort(address)
	return t == (TLS{}) && err == nil && !loopback(cmp.Or(host, "0.0.0.0"))
}
