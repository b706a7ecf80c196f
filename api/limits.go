package api

import (
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
)

// Limits bound how many requests get more than a refusal (WIRE.md, Errors: 429). Zero is no limit.
type Limits struct {
	PerSecond         int // requests of a range, of all versions together
	Burst             int // of them at once; zero: as many as in a second
	FailuresPerMinute int // failed authentications of an address, and at once
}

// perRange answers requests of a range beyond its limit with `too_many_requests`.
func (l Limits) perRange(ranges Credentials, refused prometheus.Counter, fail failer) func(http.Handler) http.Handler {
	buckets := map[uuid.UUID]*rate.Limiter{}
	for id := range ranges {
		buckets[id] = bucket(l.PerSecond, time.Second, l.Burst)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !buckets[rangeOf(r.Context())].Allow() {
				refused.Inc()
				fail(w, r, tooMany{"too many requests of this range", time.Second})
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// bucket lets through so many in each period, and as many at once as burst; many being zero, all of them.
func bucket(many int, period time.Duration, burst int) *rate.Limiter {
	if many <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	if burst <= 0 {
		burst = many
	}
	return rate.NewLimiter(rate.Limit(float64(many)/period.Seconds()), burst)
}

// tooMany is the refusal of a request beyond a limit.
type tooMany struct {
	sentence string
	wait     time.Duration
}

func (t tooMany) Error() string { return t.sentence }

// Code is too_many_requests.
func (tooMany) Code() string { return "too_many_requests" }

// RetryAfter is when one request more will be let through.
func (t tooMany) RetryAfter() time.Duration { return t.wait }
