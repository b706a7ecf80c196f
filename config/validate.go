package config

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
)

// inspection is one walk over the configuration. Its maps hold the values that must be unique in all ranges.
type inspection struct {
	found      *faults
	production bool
	incoming   *Controllers // nil: no controller may dial in
	retention  Retention
	ranges     map[uuid.UUID]path // range ids
	lanes      map[uuid.UUID]path // lane ids
	tokens     map[Digest]path
	links      map[string]path // controllers' addresses
	keys       map[string]path // of lane screens and wall boards, in production of links too
	operators  map[string]path // names of operations tokens
}

// validate checks the rules of a complete configuration. The settings themselves have been read: a number or
// a duration is more than 0.
func (c *Config) validate(found *faults) {
	in := inspection{
		found:      found,
		production: c.Environment == InProduction,
		incoming:   c.Controllers,
		retention:  c.Store.Retention,
		ranges:     map[uuid.UUID]path{},
		lanes:      map[uuid.UUID]path{},
		tokens:     map[Digest]path{},
		links:      map[string]path{},
		keys:       map[string]path{},
		operators:  map[string]path{},
	}
	in.require("environment", c.Environment == InPlayground || c.Environment == InProduction,
		"wants playground or production")
	in.http(c.HTTP)
	in.operations(c.Operations)
	in.require("operations.address", !sameListener(c.HTTP.Address, c.Operations.Address), "the same as http.address")
	if c.Controllers != nil {
		in.controllers(c)
	}
	in.require("log.level", slices.Contains([]Level{Debug, Info, Warn, Error}, c.Log.Level),
		"wants debug, info, warn or error")
	in.store(c.Store)
	if c.Telemetry != nil {
		in.telemetry(*c.Telemetry)
	}
	if c.Nodes != nil {
		in.nodes(*c.Nodes, c)
	}
	in.require("ranges", len(c.Ranges) > 0, "wants at least one range")
	for i := range c.Ranges {
		in.shootingRange(&c.Ranges[i], path("ranges").item(i))
	}
}

func (in *inspection) http(h HTTP) {
	in.expect("http.address", listenProblem(h.Address))
	in.require("http.limits.burst", *h.Limits.Burst > 0 || *h.Limits.Requests == 0,
		"must be more than 0 while requests is limited")
	in.tls(h.TLS, "http.tls")
	in.proxies(h.TrustedProxies, h.BehindProxy, "http")
	if h.CORS != nil {
		in.origins(h.CORS.Origins, "http.cors.origins")
	}
	in.require("http.address", !in.production || h.BehindProxy || h.InsecureHTTP || !plainOverNetwork(h.Address, h.TLS),
		"can be reached by other machines, and without TLS tokens, PINs and names would go to it in the clear: "+
			"wants http.tls, a loopback address, http.behind_proxy: true where a proxy in front has TLS, or "+
			"http.insecure_http: true")
}

func (in *inspection) store(s Store) {
	in.require("store", s.SQLite == "" || s.Redis == "", "two stores, sqlite and redis; choose one")
	if s.Redis != "" {
		in.expect("store.redis", redisProblem(s.Redis.Reveal()))
		if in.production && !s.Insecure {
			in.expect("store.redis", redisExposure(s.Redis.Reveal()))
		}
	}
}

// require adds a fault unless the rule holds.
func (in *inspection) require(p path, holds bool, problem string) {
	if !holds {
		in.found.add(p, "%s", problem)
	}
}

// expect adds a fault unless the problem is empty.
func (in *inspection) expect(p path, problem string) {
	if problem != "" {
		in.found.add(p, "%s", problem)
	}
}

// unique notes the place of a value. It adds a fault when there is a problem, or when another place has the
// value already.
func unique[V comparable](in *inspection, taken map[V]path, value V, p path, problem, duplicate string) {
	first, found := taken[value]
	switch {
	case problem != "":
		in.found.add(p, "%s", problem)
	case found:
		in.found.add(p, duplicate, first)
	default:
		taken[value] = p
	}
}

// claim checks the id and the name at the path. It notes the id in all of the maps, or adds a fault when one
// of them has it already.
func (in *inspection) claim(id uuid.UUID, name string, p path, taken ...map[uuid.UUID]path) {
	in.expect(p.key("name"), nameProblem(name))
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

const maxNameLength = 200 // characters

var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`) // ISO 4217

func (in *inspection) shootingRange(r *Range, p path) {
	ids := map[uuid.UUID]path{} // of the range, its groups, bays and lanes: unique across all kinds
	in.claim(r.ID, r.Name, p, in.ranges, ids)
	in.rangeTokens(r, p.key("tokens"), p.key("staff"))
	in.require(p.key("currency"), r.Currency == "" || currencyCode.MatchString(r.Currency),
		"wants three capital letters, such as EUR")
	in.require(p.key("on_link_loss"), r.OnLinkLoss == RunOut || r.OnLinkLoss == Hold, "wants run_out or hold")
	in.linkTLS(r.LinkTLS, p.key("link_tls"))
	in.warnings(r.Warnings, p.key("warnings"))
	in.grace(r, p)
	if r.Hours != nil {
		in.hours(*r.Hours, p.key("hours"))
	}
	in.schedules(r, p)
	if r.Webhook != nil {
		in.webhook(r.Webhook, p.key("webhook"))
		in.require(p.key("webhooks"), len(r.Webhooks) == 0,
			"not beside webhook: put that one into the list, or take it out")
	}
	in.webhooks(r, p.key("webhooks"))
	if r.Products != nil {
		in.expect(p.key("products").key("url"), urlProblem(r.Products.URL, in.production))
	}
	in.staff(r.Staff, p.key("staff"))
	if r.Board != nil {
		key := r.Board.Key.Reveal()
		unique(in, in.keys, key, p.key("board").key("key"), in.screenKeyProblem(key), "the same as %s")
	}
	in.expect(p.key("release_ceasefire"), roleProblem(r.ReleaseCeasefire))
	in.require(p.key("release_ceasefire"), r.ReleaseCeasefire != RoleOfficer || len(r.Staff) == 0 ||
		slices.ContainsFunc(r.Staff, func(s Staff) bool { return s.Role == RoleOfficer }),
		"wants an officer among the staff: nobody could end a ceasefire over the range on the control screen")
	in.layout(r, p, ids)
	in.presets(r, p.key("presets"))
	in.secureLinks(r, p)
}

// The bounds of warnings, which the longest session has too (lanes.MaxMinutes).
const (
	maxWarnings = 5
	minWarning  = 10 * time.Second
	maxWarning  = 8 * time.Hour
)

func (in *inspection) warnings(all []time.Duration, p path) {
	in.require(p, len(all) <= maxWarnings, "at most 5")
	for i, left := range all {
		in.require(p.item(i), minWarning <= left && left <= maxWarning, "wants 10s to 8h")
		in.require(p.item(i), !slices.Contains(all[:i], left), "is in the list already")
	}
}

// The bounds of a grace. It is for customers who are still there.
const (
	minGrace = 10 * time.Second
	maxGrace = time.Hour
)

func (in *inspection) grace(r *Range, p path) {
	in.require(p.key("grace"), r.Grace == 0 || minGrace <= r.Grace && r.Grace <= maxGrace, "wants 10s to 1h")
	in.require(p.key("grace_for_all"), !r.GraceForAll || r.Grace > 0, "wants grace, such as 2m")
}

// maxTokenName is the length of a token's name in characters: it is a label of metrics.
const maxTokenName = 64

func (in *inspection) rangeTokens(r *Range, p, staff path) {
	in.require(p, len(r.Tokens) > 0, "wants at least one token")
	names := map[string]path{}
	for i, s := range r.Staff { // with any duplicates among them staff deals
		names[strings.TrimSpace(s.Name)] = staff.item(i)
	}
	for i, token := range r.Tokens {
		p := p.item(i)
		digest, problem := TokenDigest(token.Token)
		unique(in, in.tokens, digest, p, problem, "the same token as %s")
		in.require(p.key("scope"), token.Scope == ScopeRead || token.Scope == ScopeSell, "wants read or sell")
		if token.Name == "" {
			continue
		}
		name := strings.TrimSpace(token.Name)
		problem = nameProblem(name)
		switch {
		case utf8.RuneCountInString(name) > maxTokenName:
			problem = "longer than 64 characters"
		case strings.ContainsFunc(name, unicode.IsControl):
			problem = "has a control character"
		case name == controllerName:
			problem = "is that of holds that a controller has set"
		case in.operators[name] != "":
			problem = fmt.Sprintf("already the name of %s: acts are recorded by it", in.operators[name])
		}
		unique(in, names, name, p.key("name"), problem, "already the name of %s: acts are recorded by it")
	}
}

// maxWebhooks is the number of webhooks of a range: each event is in the log once for each.
const maxWebhooks = 8

// webhookName is the form of a webhook's name: it is a label of metrics.
var webhookName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// webhooks checks several webhooks of a range.
func (in *inspection) webhooks(r *Range, p path) {
	in.require(p, len(r.Webhooks) <= maxWebhooks, "at most 8")
	names, deciding := map[string]path{}, map[bool]path{}
	for i := range r.Webhooks {
		w, p := &r.Webhooks[i], p.item(i)
		in.webhook(w, p)
		unique(in, names, w.Name, p.key("name"), "", "already the name of %s; without a name it is the host of the url")
		if w.Purchases {
			unique(in, deciding, true, p.key("purchases"), "", "true already for %s: one alone decides a purchase")
		}
	}
	in.require(p, len(deciding) > 0 || !r.Purchasing || len(r.Webhooks) == 0,
		"wants purchases: true for one of them, as the range has purchasing: true")
}

func (in *inspection) webhook(w *Webhook, p path) {
	in.require(p.key("name"), w.Name == "" || webhookName.MatchString(w.Name),
		"wants letters, digits, dots, dashes and underscores, 64 at most")
	for i, kind := range w.Kinds {
		switch p := p.key("kinds").item(i); {
		case kind == "purchaseRequest":
			in.found.add(p, "goes to the webhook with purchases: true alone")
		case !slices.Contains(EventKinds, kind):
			in.found.add(p, "wants one of %s", strings.Join(EventKinds, ", "))
		case slices.Contains(w.Kinds[:i], kind):
			in.found.add(p, "is in the list already")
		}
	}
	in.expect(p.key("url"), urlProblem(w.URL, in.production))
	in.require(p.key("secrets"), len(w.Secrets) <= 2, "at most two, the second for rotation")
	for i, secret := range w.Secrets {
		in.expect(p.key("secrets").item(i), signingProblem(secret, in.production))
	}
	if w.Retry != nil {
		term := p.key("retry").key("for")
		in.require(term, w.Retry.For >= MinRetryFor, "wants 1m or more")
		if w.Retry.For > in.retention.Events {
			in.found.add(term, "wants no more than store.retention.events, %s: what is not in the event log cannot "+
				"be sent again", in.retention.Events)
		}
	}
}

// layout checks groups, bays and lanes; ids holds the ids of the range so far.
func (in *inspection) layout(r *Range, p path, ids map[uuid.UUID]path) {
	in.require(p.key("groups"), len(r.Groups) > 0, "wants at least one group")
	for i, g := range r.Groups {
		in.claim(g.ID, g.Name, p.key("groups").item(i), ids)
	}
	in.require(p.key("bays"), len(r.Bays) > 0, "wants at least one bay")
	bays := map[uuid.UUID]bool{}
	for i, b := range r.Bays {
		in.claim(b.ID, b.Name, p.key("bays").item(i), ids)
		bays[b.ID] = true
	}
	in.require(p.key("lanes"), len(r.Lanes) > 0, "wants at least one lane")
	for i := range r.Lanes {
		in.lane(&r.Lanes[i], p.key("lanes").item(i), bays, ids)
	}
}

// maxPresets is the number of presets of a range: they are buttons of one form.
const maxPresets = 12

func (in *inspection) presets(r *Range, p path) {
	in.require(p, len(r.Presets) <= maxPresets, "at most 12")
	type sale struct {
		minutes int
		group   uuid.UUID // zero: the chosen one
		grace   bool
		openEnd int
	}
	offered := map[sale]path{}
	for i, preset := range r.Presets {
		p, s := p.item(i), sale{minutes: preset.Minutes, grace: preset.Grace, openEnd: preset.OpenEnd}
		in.openEnd(r, preset, p.key("open_end"))
		in.require(p.key("grace"), !preset.Grace || r.Grace > 0, "wants the range to have grace, such as 2m")
		if preset.Group != nil {
			s.group = *preset.Group
			in.require(p.key("group"), slices.ContainsFunc(r.Groups, func(g Group) bool { return g.ID == s.group }),
				"no group of this range has that id")
		}
		problem := ""
		switch {
		case preset.Minutes == 0:
			problem = "missing; wants a whole number from 1 to 480"
		case preset.Minutes > MaxSessionMinutes:
			problem = "wants 480 or less, the longest session"
		}
		unique(in, offered, s, p.key("minutes"), problem, "the same sale as %s")
	}
}

// openEnd checks the open end of a preset. A grace is for sessions that end with what was sold.
func (in *inspection) openEnd(r *Range, preset Preset, p path) {
	if preset.OpenEnd == 0 {
		return
	}
	in.require(p, preset.Minutes < preset.OpenEnd && preset.OpenEnd <= MaxSessionMinutes,
		"wants more than minutes, and 480 or less: minutes in all")
	in.require(p, !preset.Grace, "goes without grace")
	in.require(p, !r.GraceForAll, "goes without grace_for_all, which gives every session a grace")
}

func (in *inspection) lane(l *Lane, p path, bays map[uuid.UUID]bool, ids map[uuid.UUID]path) {
	in.claim(l.ID, l.Name, p, in.lanes, ids)
	switch {
	case l.Bay == uuid.Nil:
		in.found.add(p.key("bay"), "missing; %s", wantsID)
	case !bays[l.Bay]:
		in.found.add(p.key("bay"), "no bay with id %.8s… in this range", l.Bay)
	}
	if key := l.ScreenKey.Reveal(); key != "" {
		unique(in, in.keys, key, p.key("screen_key"), in.screenKeyProblem(key), "the same as %s")
	}
	in.link(l.Link, p.key("link"))
}

func nameProblem(name string) string {
	switch n := utf8.RuneCountInString(strings.TrimSpace(name)); {
	case n == 0:
		return "missing"
	case n > maxNameLength:
		return "longer than 200 characters"
	}
	return ""
}

// minSigningKey is the length of a signing key in bytes that Standard Webhooks asks for.
const minSigningKey = 24

// signingProblem checks a secret in the form of Standard Webhooks: whsec_ and base64.
func signingProblem(secret Secret, production bool) string {
	encoded, ok := strings.CutPrefix(secret.Reveal(), "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case !ok || err != nil || len(key) == 0:
		return "wants whsec_ and base64"
	case production && len(key) < minSigningKey:
		return "wants at least 24 bytes behind whsec_ in production, such as openssl rand -base64 32 makes"
	case production && weak(encoded):
		return couldBeGuessed + "behind whsec_, such as openssl rand -base64 32 makes"
	}
	return ""
}

// The cost limits of comparing one PIN. Any client can cause two comparisons at a time by trying to sign in.
const (
	maxHashMemory     = 256 << 10 // KiB
	maxHashIterations = 16
)

// The least cost, as OWASP recommends: a PIN has few digits, and whoever has read the configuration tries them all.
const (
	minHashMemory     = 19 << 10 // KiB
	minHashIterations = 2
)

// controllerName is who has set a hold that was found on the hardware.
const controllerName = "controller"

func (in *inspection) staff(staff []Staff, p path) {
	names := map[string]path{}
	for i, s := range staff {
		p := p.item(i)
		in.expect(p.key("name"), nameProblem(s.Name))
		name := strings.TrimSpace(s.Name)
		in.require(p.key("name"), name != controllerName && name != OperatorName,
			"is not a person's: holds that nobody in particular has set bear it")
		if operator, taken := in.operators[name]; taken && name != OperatorName {
			in.found.add(p.key("name"), "already the name of %s: acts are recorded by it", operator)
		}
		if first, duplicate := names[name]; duplicate {
			in.found.add(p.key("name"), "already the name of %s", first)
		}
		names[name] = p
		in.expect(p.key("pin_hash"), pinProblem(s.PinHash))
		in.expect(p.key("role"), roleProblem(s.Role))
	}
}

func roleProblem(r Role) string {
	if r != RoleStaff && r != RoleOfficer {
		return "wants staff or officer"
	}
	return ""
}

// pinProblem checks the output of the command hash-pin: a valid hash, with a bounded cost of comparing.
func pinProblem(hash Secret) string {
	if hash == "" {
		return "missing"
	}
	params, salt, key, err := argon2id.DecodeHash(hash.Reveal())
	switch {
	case err != nil:
		return "wants what the command hash-pin prints, in quotes"
	case params.Iterations < 1 || params.Parallelism < 1 || len(salt) < 8 || len(key) < 16:
		return "wants an argon2id hash with t and p of at least 1, a salt of 8 bytes and a hash of 16"
	case params.Memory > maxHashMemory || params.Iterations > maxHashIterations:
		return "wants an argon2id hash with m of at most 262144 and t of at most 16"
	case params.Memory < minHashMemory || params.Iterations < minHashIterations:
		return "wants an argon2id hash with m of at least 19456 and t of at least 2, such as the " +
			"command hash-pin prints"
	}
	return ""
}

// screenKey matches a key that needs no escaping in a URL and is too long to guess.
var screenKey = regexp.MustCompile(`^[A-Za-z0-9._~-]{16,128}$`)

func (in *inspection) screenKeyProblem(key string) string {
	switch {
	case !screenKey.MatchString(key):
		return "wants 16 to 128 letters, digits and . _ ~ -"
	case in.production && weak(key):
		return couldBeGuessed + "such as the command new-key prints"
	}
	return ""
}

// linkKey checks the key of a lane's link. In production nobody can guess it, and each lane has its own: who
// has one lane's key speaks for no other.
func (in *inspection) linkKey(key Secret, p path) {
	problem := LinkKeyProblem(key)
	if problem == "" && key != "" && in.production {
		if weak(key.Reveal()) {
			problem = couldBeGuessed + "such as the command new-key prints"
		}
		unique(in, in.keys, key.Reveal(), p, problem, "the same as %s")
		return
	}
	in.expect(p, problem)
}

func (in *inspection) link(l Link, p path) {
	switch l.Driver {
	case DriverSim:
		in.require(p.key("address"), l.Address == "", "the sim driver takes no address")
		in.require(p.key("driver"), !in.production, "the sim driver is for the playground")
	case DriverWebSocket:
		unique(in, in.links, l.Address, p.key("address"), controllerProblem(l.Address), "the same as %s")
		in.linkKey(l.Key, p.key("key"))
	case DriverIncoming:
		in.require(p.key("address"), l.Address == "",
			"the incoming driver takes no address: the controller dials the gateway's controllers.address")
		in.require(p.key("driver"), in.incoming != nil,
			"wants the section controllers, with the address that controllers dial")
		in.linkKey(l.Key, p.key("key"))
	default:
		in.found.add(p.key("driver"), "no such driver; this release has sim, websocket and incoming")
	}
}

// MinLinkKey is the number of characters of a lane's key: 128 random bits are 22 characters of base64, and 32
// of hexadecimal.
const MinLinkKey = 22

// LinkKeyProblem returns what is wrong with a lane's key, or "". No key is none.
func LinkKeyProblem(key Secret) string {
	if key != "" && utf8.RuneCountInString(key.Reveal()) < MinLinkKey {
		return fmt.Sprintf("wants at least %d characters of 128 random bits, such as the command new-key prints",
			MinLinkKey)
	}
	return ""
}

// secureLinks requires in production that nobody on the network of a lane's link can speak for either side, nor listen.
func (in *inspection) secureLinks(r *Range, p path) {
	if !in.production || r.InsecureLinks {
		return
	}
	const otherwise = " in production, or insecure_links: true in the range"
	for i, l := range r.Lanes {
		p := p.key("lanes").item(i).key("link")
		switch l.Link.Driver {
		case DriverWebSocket:
			in.require(p.key("address"), l.secured(), "wants wss://"+otherwise)
		case DriverIncoming:
		default:
			continue
		}
		in.require(p.key("key"), l.Link.Key != "", "missing; wants what the command new-key prints"+otherwise)
	}
	in.require(p.key("link_tls"), r.LinkTLS != LinkTLS{} || !slices.ContainsFunc(r.Lanes, Lane.secured),
		"missing; wants ca or fingerprint"+otherwise)
}

// InsecureLanes returns the lanes of the range whose link can be taken over from its network, as it lacks a
// key or TLS that somebody checks: wss and link_tls where the gateway dials, TLS at the controllers' address
// where the controller does.
func (c Config) InsecureLanes(r Range) (insecure []Lane) {
	for _, l := range r.Lanes {
		var encrypted bool
		switch l.Link.Driver {
		case DriverWebSocket:
			encrypted = l.secured() && r.LinkTLS != LinkTLS{}
		case DriverIncoming:
			encrypted = c.Controllers != nil && c.Controllers.encrypted()
		default:
			continue
		}
		if !encrypted || l.Link.Key == "" {
			insecure = append(insecure, l)
		}
	}
	return insecure
}

// Incoming reports whether the lane's controller dials in.
func (l Lane) Incoming() bool { return l.Link.Driver == DriverIncoming }

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
	in.require(p, t.CA == "" || t.Fingerprint == "", "two ways to trust, ca and fingerprint; choose one")
	_, ok := t.Pin()
	in.require(p.key("fingerprint"), ok || t.Fingerprint == "", "wants sha256: and 64 hexadecimal digits")
}

// Pin returns the configured fingerprint; ok is false without one.
func (t LinkTLS) Pin() (pin Digest, ok bool) { return parseDigest(t.Fingerprint) }

// secured reports whether the lane's controller is at a wss:// address.
func (l Lane) secured() bool { return strings.HasPrefix(l.Link.Address, "wss:") }
