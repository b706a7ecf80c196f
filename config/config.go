// Package config is the gateway's configuration: one tree of structs that mirrors the YAML file key by key.
//
// A configuration is read in four steps:
//
//	document     reads YAML into the structs and checks every key and value against them (document.go); a secret may be in a
//	             file of its own (files.go)
//	environment  applies the RANGEGATE_… variables, which may name such files too (environment.go)
//	complete     sets the default of every setting that is left out
//	validate     checks the rules that need several values, or more than a value's type (validate.go)
//
// All faults are returned at once, joined, each a [Fault]. No fault and no output of this package shows a secret.
package config

import (
	"cmp"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Config is the whole configuration of one gateway. Only the yaml tags name the keys: document, environment and the
// suggestions for mistyped keys use them.
type Config struct {
	Environment Environment  `yaml:"environment"` // default production
	HTTP        HTTP         `yaml:"http"`
	Operations  Operations   `yaml:"operations"`
	Controllers *Controllers `yaml:"controllers,omitempty"` // without it no controller dials in
	Log         Log          `yaml:"log"`
	Store       Store        `yaml:"store"`
	Telemetry   *Telemetry   `yaml:"telemetry,omitempty"` // nil: nothing is traced
	Nodes       *Nodes       `yaml:"nodes,omitempty"`     // nil: this process alone serves all ranges
	Ranges      []Range      `yaml:"ranges"`              // at least one
}

// Environment tells a demo from a gateway that real ranges depend on.
type Environment string

// The environments.
const (
	InPlayground Environment = "playground" // simulation endpoints, simulated lanes, plain http to the integrator
	InProduction Environment = "production"
)

// PublicOnly reports whether the gateway connects to public addresses of integrators only: in production, unless
// AllowPrivate is set.
func (e Environment) PublicOnly(allowPrivate bool) bool { return e == InProduction && !allowPrivate }

// HTTP is the address of the API and the screens.
type HTTP struct {
	Address string `yaml:"address"` // host:port, default 127.0.0.1:8080
	TLS     TLS    `yaml:"tls,omitempty"`
	// BehindProxy states that clients of public networks connect through a proxy that has TLS.
	BehindProxy bool `yaml:"behind_proxy,omitempty"`
	// InsecureHTTP accepts in production an address without TLS that other machines can reach.
	InsecureHTTP bool `yaml:"insecure_http,omitempty"`
	// TrustedProxies are the addresses, or networks such as 10.1.0.0/16, whose X-Forwarded-For and X-Forwarded-Proto
	// the gateway believes. They need BehindProxy.
	TrustedProxies []string `yaml:"trusted_proxies,omitempty"`
	Limits         Limits   `yaml:"limits"`
	CORS           *CORS    `yaml:"cors,omitempty"` // nil: only pages of the gateway itself may call it
}

// CORS names the origins whose pages may call the API in a browser: a POS that is a web page.
type CORS struct {
	// Origins are such as https://till.example.com. In production https, or http at this machine.
	Origins []string `yaml:"origins"`
}

// Origins returns the origins of pages that may call the API.
func (h HTTP) Origins() []string {
	if h.CORS == nil {
		return nil
	}
	return h.CORS.Origins
}

// Limits bounds the requests of clients; a request above a limit gets 429, of those that wait 503.
type Limits struct {
	Requests *Limit `yaml:"requests"` // per second and range, on average; default 1000
	Burst    *Limit `yaml:"burst"`    // at once, per range; default twice the requests; not 0 unless requests is 0
	Failures *Limit `yaml:"failures"` // requests with wrong credentials, per minute and address; default 60
	Waiting  *Limit `yaml:"waiting"`  // that wait for events, per range, at a time; default 100
}

// Limit is a number of requests. 0 means no limit.
type Limit int

// TLS names two PEM files: both are set, or neither.
type TLS struct {
	Certificate string `yaml:"certificate,omitempty"`
	Key         string `yaml:"key,omitempty"`
}

// Operations is the address of health, metrics and profiles.
type Operations struct {
	Address string `yaml:"address"` // host:port, default 127.0.0.1:9090
	TLS     TLS    `yaml:"tls,omitempty"`
	// Token and Tokens are for writes and profiles; without any these are off. Acts are recorded by a token's
	// name. That of Token is OperatorName.
	Token  Secret            `yaml:"token,omitempty"`
	Tokens []OperationsToken `yaml:"tokens,omitempty"`
	// Hosts are further host names that clients call the address by, beside that of Address, those of the
	// certificate and localhost.
	Hosts []string `yaml:"hosts,omitempty"`
	// FlightRecorder keeps the newest execution trace of the process, and dumps it when a session is stopped late.
	FlightRecorder bool `yaml:"flight_recorder,omitempty"`
}

// OperationsToken is a named token of the operations address: in production a text of 128 bits or more, or
// sha256:<64 hex>.
type OperationsToken struct {
	Name  string `yaml:"name"`
	Token Secret `yaml:"token"`
}

// OperatorName is the name of the operations token that has no other.
const OperatorName = "operator"

// All returns every token with its name.
func (o Operations) All() []OperationsToken {
	if o.Token == "" {
		return o.Tokens
	}
	return append([]OperationsToken{{OperatorName, o.Token}}, o.Tokens...)
}

// Controllers is the address that lane controllers dial: those of lanes with the driver incoming.
type Controllers struct {
	Address string `yaml:"address"` // host:port
	TLS     TLS    `yaml:"tls,omitempty"`
	// BehindProxy states that controllers connect through a proxy that has TLS.
	BehindProxy bool `yaml:"behind_proxy,omitempty"`
	// TrustedProxies are the addresses, or networks, whose X-Forwarded-For the gateway believes. They need BehindProxy.
	TrustedProxies []string `yaml:"trusted_proxies,omitempty"`
	Admit          int      `yaml:"admit"` // new links a second; default 500, at most MaxAdmit
}

// MaxAdmit is the highest number of new links a second.
const MaxAdmit = 100_000

// Log configures the log on standard error.
type Log struct {
	Level Level `yaml:"level"` // default info
}

// Level is the lowest level that is logged.
type Level string

// The log levels, lowest first.
const (
	Debug Level = "debug"
	Info  Level = "info"
	Warn  Level = "warn"
	Error Level = "error"
)

// Telemetry sends traces to a collector by OTLP over HTTP. The variables of OpenTelemetry (OTEL_…) count more than
// the file; see telemetry.go.
type Telemetry struct {
	Endpoint string   `yaml:"endpoint"`          // http or https URL of the collector, to which /v1/traces is added
	Headers  []Secret `yaml:"headers,omitempty"` // of each request to it, such as "authorization: Bearer …"
	Sample   *Share   `yaml:"sample"`            // of the traces, 0 to 1, that are recorded; default 1
	Sampler  string   `yaml:"sampler"`           // ParentDecides or ShareDecides, default the first
	Service  string   `yaml:"service"`           // service.name, default rangegate
	// Attributes are of the resource, such as deployment.environment.name=production.
	Attributes []string `yaml:"attributes,omitempty"`
}

// Share is a part of a whole, 0 to 1.
type Share float64

// Who decides whether a trace is recorded.
const (
	ParentDecides = "parent" // whoever has begun the trace; without one the share
	ShareDecides  = "share"  // the share alone
)

// Store configures where the gateway keeps its state: exactly one of SQLite and Redis.
type Store struct {
	SQLite string `yaml:"sqlite,omitempty"` // path of the file; default data/rangegate.db when Redis is empty too
	// redis:// or rediss:// url (redisOptions); a Secret, as it may carry passwords
	Redis Secret `yaml:"redis,omitempty"`
	// Insecure accepts in production a Redis on another host that whoever is on its network can read or take
	// the place of.
	Insecure  bool      `yaml:"insecure,omitempty"`
	Retention Retention `yaml:"retention"`
}

// Retention bounds what the store keeps of a range. Every value is more than 0.
type Retention struct {
	Events  time.Duration `yaml:"events"`  // default 720h on SQLite, 72h on Redis
	History time.Duration `yaml:"history"` // default 2160h on SQLite, 720h on Redis
	Names   time.Duration `yaml:"names"`   // customer names in the history; default 720h
	Cap     int           `yaml:"cap"`     // records per range, of any age; default 1,000,000
}

// Nodes makes this process one of several that share the ranges of one Redis. All of them may read the same
// file: Name and Address can be set for each by its environment.
type Nodes struct {
	Name    string `yaml:"name"`    // of this node, no other's; default the machine's host name
	Address string `yaml:"address"` // host:port that the node listens on for the other nodes; needed
	// Advertise is the host:port at which the others reach Address, where that is not the same.
	Advertise string   `yaml:"advertise,omitempty"`
	TLS       NodesTLS `yaml:"tls,omitempty"`
	// TTL is how long a node that is not heard of any more keeps its ranges from the others. Default 5s, at
	// least MinNodesTTL.
	TTL time.Duration `yaml:"ttl"`
}

// NodesTLS names the PEM files of the connections between nodes: all three are set, or none. Nodes accept each other's
// certificates by CA alone, as a client's and as a server's.
type NodesTLS struct {
	Certificate string `yaml:"certificate,omitempty"`
	Key         string `yaml:"key,omitempty"`
	CA          string `yaml:"ca,omitempty"`
}

// MinNodesTTL is the least TTL: a node renews five times in it, and a pause of the runtime or of Redis must
// not cost a lease.
const MinNodesTTL = time.Second

// AdvertisedAddress is the host:port at which the other nodes reach this one. listening is the address that
// it has bound for Address, where the port may have been chosen by the system.
func (n Nodes) AdvertisedAddress(listening string) string {
	if n.Advertise != "" {
		return n.Advertise
	}
	host, _, _ := net.SplitHostPort(n.Address)
	_, port, _ := net.SplitHostPort(listening)
	if everyInterface(host) {
		host = n.Name
	}
	return net.JoinHostPort(host, port)
}

// Range is one shooting range with its credentials and its layout.
type Range struct {
	ID         uuid.UUID    `yaml:"id"`
	Name       string       `yaml:"name"`
	Token      Secret       `yaml:"token,omitempty"` // a single token; complete moves it to Tokens
	Tokens     []RangeToken `yaml:"tokens"`          // several of several POS systems, or during rotation
	Purchasing bool         `yaml:"purchasing"`
	Currency   string       `yaml:"currency,omitempty"` // of prices, such as EUR; empty: none is shown
	OnLinkLoss LinkLoss     `yaml:"on_link_loss"`       // default run_out
	LinkTLS    LinkTLS      `yaml:"link_tls,omitempty"`
	// time for which a lane with a link that is down stays usable; default 30s
	LinkGrace time.Duration `yaml:"link_grace"`
	// ClearAfter is how long after a session's end its lane counts as clear without anybody's word; default 2m.
	ClearAfter      time.Duration `yaml:"clear_after"`
	SellBeforeClear bool          `yaml:"sell_before_clear"` // the POS may sell a lane that is not clear; default true
	// Warnings are the times left at which a session is warned before its time is used up; none: it is not.
	Warnings []time.Duration `yaml:"warnings,omitempty"`
	// Grace is how long a session stays on its lane once its time is used up, if it was sold with that; 0: it does
	// not. GraceForAll has every session stay.
	Grace       time.Duration `yaml:"grace,omitempty"`
	GraceForAll bool          `yaml:"grace_for_all,omitempty"`
	// Hours are the opening hours: no sale may end after the range has closed. nil: it is always open.
	Hours    *Hours    `yaml:"hours,omitempty"`
	Webhook  *Webhook  `yaml:"webhook,omitempty"`  // the only one: it gets every event and decides purchases
	Webhooks []Webhook `yaml:"webhooks,omitempty"` // several, instead of it; see Receivers
	Products *Products `yaml:"products,omitempty"`
	Staff    []Staff   `yaml:"staff,omitempty"`
	Board    *Board    `yaml:"board,omitempty"` // nil: the range has no wall board
	// ReleaseCeasefire is the least role that ends a ceasefire over the range on the control screen; default staff.
	ReleaseCeasefire Role `yaml:"release_ceasefire"`
	// Presets are the sales that the control screen offers as one button each, in its order; without any it
	// has minutes of its own.
	Presets []Preset `yaml:"presets,omitempty"`
	Groups  []Group  `yaml:"groups"` // at least one
	Bays    []Bay    `yaml:"bays"`   // at least one
	Lanes   []Lane   `yaml:"lanes"`  // at least one, in display order

	// InsecureLinks permits links in production that lack TLS or a key: with the websocket driver wss,
	// link_tls or a key.
	InsecureLinks bool `yaml:"insecure_links,omitempty"`
}

// RangeToken is what a POS of the range has: a UUID or sha256:<64 hex>. In the file it is that text alone, or
// a section.
type RangeToken struct {
	Token Secret `yaml:"token"`
	// Name is by which what its holder does is recorded: in the range no other token's nor a person's.
	// Without one it is not recorded.
	Name  string `yaml:"name,omitempty"`
	Scope Scope  `yaml:"scope"` // default sell
}

// MarshalYAML writes a token with nothing but its text as that text.
func (t RangeToken) MarshalYAML() (any, error) {
	if t.Name == "" && t.Scope == ScopeSell {
		return t.Token, nil
	}
	type section RangeToken
	return section(t), nil
}

// Scope is what a POS may do with a token.
type Scope string

// The scopes.
const (
	ScopeRead Scope = "read" // read everything of the range, change nothing
	ScopeSell Scope = "sell" // all that a POS does
)

// LinkLoss tells a lane controller what to do with a running session when it loses the gateway.
type LinkLoss string

// What a lane controller can do when it loses the gateway.
const (
	RunOut LinkLoss = "run_out" // the session runs to its end
	Hold   LinkLoss = "hold"    // the fire line is locked until the link is back
)

// LinkTLS names the certificates that the range's lane controllers at wss:// addresses may have; at most one of the two
// is set. Without either the machine's own list of authorities decides.
type LinkTLS struct {
	CA string `yaml:"ca,omitempty"` // a PEM file: certificates signed by one of these
	// sha256: and 64 hexadecimal digits: that one certificate (of its DER)
	Fingerprint string `yaml:"fingerprint,omitempty"`
}

// Webhook configures where and how an integrator receives events.
type Webhook struct {
	// Name tells the range's webhooks apart in the event log, where it stays, in logs and in metrics. Of one
	// in Webhooks the default is the host in URL.
	Name    string   `yaml:"name,omitempty"`
	URL     string   `yaml:"url"`               // https; http in the playground
	Secrets []Secret `yaml:"secrets,omitempty"` // whsec_<base64>, at most two; two during rotation
	// the events that it gets, some of EventKinds; none: all but the last three
	Kinds []string `yaml:"kinds,omitempty"`
	// it decides purchases, as one of Webhooks does and Webhook always
	Purchases bool          `yaml:"purchases,omitempty"`
	Timeout   time.Duration `yaml:"timeout"` // of one attempt, default 10s
	// attempts at a time, default 16; purchases have slots of their own
	Concurrency int    `yaml:"concurrency"`
	Queue       int    `yaml:"queue"`           // events that may wait, default 10,000; above it the oldest are dropped
	Retry       *Retry `yaml:"retry,omitempty"` // nil: each event is attempted once
	// AllowPrivate permits loopback, private, link-local and multicast addresses of the URL in production. No
	// redirect is followed, so it opens nothing else.
	AllowPrivate bool `yaml:"allow_private,omitempty"`
}

// Retry has events attempted again whose delivery failed.
type Retry struct {
	// from the first attempt on, default 24h; at least MinRetryFor, at most the events' retention
	For time.Duration `yaml:"for"`
}

// MinRetryFor is the least For: for a minute an event keeps its order, and that a receiver is away for less
// is what retries are for.
const MinRetryFor = time.Minute

// Products configures the integrator's products API.
type Products struct {
	URL     string        `yaml:"url"`     // https; http in the playground; without the /products at its end
	Timeout time.Duration `yaml:"timeout"` // of one request, default 5s

	// AllowPrivate permits a private address of the URL in production: for its scheme, host and port alone,
	// of products and pictures alike.
	AllowPrivate bool `yaml:"allow_private,omitempty"`
}

// PrivateURL returns the URL whose scheme, host and port may have a private address in production, or "".
func (p *Products) PrivateURL() string {
	if !p.AllowPrivate {
		return ""
	}
	return p.URL
}

// Staff is one person who may sign in on the range's control screen.
type Staff struct {
	Name    string `yaml:"name"`
	PinHash Secret `yaml:"pin_hash"` // the output of the command hash-pin
	Role    Role   `yaml:"role"`     // default staff
}

// Board configures the wall boards of the range, which show all of its lanes to whoever passes by.
type Board struct {
	Key   Secret `yaml:"key"`             // 16 to 128 letters, digits, . _ ~ -
	Names bool   `yaml:"names,omitempty"` // customers' names are shown: the first word, and the initial of the last one
}

// Role is what a person of the staff may do.
type Role string

// The roles. An officer may do what staff may, and end a ceasefire that is kept for officers (ReleaseCeasefire).
const (
	RoleStaff   Role = "staff"
	RoleOfficer Role = "officer"
)

// Preset is a sale of so many minutes, to an access group or to the one that staff have chosen.
type Preset struct {
	Minutes int        `yaml:"minutes"`         // 1 to MaxSessionMinutes
	Group   *uuid.UUID `yaml:"group,omitempty"` // a group of the range; nil: the chosen one
	Grace   bool       `yaml:"grace,omitempty"` // the session has the grace of the range
	// OpenEnd is how many minutes may be used in all, as the session goes on once Minutes are used up; 0: it does not.
	OpenEnd int `yaml:"open_end,omitempty"`
}

// MaxSessionMinutes is the length of the longest session.
const MaxSessionMinutes = 480

// Group is an access group of the range.
type Group struct {
	ID    uuid.UUID `yaml:"id"`
	Name  string    `yaml:"name"`
	Hours *Hours    `yaml:"hours,omitempty"` // its own, within the range's: no sale to it may end outside of both
}

// Bay is a container that groups lanes.
type Bay struct {
	ID   uuid.UUID `yaml:"id"`
	Name string    `yaml:"name"`
	// its own, within the range's: no sale on its lanes may end outside of both
	Hours *Hours `yaml:"hours,omitempty"`
}

// Lane is one lane and the hardware behind it.
type Lane struct {
	ID         uuid.UUID `yaml:"id"`
	Name       string    `yaml:"name"`
	Bay        uuid.UUID `yaml:"bay"`        // a bay of the same range
	Accessible bool      `yaml:"accessible"` // default true
	// of the lane screen, 16 to 128 letters, digits, . _ ~ -; empty: no lane screen
	ScreenKey Secret `yaml:"screen_key,omitempty"`
	Link      Link   `yaml:"link"`
}

// Link configures the connection to the lane's controller.
type Link struct {
	Driver string `yaml:"driver"` // sim, websocket or incoming, default sim
	// of websocket: ws:// or wss:// url, each lane's own; the others have none
	Address string `yaml:"address,omitempty"`
	// that both sides prove to have, of MinLinkKey characters or more; empty: none
	Key Secret `yaml:"key,omitempty"`
}

// The link drivers of this release.
const (
	DriverSim       = "sim"       // simulated hardware, in process
	DriverWebSocket = "websocket" // LINK.md version 1: the gateway dials
	DriverIncoming  = "incoming"  // the same: the controller dials
)

// Sells reports whether customers can buy at the lanes: purchases need a webhook.
func (r Range) Sells() bool {
	return r.Purchasing && slices.ContainsFunc(r.Receivers(), func(w Webhook) bool { return w.Purchases })
}

// Receivers returns the range's webhooks, whichever way they are configured.
func (r Range) Receivers() []Webhook {
	if r.Webhook == nil {
		return r.Webhooks
	}
	only := *r.Webhook
	only.Purchases = true
	return []Webhook{only}
}

// EventKinds are the kinds of events that a webhook can have without the others.
var EventKinds = []string{
	"help", "carrierHit", "sessionCreated", "sessionStarted", "sessionPaused", "sessionResumed", "sessionStopped",
	"sessionModified",
	"sessionEnding", sessionExpired, "sessionBeyond",
}

// sessionExpired is made only where a webhook of the range names it.
const sessionExpired = "sessionExpired"

// TellsExpired reports whether a webhook of the range wants to be told that the time of a session is used up.
func (r Range) TellsExpired() bool {
	return slices.ContainsFunc(r.Receivers(), func(w Webhook) bool { return slices.Contains(w.Kinds, sessionExpired) })
}

const day = 24 * time.Hour

// complete sets the default of every setting that was left out. Zero means left out: no duration and no number of this
// configuration may be 0, except a Limit, which is a pointer.
func (c *Config) complete() {
	c.Environment = cmp.Or(c.Environment, InProduction)
	c.HTTP.Address = cmp.Or(c.HTTP.Address, "127.0.0.1:8080")
	c.Operations.Address = cmp.Or(c.Operations.Address, "127.0.0.1:9090")
	c.Log.Level = cmp.Or(c.Log.Level, Info)
	c.HTTP.Limits.complete()
	if c.Controllers != nil {
		c.Controllers.Admit = cmp.Or(c.Controllers.Admit, 500)
	}
	c.Store.complete()
	if t := c.Telemetry; t != nil {
		t.complete()
	}
	if c.Nodes != nil {
		c.Nodes.complete()
	}
	for i := range c.Ranges {
		c.Ranges[i].complete()
	}
}

func (l *Limits) complete() {
	l.Requests = cmp.Or(l.Requests, ptr(1000))
	l.Burst = cmp.Or(l.Burst, ptr(2**l.Requests))
	l.Failures = cmp.Or(l.Failures, ptr(60))
	l.Waiting = cmp.Or(l.Waiting, ptr(100))
}

func ptr(l Limit) *Limit { return &l }

// complete keeps records for a shorter time on Redis, where they occupy memory.
func (s *Store) complete() {
	events, history := 3*day, 30*day
	if s.Redis == "" {
		s.SQLite = cmp.Or(s.SQLite, "data/rangegate.db")
		events, history = 30*day, 90*day
	}
	s.Retention.Events = cmp.Or(s.Retention.Events, events)
	s.Retention.History = cmp.Or(s.Retention.History, history)
	s.Retention.Names = cmp.Or(s.Retention.Names, 30*day)
	s.Retention.Cap = cmp.Or(s.Retention.Cap, 1_000_000)
}

func (n *Nodes) complete() {
	if n.Name == "" {
		n.Name, _ = os.Hostname() // without one validate asks for a name
	}
	n.TTL = cmp.Or(n.TTL, 5*time.Second)
}

func (r *Range) complete() {
	if r.Token != "" {
		r.Tokens, r.Token = append(r.Tokens, RangeToken{Token: r.Token}), ""
	}
	for i := range r.Tokens {
		r.Tokens[i].Scope = cmp.Or(r.Tokens[i].Scope, ScopeSell)
	}
	r.OnLinkLoss = cmp.Or(r.OnLinkLoss, RunOut)
	r.LinkGrace = cmp.Or(r.LinkGrace, 30*time.Second)
	r.ClearAfter = cmp.Or(r.ClearAfter, 2*time.Minute)
	r.ReleaseCeasefire = cmp.Or(r.ReleaseCeasefire, RoleStaff)
	r.completeSchedules()
	for i := range r.Staff {
		r.Staff[i].Role = cmp.Or(r.Staff[i].Role, RoleStaff)
	}
	if r.Webhook != nil {
		r.Webhook.complete()
	}
	for i := range r.Webhooks {
		w := &r.Webhooks[i]
		w.complete()
		if to, err := url.Parse(w.URL); err == nil {
			w.Name = cmp.Or(w.Name, to.Hostname())
		}
	}
	if p := r.Products; p != nil {
		p.Timeout = cmp.Or(p.Timeout, 5*time.Second)
	}
	for i := range r.Lanes {
		link := &r.Lanes[i].Link
		link.Driver = cmp.Or(link.Driver, DriverSim)
	}
}

func (w *Webhook) complete() {
	w.Timeout = cmp.Or(w.Timeout, 10*time.Second)
	w.Concurrency = cmp.Or(w.Concurrency, 16)
	w.Queue = cmp.Or(w.Queue, 10_000)
	if w.Retry != nil {
		w.Retry.For = cmp.Or(w.Retry.For, day)
	}
}
