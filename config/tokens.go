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

// ForgetTokens takes the tokens, as they are written, out of memory: whoever checks them has their digests.
func (c *Config) ForgetTokens() {
	c.Operations.Token = ""
	for i := range c.Ranges {
		c.Ranges[i].Tokens = nil
	}
}

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
