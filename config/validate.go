package config

import (
	"slices"

	"github.com/google/uuid"
)

// Validate returns every broken rule of a complete configuration, joined. Load, Parse and Override call it too.
func (c Config) Validate() error {
	var found faults
	c.validate(&found)
	return found.err()
}

// inspection is one walk over the configuration. Its maps hold the values that must be unique in all ranges.
type inspection struct {
	found      *faults
	production bool
	ranges     map[uuid.UUID]path // range ids
	lanes      map[uuid.UUID]path // lane ids
	tokens     map[Digest]path
	links      map[string]path // controllers' addresses
	screens    map[string]path // lane screens' keys
}

func (c *Config) validate(found *faults) {
	in := inspection{
		found:      found,
		production: c.Environment == InProduction,
		ranges:     map[uuid.UUID]path{},
		lanes:      map[uuid.UUID]path{},
		tokens:     map[Digest]path{},
		links:      map[string]path{},
		screens:    map[string]path{},
	}
	if c.Environment != InPlayground && c.Environment != InProduction {
		found.add("environment", "wants playground or production")
	}
	in.http(c.HTTP)
	in.operations(c.Operations)
	if sameListener(c.HTTP.Address, c.Operations.Address) {
		found.add("operations.address", "the same as http.address")
	}
	if !slices.Contains([]Level{Debug, Info, Warn, Error}, c.Log.Level) {
		found.add("log.level", "wants debug, info, warn or error")
	}
	in.store(c.Store)
	if len(c.Ranges) == 0 {
		found.add("ranges", "wants at least one range")
	}
	for i := range c.Ranges {
		in.shootingRange(&c.Ranges[i], path("ranges").item(i))
	}
}

func (in *inspection) http(h HTTP) {
	in.expect("http.address", listenProblem(h.Address))
	if *h.Limits.Requests > 0 && *h.Limits.Burst == 0 {
		in.found.add("http.limits.burst", "must be more than 0 while requests is limited")
	}
	in.tls(h.TLS, "http.tls")
	in.proxies(h)
	if in.production && h.TLS == (TLS{}) && !h.BehindProxy && public(h.Address) {
		in.found.add("http.address", "is public, and without TLS tokens and names would go over it in the clear: wants "+
			"http.tls, a loopback or private IP address, or http.behind_proxy: true where a proxy in front has TLS")
	}
}

func (in *inspection) store(s Store) {
	switch {
	case s.SQLite != "" && s.Redis != "":
		in.found.add("store", "two stores, sqlite and redis; choose one")
	case s.SQLite == "" && s.Redis == "":
		in.found.add("store", "no store; choose sqlite or redis")
	}
	if s.Redis != "" {
		in.expect("store.redis", redisProblem(s.Redis.Reveal()))
	}
	in.expect("store.retention.events", positive(s.Retention.Events))
	in.expect("store.retention.history", positive(s.Retention.History))
	in.expect("store.retention.names", positive(s.Retention.Names))
	in.expect("store.retention.cap", positive(s.Retention.Cap))
}

// expect adds a fault unless the problem is empty.
func (in *inspection) expect(p path, problem string) {
	if problem != "" {
		in.found.add(p, "%s", problem)
	}
}

// unique notes the place of a value, or adds the fault when another place has it already.
func unique[V comparable](in *inspection, taken map[V]path, value V, p path, problem string) {
	if first, ok := taken[value]; ok {
		in.found.add(p, problem, first)
		return
	}
	taken[value] = p
}

// claim notes an id in all of the maps, or adds a fault when one of them has it already.
func (in *inspection) claim(id uuid.UUID, p path, taken ...map[uuid.UUID]path) {
	if id == uuid.Nil {
		in.found.add(p.key("id"), "missing; %s", wantsID)
		return
	}
	for _, ids := range taken {
		if first, duplicate := ids[id]; duplicate {
			in.found.add(p.key("id"), "already the id of %s", first)
			return
		}
	}
	for _, ids := range taken {
		ids[id] = p
	}
}
