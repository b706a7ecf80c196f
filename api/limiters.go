package api

import (
	"maps"
	"net/netip"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"rangegate/api/screens"
	"rangegate/api/shooterpage"
)

// Limiters are what the limits remember of clients. They outlive a reload, which changes what they allow:
// neither the requests of a range nor wrong credentials are forgotten by it.
type Limiters struct {
	mu           sync.Mutex
	requests     map[uuid.UUID]*rate.Limiter           // by range
	refused      map[uuid.UUID]uint64                  // requests of ranges, beyond their limit
	tokens       *screens.AttemptLimiter[netip.Prefix] // wrong tokens of a POS
	operators    *screens.AttemptLimiter[netip.Prefix] // wrong operations tokens
	screenKeys   *screens.AttemptLimiter[netip.Prefix]
	shooterPages *screens.AttemptLimiter[netip.Prefix]
	admission    *admission
}

// NewLimiters returns limiters that remember nothing.
func NewLimiters() *Limiters {
	return &Limiters{
		requests:     map[uuid.UUID]*rate.Limiter{},
		refused:      map[uuid.UUID]uint64{},
		tokens:       screens.NewAttemptLimiter[netip.Prefix](nil),
		operators:    screens.NewAttemptLimiter[netip.Prefix](nil),
		screenKeys:   screens.NewAttemptLimiter[netip.Prefix](screens.PerMinute(screens.MaxWrongKeys)),
		shooterPages: screens.NewAttemptLimiter[netip.Prefix](screens.PerMinute(shooterpage.MaxWrongAddresses)),
		admission:    newAdmission(),
	}
}

// setFailures sets how many wrong credentials of each kind a client's network may send a minute; 0 is no
// limit. PINs and the keys of screens have limits of their own besides, as people choose them.
func (l *Limiters) setFailures(perMinute int) {
	l.tokens.SetRule(screens.PerMinute(perMinute))
	l.operators.SetRule(screens.PerMinute(perMinute))
	l.screenKeys.SetRule(screens.PerMinute(screens.AtMost(screens.MaxWrongKeys, perMinute)))
	l.shooterPages.SetRule(screens.PerMinute(screens.AtMost(shooterpage.MaxWrongAddresses, perMinute)))
}

// ofRanges returns the limiters of the ranges' requests, and forgets those of other ranges.
func (l *Limiters) ofRanges(ranges Credentials, limits Limits) map[uuid.UUID]*rate.Limiter {
	limit, burst := rate.Limit(limits.PerSecond), limits.Burst
	if limits.PerSecond <= 0 {
		limit = rate.Inf
	}
	if burst <= 0 {
		burst = limits.PerSecond
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := map[uuid.UUID]*rate.Limiter{}
	for id := range ranges {
		limiter := l.requests[id]
		if limiter == nil {
			limiter = rate.NewLimiter(limit, burst)
		}
		limiter.SetLimit(limit)
		limiter.SetBurst(burst)
		kept[id] = limiter
	}
	l.requests = kept
	return kept
}

// refuse counts a request of a range that is refused.
func (l *Limiters) refuse(rangeID uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[rangeID]++
}

// Refused returns how many requests of each range were refused, as it sends too many.
func (l *Limiters) Refused() map[uuid.UUID]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.refused)
}
