package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
)

// mask is printed instead of a secret.
const mask = "***"

// Secret is a text that fmt with any verb, JSON, YAML and text encoders print as ***. An empty one prints as nothing, so
// that a reader sees that it is not set.
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

// GoString keeps %#v from showing the value.
func (s Secret) GoString() string { return s.String() }

// Format keeps verbs that do not call String, such as %x, from showing the value.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// MarshalText returns the mask, for encoders such as slog's.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON returns the mask as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML returns the mask as a YAML string.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// Digest is the SHA-256 of a token. A request's token is compared by its digest.
type Digest [sha256.Size]byte

// TokenDigest returns the digest of a configured token: of a UUID the digest of its lower-case text, of sha256:<64 hex>
// those bytes. ok is false for anything else and for the nil UUID.
func TokenDigest(token Secret) (digest Digest, ok bool) {
	digest, problem := digestOf(token)
	return digest, problem == ""
}

// ForgetTokens replaces every token by sha256: and its digest, which Compare needs.
func (c *Config) ForgetTokens() {
	if token := c.Operations.Token.Reveal(); token != "" {
		c.Operations.Token = digestSecret(sha256.Sum256([]byte(token)))
	}
	for i := range c.Ranges {
		for j, token := range c.Ranges[i].Tokens {
			if digest, ok := TokenDigest(token); ok {
				c.Ranges[i].Tokens[j] = digestSecret(digest)
			}
		}
	}
}

func digestSecret(digest Digest) Secret { return Secret("sha256:" + hex.EncodeToString(digest[:])) }

func digestOf(token Secret) (digest Digest, problem string) {
	if text, hashed := strings.CutPrefix(token.Reveal(), "sha256:"); hashed {
		sum, err := hex.DecodeString(text)
		if err != nil || len(sum) != len(digest) {
			return Digest{}, "wants 64 hexadecimal digits after sha256:"
		}
		return Digest(sum), ""
	}
	id, ok := canonical(token.Reveal())
	switch {
	case !ok:
		return Digest{}, "wants a UUID or sha256: and 64 hexadecimal digits"
	case id == uuid.Nil:
		return Digest{}, "the nil UUID is no token"
	}
	return sha256.Sum256([]byte(id.String())), ""
}
