package api

import (
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"rangegate/api/endpoint"
)

// strangers are the addresses from which somebody failed to authenticate, and how often each may yet. Of addresses beyond
// what fits those that failed longest ago are forgotten: memory is bounded, whatever is thrown at it. An address that
// authenticates is never held up: a POS may share it with a stranger.
type strangers struct {
	perMinute int
	refused   prometheus.Counter

	mu             sync.Mutex
	recent, before map[netip.Prefix]*rate.Limiter
}

// generation is how many addresses are recent at most; as many again are known from before.
const generation = 5000

// refusal is what a request with wrong credentials is answered.
func (s *strangers) refusal(remote string) error {
	if s.perMinute <= 0 || s.attempts(network(remote)).Allow() {
		return endpoint.Refusal("unauthorized")
	}
	s.refused.Inc()
	return tooMany{"too many failed authentications from this address", time.Minute / time.Duration(s.perMinute)}
}

// attempts is the bucket of the address.
func (s *strangers) attempts(from netip.Prefix) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.recent[from]; known != nil {
		return known
	}
	attempts := s.before[from]
	if attempts == nil {
		attempts = bucket(s.perMinute, time.Minute, s.perMinute)
	}
	if s.recent == nil || len(s.recent) >= generation {
		s.recent, s.before = map[netip.Prefix]*rate.Limiter{}, s.recent
	}
	s.recent[from] = attempts
	return attempts
}

// network is whose address it is: of IPv6 a customer has a /64. What is no address counts as one.
func network(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address := at.Addr().Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits)
	return prefix
}
