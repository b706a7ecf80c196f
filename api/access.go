package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// Credentials are the SHA-256 digests of every range's tokens: the tokens themselves are not kept.
type Credentials map[uuid.UUID][][sha256.Size]byte

// admits tells whether the token belongs to the range. It takes the same time for an unknown range as for a wrong
// token.
func (c Credentials) admits(rangeID, token string) (uuid.UUID, bool) {
	id, err := uuid.Parse(rangeID)
	digests := c[id]
	known := err == nil && len(rangeID) == 36 && len(digests) > 0
	if !known {
		digests = [][sha256.Size]byte{{}}
	}
	given := digest(token)
	match := 0
	for _, digest := range digests {
		match |= subtle.ConstantTimeCompare(given[:], digest[:])
	}
	return id, known && match == 1
}

// authenticate lets nobody in without a range's token and id (SPEC.md part 5): one answer for all that is wrong, and none
// but `too_many_requests` for who is wrong too often.
func (s Settings) authenticate(strangers *strangers, fail failer) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, admitted := s.Credentials.admits(r.Header.Get("Range-Id"), r.Header.Get("Token"))
			if !admitted {
				fail(w, r, strangers.refusal(r.RemoteAddr))
				return
			}
			note(r.Context(), id)
			next.ServeHTTP(w, r)
		})
	}
}

// failer answers what a middleware refuses.
type failer func(http.ResponseWriter, *http.Request, error)

// digest is what is kept of a token.
func digest(token string) [sha256.Size]byte { return sha256.Sum256([]byte(strings.ToLower(token))) }
