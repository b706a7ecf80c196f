package config

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

func (in *inspection) link(l Link, p path) {
	in.expect(p.key("driver"), driverProblem(l.Driver))
	switch l.Driver {
	case DriverSim:
		if l.Address != "" {
			in.found.add(p.key("address"), "the sim driver takes no address")
		}
		if in.production {
			in.found.add(p.key("driver"), "the sim driver is for the playground")
		}
	case DriverWebSocket:
		in.controller(l.Address, p.key("address"))
	}
}

// controller checks the address of a lane's controller. Each lane has an address of its own.
func (in *inspection) controller(address string, p path) {
	if problem := controllerProblem(address); problem != "" {
		in.found.add(p, "%s", problem)
		return
	}
	unique(in, in.links, address, p, "the same as %s")
}

func controllerProblem(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return "missing; the websocket driver wants a ws or wss url"
	case err != nil || (u.Scheme != "ws" && u.Scheme != "wss") || !reachable(u) || u.Fragment != "":
		return "wants an absolute ws or wss url"
	case u.User != nil:
		return "wants a url without user and password"
	}
	return ""
}

func (in *inspection) linkTLS(t LinkTLS, p path) {
	if t.CA != "" && t.Fingerprint != "" {
		in.found.add(p, "two ways to trust, ca and fingerprint; choose one")
	}
	if t.Fingerprint != "" {
		if _, ok := t.Pin(); !ok {
			in.found.add(p.key("fingerprint"), "wants sha256: and 64 hexadecimal digits")
		}
	}
}

// Pin returns the configured fingerprint; ok is false without one.
func (t LinkTLS) Pin() (pin [sha256.Size]byte, ok bool) {
	digits, ok := strings.CutPrefix(t.Fingerprint, "sha256:")
	if !ok || len(digits) != hex.EncodedLen(len(pin)) {
		return pin, false
	}
	_, err := hex.Decode(pin[:], []byte(digits))
	return pin, err == nil
}

func driverProblem(driver string) string {
	if driver == DriverSim || driver == DriverWebSocket {
		return ""
	}
	return "no such driver; this release has sim and websocket"
}

// secured reports whether the range has a controller at a wss:// address.
func (r Range) secured() bool {
	return slices.ContainsFunc(r.Lanes, func(l Lane) bool { return strings.HasPrefix(l.Link.Address, "wss:") })
}

// Unused lists the paths of the settings that have no effect because another setting is missing.
func (c Config) Unused() []string {
	var unused []string
	for i, r := range c.Ranges {
		p := path("ranges").item(i)
		for key, configured := range map[string]bool{
			"purchasing": r.Purchasing && !r.Sells(), "link_tls": r.LinkTLS != LinkTLS{} && !r.secured(),
		} {
			if configured {
				unused = append(unused, string(p.key(key)))
			}
		}
	}
	slices.Sort(unused)
	return unused
}
