package preflight

import "context"

// configuration has been read, and keeps every rule: what is left is what has no effect, or a poor one.
func (s Settings) configuration(context.Context) (all []Finding) {
	lanes := 0
	for _, r := range s.Config.Ranges {
		lanes += len(r.Lanes)
	}
	all = append(all, ok("configuration", "%s: %s, %s", s.Config.Environment, count(len(s.Config.Ranges), "range"), count(lanes, "lane")))
	for _, path := range s.Config.Unused() {
		all = append(all, Finding{Warn, "configuration", path + " has no effect", "take it out, or add what it needs to have one"})
	}
	if h := s.Config.HTTP; h.BehindProxy && len(h.TrustedProxies) == 0 {
		all = append(all, Finding{
			Warn, "configuration", "http.behind_proxy without http.trusted_proxies: all clients count as one address, the proxy's",
			"name the proxy's address in http.trusted_proxies",
		})
	}
	return all
}
