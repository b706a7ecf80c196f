package api

import (
	"context"
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
)

// Credentials are the SHA-256 digests of every range's tokens: the tokens themselves are not kept.
type Credentials map[uuid.UUID][][sha256.Size]byte

// check returns the range if the token is one of its own. An unknown range takes as long as a wrong token.
func (c Credentials) check(rangeID, token string) (id uuid.UUID, ok bool) {
	id, err := uuid.Parse(rangeID)
	digests := c[id]
	found := err == nil && len(rangeID) == 36 && len(digests) > 0
	if !found {
		digests = [][sha256.Size]byte{{}}
	}
	given := digest(token)
	match := 0
	for _, digest := range digests {
		match |= subtle.ConstantTimeCompare(given[:], digest[:])
	}
	return id, found && match == 1
}

// digest returns what is kept of a token. The case of a UUID does not matter.
func digest(token string) [sha256.Size]byte { return sha256.Sum256([]byte(strings.ToLower(token))) }

// authenticate refuses requests without a range's token and id (SPEC.md part 5), with the same code whatever is wrong.
func (s Settings) authenticate(failures *failedAuthLimit, fail endpoint.FailFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, ok := s.Credentials.check(r.Header.Get("Range-Id"), r.Header.Get("Token"))
			if !ok {
				fail(w, r, failures.refuse(r))
				return
			}
			request.SetRange(r.Context(), id)
			next.ServeHTTP(w, r)
		})
	}
}

// Limits bound the number of requests that are not refused at once (WIRE.md, Errors: 429). Zero is no limit.
type Limits struct {
	PerSecond         int // requests of a range, of both versions together
	Burst             int // of them at once; zero: PerSecond
	FailuresPerMinute int // failed authentications of a client's network, also the maximum at once
}

// failedAuthLimit limits failed authentications by network, never others: a POS may share its address with an attacker.
type failedAuthLimit struct {
	perMinute int
	attempts  *screens.AttemptLimiter[netip.Prefix]
	refused   prometheus.Counter
}

func newFailedAuthLimit(perMinute int, refused prometheus.Counter) *failedAuthLimit {
	return &failedAuthLimit{perMinute, screens.NewAttemptLimiter[netip.Prefix](perMinute), refused}
}

// refuse counts a failure and returns its refusal.
func (l *failedAuthLimit) refuse(r *http.Request) error {
	if l.perMinute <= 0 {
		return endpoint.Refusal("unauthorized")
	}
	if _, ok := l.attempts.Reserve(request.ClientNetwork(r)); ok {
		return endpoint.Refusal("unauthorized")
	}
	l.refused.Inc()
	return endpoint.Refuse("too_many_requests", "too many failed authentications from this address", time.Minute/time.Duration(l.perMinute))
}

// perRange refuses the requests of a range beyond its limit with `too_many_requests`.
func (l Limits) perRange(ranges Credentials, refused prometheus.Counter, fail endpoint.FailFunc) func(http.Handler) http.Handler {
	limit, burst := rate.Limit(l.PerSecond), l.Burst
	if l.PerSecond <= 0 {
		limit = rate.Inf
	}
	if burst <= 0 {
		burst = l.PerSecond
	}
	limiters := map[uuid.UUID]*rate.Limiter{}
	for id := range ranges {
		limiters[id] = rate.NewLimiter(limit, burst)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !limiters[request.RangeID(r.Context())].Allow() {
				refused.Inc()
				fail(w, r, endpoint.Refuse("too_many_requests", "too many requests of this range", time.Second))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// The maximum number of requests that are carried out at a time: a range that does not respond leaves room for the others.
const (
	maxConcurrent      = 4096
	maxRangeConcurrent = maxConcurrent / 2
)

// concurrencyLimit limits the requests that are carried out at a time. It has no queue, which would only delay all of them.
type concurrencyLimit struct {
	process screens.Slots
	ranges  map[uuid.UUID]screens.Slots
	refused prometheus.Counter
}

func newConcurrencyLimit(ranges Credentials, refused prometheus.Counter) *concurrencyLimit {
	c := &concurrencyLimit{make(screens.Slots, maxConcurrent), map[uuid.UUID]screens.Slots{}, refused}
	for id := range ranges {
		c.ranges[id] = make(screens.Slots, maxRangeConcurrent)
	}
	return c
}

// admit admits a request of an authenticated range, or refuses it with `overloaded`.
func (c *concurrencyLimit) admit(ctx context.Context) (release func(), err error) {
	slots := c.ranges[request.RangeID(ctx)]
	admitted := slots.TryAcquire()
	if admitted && !c.process.TryAcquire() {
		slots.Release()
		admitted = false
	}
	if !admitted {
		c.refused.Inc()
		return nil, screens.Overloaded("requests are being carried out; nothing was changed")
	}
	return func() { c.process.Release(); slots.Release() }, nil
}
