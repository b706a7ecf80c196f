package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"
)

// Digest is the SHA-256 of a token: what a request's token is compared by, however the configuration spells it.
type Digest [sha256.Size]byte

// TokenDigest is the digest of a token as configured: of a UUID that of its canonical text in lower case, of
// sha256:<64 hex> those very bytes. ok is false for anything else and for the nil UUID.
func TokenDigest(token Secret) (digest Digest, ok bool) {
	digest, problem := digestOf(token)
	return digest, problem == ""
}

// ForgetTokens keeps of every token its digest alone, in the form that a configuration may have it in: enough to see
// whether another configuration has others.
func (c *Config) ForgetTokens() {
	if token := c.Operations.Token.Reveal(); token != "" {
		c.Operations.Token = hashed(sha256.Sum256([]byte(token)))
	}
	for i := range c.Ranges {
		for j, token := range c.Ranges[i].Tokens {
			if digest, ok := TokenDigest(token); ok {
				c.Ranges[i].Tokens[j] = hashed(digest)
			}
		}
	}
}

func hashed(digest Digest) Secret { return Secret("sha256:" + hex.EncodeToString(digest[:])) }

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
