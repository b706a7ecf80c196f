package config

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
)

const maxNameLength = 200 // characters

func (in *inspection) shootingRange(r *Range, p path) {
	ids := map[uuid.UUID]path{} // of the range, its groups, bays and lanes: unique across all kinds
	in.claim(r.ID, p, in.ranges, ids)
	in.expect(p.key("name"), nameProblem(r.Name))
	in.rangeTokens(r.Tokens, p.key("tokens"))
	if r.OnLinkLoss != RunOut && r.OnLinkLoss != Hold {
		in.found.add(p.key("on_link_loss"), "wants run_out or hold")
	}
	in.expect(p.key("link_grace"), positive(r.LinkGrace))
	in.linkTLS(r.LinkTLS, p.key("link_tls"))
	if r.Webhook != nil {
		in.webhook(r.Webhook, p.key("webhook"))
	}
	if r.Products != nil {
		in.expect(p.key("products").key("url"), urlProblem(r.Products.URL, in.production))
		in.expect(p.key("products").key("timeout"), positive(r.Products.Timeout))
	}
	in.staff(r.Staff, p.key("staff"))
	in.layout(r, p, ids)
}

func (in *inspection) rangeTokens(tokens []Secret, p path) {
	if len(tokens) == 0 {
		in.found.add(p, "wants at least one token")
	}
	for i, token := range tokens {
		digest, problem := digestOf(token)
		if problem != "" {
			in.found.add(p.item(i), "%s", problem)
			continue
		}
		unique(in, in.tokens, digest, p.item(i), "the same token as %s")
	}
}

func (in *inspection) webhook(w *Webhook, p path) {
	in.expect(p.key("url"), urlProblem(w.URL, in.production))
	if len(w.Secrets) > 2 {
		in.found.add(p.key("secrets"), "at most two, the second for rotation")
	}
	for i, secret := range w.Secrets {
		in.expect(p.key("secrets").item(i), signingProblem(secret))
	}
	in.expect(p.key("timeout"), positive(w.Timeout))
	in.expect(p.key("concurrency"), positive(w.Concurrency))
	in.expect(p.key("queue"), positive(w.Queue))
}

// layout checks groups, bays and lanes; ids holds the ids of the range so far.
func (in *inspection) layout(r *Range, p path, ids map[uuid.UUID]path) {
	if len(r.Groups) == 0 {
		in.found.add(p.key("groups"), "wants at least one group")
	}
	for i, g := range r.Groups {
		p := p.key("groups").item(i)
		in.claim(g.ID, p, ids)
		in.expect(p.key("name"), nameProblem(g.Name))
	}
	if len(r.Bays) == 0 {
		in.found.add(p.key("bays"), "wants at least one bay")
	}
	bays := map[uuid.UUID]bool{}
	for i, b := range r.Bays {
		p := p.key("bays").item(i)
		in.claim(b.ID, p, ids)
		in.expect(p.key("name"), nameProblem(b.Name))
		bays[b.ID] = true
	}
	if len(r.Lanes) == 0 {
		in.found.add(p.key("lanes"), "wants at least one lane")
	}
	for i := range r.Lanes {
		in.lane(&r.Lanes[i], p.key("lanes").item(i), bays, ids)
	}
}

func (in *inspection) lane(l *Lane, p path, bays map[uuid.UUID]bool, ids map[uuid.UUID]path) {
	in.claim(l.ID, p, in.lanes, ids)
	in.expect(p.key("name"), nameProblem(l.Name))
	switch {
	case l.Bay == uuid.Nil:
		in.found.add(p.key("bay"), "missing; %s", wantsID)
	case !bays[l.Bay]:
		in.found.add(p.key("bay"), "no bay with id %.8s… in this range", l.Bay)
	}
	in.screenKey(l.ScreenKey, p.key("screen_key"))
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

// signingProblem checks a secret in the form of Standard Webhooks: whsec_ and base64.
func signingProblem(secret Secret) string {
	encoded, ok := strings.CutPrefix(secret.Reveal(), "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) == 0 {
		return "wants whsec_ and base64"
	}
	return ""
}

// The cost limits of comparing one PIN. Any client can cause two comparisons at a time by trying to sign in.
const (
	maxHashMemory     = 256 << 10 // KiB
	maxHashIterations = 16
)

func (in *inspection) staff(staff []Staff, p path) {
	names := map[string]path{}
	for i, s := range staff {
		p := p.item(i)
		in.expect(p.key("name"), nameProblem(s.Name))
		name := strings.TrimSpace(s.Name)
		if name == "controller" || name == "operator" {
			in.found.add(p.key("name"), "is not a person's: holds that nobody in particular has set bear it")
		}
		if first, duplicate := names[name]; duplicate {
			in.found.add(p.key("name"), "already the name of %s", first)
		}
		names[name] = p
		in.expect(p.key("pin_hash"), pinProblem(s.PinHash))
	}
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
	}
	return ""
}

// screenKey matches a key that needs no escaping in a URL and is too long to guess.
var screenKey = regexp.MustCompile(`^[A-Za-z0-9._~-]{16,128}$`)

func (in *inspection) screenKey(key Secret, p path) {
	if key == "" {
		return
	}
	if !screenKey.MatchString(key.Reveal()) {
		in.found.add(p, "wants 16 to 128 letters, digits and . _ ~ -")
		return
	}
	unique(in, in.screens, key.Reveal(), p, "the same as %s")
}
