package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/google/uuid"
)

// mask is printed instead of a secret.
const mask = "***"

// Secret is a text that fmt with any verb, JSON, YAML and text encoders print as ***. An empty one prints as
// nothing, so that a reader sees that it is not set.
type Secret string

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// String returns the mask.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// Format keeps verbs that do not call String, such as %x and %#v, from showing the value.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// MarshalText returns the mask, for encoders such as those of JSON, YAML and slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Digest is a SHA-256: of a token, which a request's token is compared with, or of a controller's certificate.
type Digest = [sha256.Size]byte

// parseDigest parses sha256: and 64 hexadecimal digits.
func parseDigest(text string) (digest Digest, ok bool) {
	digits, ok := strings.CutPrefix(text, "sha256:")
	if !ok || len(digits) != hex.EncodedLen(len(digest)) {
		return digest, false
	}
	_, err := hex.Decode(digest[:], []byte(digits))
	return digest, err == nil
}

// TokenDigest returns the digest of a configured token: of a UUID the digest of its lower-case text, of sha256:<64 hex>
// those bytes. The problem is empty, or says why it is no token.
func TokenDigest(token Secret) (digest Digest, problem string) {
	if strings.HasPrefix(token.Reveal(), "sha256:") {
		digest, ok := parseDigest(token.Reveal())
		if !ok {
			return digest, "wants 64 hexadecimal digits after sha256:"
		}
		return digest, ""
	}
	id, ok := canonical(token.Reveal())
	switch {
	case !ok:
		return digest, "wants a UUID or sha256: and 64 hexadecimal digits"
	case id == uuid.Nil:
		return digest, "the nil UUID is no token"
	}
	return sha256.Sum256([]byte(id.String())), ""
}

// OperationsDigest returns the digest of a token of the operations address: of sha256:<64 hex> those bytes,
// of any other text the digest of it as it is. The problem is empty, or says why it is no token.
func OperationsDigest(token Secret) (digest Digest, problem string) {
	switch {
	case token == "":
		return digest, "missing"
	case strings.HasPrefix(token.Reveal(), "sha256:"):
		digest, ok := parseDigest(token.Reveal())
		if !ok {
			return digest, "wants 64 hexadecimal digits after sha256:"
		}
		return digest, ""
	}
	return sha256.Sum256([]byte(token.Reveal())), ""
}

// The least that a token of the operations address may have to be guessed, and the least different characters
// in it: of a random one of 128 bits hardly ever fewer.
const (
	minTokenBits       = 128
	minTokenCharacters = 8
)

// couldBeGuessed begins what is wrong with a secret that is weak.
const couldBeGuessed = "could be guessed: wants 128 random bits, "

// weak reports whether a text has less than minTokenBits, as far as its length and the kinds of its characters tell.
func weak(token string) bool {
	kinds := 0.0
	for _, kind := range []struct {
		characters string
		more       float64
	}{
		{"0123456789", 10},
		{"abcdef", 6},
		{"ghijklmnopqrstuvwxyz", 20},
		{"ABCDEF", 6},
		{"GHIJKLMNOPQRSTUVWXYZ", 20},
		{"-_+/=.", 2},
	} {
		if strings.ContainsAny(token, kind.characters) {
			kinds += kind.more
		}
	}
	if strings.ContainsAny(token, "ghijklmnopqrstuvwxyz") && strings.ContainsAny(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		kinds = 64 // base64, of which a short text does not have every kind
	}
	different := map[rune]bool{}
	letters := 0
	for _, r := range token {
		different[r] = true
		letters++
	}
	return len(different) < minTokenCharacters || float64(letters)*math.Log2(kinds) < minTokenBits
}

// ForgetTokens replaces every token by sha256: and its digest, which Compare needs.
func (c *Config) ForgetTokens() {
	if digest, problem := OperationsDigest(c.Operations.Token); problem == "" {
		c.Operations.Token = digestSecret(digest)
	}
	for i, named := range c.Operations.Tokens {
		if digest, problem := OperationsDigest(named.Token); problem == "" {
			c.Operations.Tokens[i].Token = digestSecret(digest)
		}
	}
	for i := range c.Ranges {
		for j, token := range c.Ranges[i].Tokens {
			if digest, problem := TokenDigest(token.Token); problem == "" {
				c.Ranges[i].Tokens[j].Token = digestSecret(digest)
			}
		}
	}
}

func digestSecret(digest Digest) Secret { return Secret(fmt.Sprintf("sha256:%x", digest)) }
