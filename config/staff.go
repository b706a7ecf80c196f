package config

import (
	"regexp"
	"strings"

	"github.com/alexedwards/argon2id"
)

// The most that comparing one PIN may cost. Anybody can have it done by trying to sign in, twice at a time.
const (
	mostMemory     = 256 << 10 // KiB
	mostIterations = 16
)

func (in *inspection) staff(staff []Staff, at path) {
	names := map[string]path{}
	for i, s := range staff {
		at := at.item(i)
		in.expect(at.key("name"), nameProblem(s.Name))
		name := strings.TrimSpace(s.Name)
		if name == "controller" || name == "operator" {
			in.found.add(at.key("name"), "is not a person's: holds that nobody in particular has set bear it")
		}
		if first, twice := names[name]; twice {
			in.found.add(at.key("name"), "already the name of %s", first)
		}
		names[name] = at
		in.expect(at.key("pin_hash"), pinProblem(s.PinHash))
	}
}

// pinProblem checks what the command hash-pin makes: a hash that can be compared with, at a cost that can be borne.
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
	case params.Memory > mostMemory || params.Iterations > mostIterations:
		return "wants an argon2id hash with m of at most 262144 and t of at most 16"
	}
	return ""
}

// screenKey is what stands in an address as it is, and is long enough not to be guessed.
var screenKey = regexp.MustCompile(`^[A-Za-z0-9._~-]{16,128}$`)

func (in *inspection) screenKey(key Secret, at path) {
	if key == "" {
		return
	}
	if !screenKey.MatchString(key.Reveal()) {
		in.found.add(at, "wants 16 to 128 letters, digits and . _ ~ -")
		return
	}
	if first, twice := in.screens[key.Reveal()]; twice {
		in.found.add(at, "the same as %s", first)
		return
	}
	in.screens[key.Reveal()] = at
}
