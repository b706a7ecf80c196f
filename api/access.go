package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/screens"
	"rangegate/lanes/trace"
)

// Credentials are the tokens of every range.
type Credentials map[uuid.UUID][]Credential

// Credential is the SHA-256 digest of a token, which itself is not kept, and what there is to know of its holder.
type Credential struct {
	Digest   [sha256.Size]byte
	Name     string // by which what the holder does is recorded; empty: it is not
	ReadOnly bool   // the holder may change nothing
}

// check returns the range if the token is one of its own, and which. An unknown range takes as long as a wrong token.
func (c Credentials) check(rangeID, token string) (id uuid.UUID, credential Credential, ok bool) {
	id, err := uuid.Parse(rangeID)
	all := c[id]
	found := err == nil && len(rangeID) == 36 && len(all) > 0
	if !found {
		all = []Credential{{}}
	}
	given := digest(token)
	match, at := 0, 0
	for i := range all {
		same := subtle.ConstantTimeCompare(given[:], all[i].Digest[:])
		match |= same
		at = subtle.ConstantTimeSelect(same, i, at)
	}
	if !found || match != 1 {
		return id, Credential{}, false
	}
	return id, all[at], true
}

// digest returns what is kept of a token. The case of a UUID does not matter.
func digest(token string) [sha256.Size]byte { return sha256.Sum256([]byte(strings.ToLower(token))) }

// authenticate refuses requests without a range's token and id (SPEC.md part 5), with the same code whatever
// is wrong. It limits failures by network, never other requests: a POS may share its address with an
// attacker. Whoever may only read gets 403 for everything that is not a read, whatever the path.
func (s Settings) authenticate(refused prometheus.Counter, fail endpoint.FailFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, credential, ok := s.Credentials.check(r.Header.Get("Range-Id"), r.Header.Get("Token"))
			if !ok {
				fail(w, r, failedAuthentication(r, s.Limiters.tokens, refused, endpoint.Refusal("unauthorized")))
				return
			}
			request.SetRange(r.Context(), id)
			request.SetCredential(r.Context(), credential.Digest)
			if credential.Name != "" {
				request.SetWho(r.Context(), credential.Name)
				r = r.WithContext(trace.WithWho(r.Context(), credential.Name))
			}
			if credential.ReadOnly && r.Method != http.MethodGet && r.Method != http.MethodHead {
				fail(w, r, endpoint.Refusal("forbidden"))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// failedAuthentication returns the refusal of wrong credentials, or that of too many of them from the client's network.
func failedAuthentication(
	r *http.Request, failures *screens.AttemptLimiter[netip.Prefix], refused prometheus.Counter, unauthorized error,
) error {
	wait, ok := failures.Reserve(request.ClientNetwork(r))
	if ok {
		return unauthorized
	}
	refused.Inc()
	return endpoint.Refuse("too_many_requests", "too many failed authentications from this address", wait)
}

// Limits bound the number of requests that are not refused at once (WIRE.md, Errors: 429). Zero is no limit.
type Limits struct {
	PerSecond         int // requests of a range, of both versions together
	Burst             int // of them at once; zero: PerSecond
	Waiting           int // requests of a range that wait for events, long polls and streams together; beyond it 503
	FailuresPerMinute int // wrong credentials of a client's network, of each kind; also the maximum at once
}

// perRange refuses the requests of a range beyond its limit with `too_many_requests`.
func perRange(
	limiters map[uuid.UUID]*rate.Limiter, refuse func(rangeID uuid.UUID), fail endpoint.FailFunc,
) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if id := request.RangeID(r.Context()); !limiters[id].Allow() {
				refuse(id)
				fail(w, r, endpoint.Refuse("too_many_requests", "too many requests of this range", time.Second))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
