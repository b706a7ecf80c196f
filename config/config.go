// Package config is what the operator decides: one tree of structs that mirrors the YAML file key by key.
//
// Reading goes file, environment, defaults, rules:
//
//	document     YAML to the tree, every key and value checked against the structs below (document.go)
//	environment  RANGEGATE_… variables laid over it (environment.go)
//	complete     what was left out gets its default (defaults.go)
//	validate     the rules that need more than one value, or more than its type (validate.go)
//
// All faults come back at once, joined, each a [Fault]. No fault and no output of this package shows a secret.
package config

import (
	"time"

	"github.com/google/uuid"
)

// Config is the whole configuration of one gateway. The yaml tags are the only place where keys are named: reading,
// the environment and the suggestions for mistyped keys all go by them.
type Config struct {
	Environment Environment `yaml:"environment"` // default production
	HTTP        HTTP        `yaml:"http"`
	Operations  Operations  `yaml:"operations"`
	Log         Log         `yaml:"log"`
	Store       Store       `yaml:"store"`
	Ranges      []Range     `yaml:"ranges"` // at least one
}

// Environment says whether real ranges depend on this gateway.
type Environment string

const (
	InPlayground Environment = "playground" // simulation endpoints, simulated lanes, plain http to the integrator
	InProduction Environment = "production"
)

// HTTP is the address of the API and the screens.
type HTTP struct {
	Address string `yaml:"address"` // host:port, default 127.0.0.1:8080
	TLS     TLS    `yaml:"tls,omitempty"`
	// BehindProxy says that whoever comes from a public network comes through a proxy that has TLS.
	BehindProxy bool `yaml:"behind_proxy,omitempty"`
	// TrustedProxies are addresses, or networks such as 10.1.0.0/16, whose X-Forwarded-For and X-Forwarded-Proto are
	// believed. Only with BehindProxy; without any nobody's are.
	TrustedProxies []string `yaml:"trusted_proxies,omitempty"`
	Limits         Limits   `yaml:"limits"`
}

// Limits bounds what one client may ask for; what is beyond is answered 429.
type Limits struct {
	Requests *Limit `yaml:"requests"` // a second and range, in the long run; default 1000
	Burst    *Limit `yaml:"burst"`    // at once, of a range; default twice the requests; not 0 while requests is not
	Failures *Limit `yaml:"failures"` // requests with wrong credentials, a minute and address; default 60
}

// Limit is a number of requests. 0 is no limit.
type Limit int

// TLS names two PEM files. Both or none.
type TLS struct {
	Certificate string `yaml:"certificate,omitempty"`
	Key         string `yaml:"key,omitempty"`
}

// Operations is the address of health, metrics and profiles.
type Operations struct {
	Address string `yaml:"address"` // host:port, default 127.0.0.1:9090
	TLS     TLS    `yaml:"tls,omitempty"`
	Token   Secret `yaml:"token,omitempty"` // for writes and profiles; empty: nobody may
}

// Log is what is written to standard error.
type Log struct {
	Level Level `yaml:"level"` // default info
}

// Level is how grave something must be to be logged.
type Level string

// The levels, from what is only for finding out to what somebody has to see to.
const (
	Debug Level = "debug"
	Info  Level = "info"
	Warn  Level = "warn"
	Error Level = "error"
)

// Store is where the gateway keeps its state: exactly one of SQLite and Redis.
type Store struct {
	SQLite    string    `yaml:"sqlite,omitempty"` // path of the file; default data/rangegate.db when Redis is empty too
	Redis     Secret    `yaml:"redis,omitempty"`  // redis:// or rediss:// url (redisOptions); a Secret, as it may carry passwords
	Retention Retention `yaml:"retention"`
}

// Retention bounds what a range keeps. All are more than 0.
type Retention struct {
	Events  time.Duration `yaml:"events"`  // default 720h on SQLite, 72h on Redis
	History time.Duration `yaml:"history"` // default 2160h on SQLite, 720h on Redis
	Names   time.Duration `yaml:"names"`   // customer names in the history; default 720h
	Cap     int           `yaml:"cap"`     // records a range, whatever their age; default 1,000,000
}

// Range is one shooting range with its credentials and its layout.
type Range struct {
	ID         uuid.UUID     `yaml:"id"`
	Name       string        `yaml:"name"`
	Token      Secret        `yaml:"token,omitempty"` // the short way to write one token; always empty once read, see Tokens
	Tokens     []Secret      `yaml:"tokens"`          // each a UUID or sha256:<64 hex>; several during rotation
	Purchasing bool          `yaml:"purchasing"`
	OnLinkLoss LinkLoss      `yaml:"on_link_loss"` // default run_out
	LinkTLS    LinkTLS       `yaml:"link_tls,omitempty"`
	LinkGrace  time.Duration `yaml:"link_grace"` // how long a lane whose link is down stays usable; default 30s
	Webhook    *Webhook      `yaml:"webhook,omitempty"`
	Products   *Products     `yaml:"products,omitempty"`
	Staff      []Staff       `yaml:"staff,omitempty"`
	Groups     []Group       `yaml:"groups"` // at least one
	Bays       []Bay         `yaml:"bays"`   // at least one
	Lanes      []Lane        `yaml:"lanes"`  // at least one, in display order
}

// LinkLoss is what the lane controller does with a running session when it loses the gateway.
type LinkLoss string

const (
	RunOut LinkLoss = "run_out" // the session runs to its end
	Hold   LinkLoss = "hold"    // the fire line is locked until the link is back
)

// LinkTLS says which certificates are trusted of the range's lane controllers at wss:// addresses; at most one of the
// two. Without either they need one that every program on this machine trusts.
type LinkTLS struct {
	CA          string `yaml:"ca,omitempty"`          // a PEM file: certificates signed by one of these
	Fingerprint string `yaml:"fingerprint,omitempty"` // sha256: and 64 hexadecimal digits: that one certificate (of its DER)
}

// Webhook is where the integrator receives events.
type Webhook struct {
	URL         string        `yaml:"url"`               // https; http in the playground
	Secrets     []Secret      `yaml:"secrets,omitempty"` // whsec_<base64>, at most two; two during rotation
	Timeout     time.Duration `yaml:"timeout"`           // of one attempt, default 10s
	Concurrency int           `yaml:"concurrency"`       // attempts at a time, default 16; purchases have their own
	Queue       int           `yaml:"queue"`             // events that may wait, default 10,000; beyond, the oldest are dropped
	// In production an address that is loopback, private, link-local or multicast is refused, whatever the name of the
	// host, unless this is true.
	AllowPrivate bool `yaml:"allow_private,omitempty"`
}

// Products is where the integrator's products API answers.
type Products struct {
	URL     string        `yaml:"url"`     // https; http in the playground; without the /products at its end
	Timeout time.Duration `yaml:"timeout"` // of one request, default 5s

	AllowPrivate bool `yaml:"allow_private,omitempty"` // as with the webhook
}

// Staff is one person who may sign in on the range's control screen.
type Staff struct {
	Name    string `yaml:"name"`
	PinHash Secret `yaml:"pin_hash"` // what the command hash-pin makes of the PIN
}

// Group is an access group of the range.
type Group struct {
	ID   uuid.UUID `yaml:"id"`
	Name string    `yaml:"name"`
}

// Bay is a container that groups lanes.
type Bay struct {
	ID   uuid.UUID `yaml:"id"`
	Name string    `yaml:"name"`
}

// Lane is one lane and the hardware behind it.
type Lane struct {
	ID         uuid.UUID `yaml:"id"`
	Name       string    `yaml:"name"`
	Bay        uuid.UUID `yaml:"bay"`                       // a bay of the same range
	Accessible bool      `yaml:"accessible" default:"true"` // a tag, as false is an answer and not the lack of one
	ScreenKey  Secret    `yaml:"screen_key,omitempty"`      // of the lane screen, 16 to 128 letters, digits, . _ ~ -; empty: the lane has none
	Link       Link      `yaml:"link"`
}

// Link is how the gateway reaches the lane's controller.
type Link struct {
	Driver  string `yaml:"driver"`            // sim or websocket, default sim
	Address string `yaml:"address,omitempty"` // of websocket: ws:// or wss:// url, each lane's own; sim has none
	Key     Secret `yaml:"key,omitempty"`     // that the gateway shows to the controller; empty: none
}

// Sells tells whether customers can buy at the lanes: there has to be a webhook that takes the purchases.
func (r Range) Sells() bool { return r.Purchasing && r.Webhook != nil }
