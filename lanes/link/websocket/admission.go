package websocket

import (
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// rangeShare is the part of the new links that one range of several may have: the rest is left to the
	// others.
	rangeShare    = 0.8
	maxRetryAfter = 15 * time.Second // the longest wait between two dials (LINK.md)
)

// admission lets so many controllers in a second, and tells the others when to come back: one after the
// other, so that they do not all return at once. Times are on the monotonic clock.
//
// An attempt takes from the bucket of the network that it comes from and the range that it names: whoever has
// proven nothing takes nothing from another network or range. A controller that has proven itself takes from
// the bucket of its range and from that of all.
type admission struct {
	mu       sync.Mutex
	attempts map[origin]*bucket
	kept     int // buckets of attempts that were left when those of networks that are gone were removed
	ranges   map[uuid.UUID]*bucket
	all      bucket
}

// origin is where an attempt comes from, and the range of the lane that it names: uuid.Nil if there is no
// such lane here.
type origin struct {
	network netip.Prefix
	rangeID uuid.UUID
}

// bucket is a token bucket of one second's tokens.
type bucket struct {
	full  time.Duration // when it will be full again
	queue time.Duration // when the last one that was sent away is expected back
}

// mostOrigins is how many of them may be known before those are removed that have made no attempt for a
// second.
const mostOrigins = 1024

func (b *bucket) isEmpty(now time.Duration, perSecond float64) bool {
	return max(b.full, now)+tokens(perSecond) > now+time.Second
}

func (b *bucket) take(now time.Duration, perSecond float64) {
	b.full = max(b.full, now) + tokens(perSecond)
}

// comeBack returns the next whole second that nobody else was told.
func (b *bucket) comeBack(now time.Duration, perSecond float64) time.Duration {
	b.queue = min(max(b.queue, now+time.Second)+tokens(perSecond), now+maxRetryAfter)
	return (b.queue - now).Truncate(time.Second)
}

func tokens(perSecond float64) time.Duration { return time.Duration(float64(time.Second) / perSecond) }

// ask returns 0 for an attempt that may go on to its proof, or how long its controller has to wait, in whole
// seconds.
func (a *admission) ask(now time.Duration, perSecond int, from origin) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rate := float64(perSecond)
	attempts := a.of(now, from)
	if attempts.isEmpty(now, rate) {
		return attempts.comeBack(now, rate)
	}
	if from.rangeID != uuid.Nil { // of no lane there comes no link
		if links := a.ofRange(from.rangeID); a.all.isEmpty(now, rate) || links.isEmpty(now, a.share(rate)) {
			return links.comeBack(now, a.share(rate))
		}
	}
	attempts.take(now, rate)
	return 0
}

// linked counts a controller of the range that has proven itself.
func (a *admission) linked(now time.Duration, perSecond int, rangeID uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rate := float64(perSecond)
	a.all.take(now, rate)
	a.ofRange(rangeID).take(now, a.share(rate))
}

// share is how many of the links a second one range may have: all of them, where there is no other.
func (a *admission) share(rate float64) float64 {
	if len(a.ranges) < 2 {
		return rate
	}
	return max(1, rate*rangeShare)
}

func (a *admission) ofRange(id uuid.UUID) *bucket {
	b := a.ranges[id]
	if b == nil {
		b = &bucket{}
		if a.ranges == nil {
			a.ranges = map[uuid.UUID]*bucket{}
		}
		a.ranges[id] = b
	}
	return b
}

// of returns the bucket of the origin. mu is held.
func (a *admission) of(now time.Duration, from origin) *bucket {
	if b := a.attempts[from]; b != nil {
		return b
	}
	if a.attempts == nil {
		a.attempts = map[origin]*bucket{}
	}
	if len(a.attempts) >= 2*max(a.kept, mostOrigins/2) {
		for gone, b := range a.attempts {
			if b.full <= now && b.queue <= now {
				delete(a.attempts, gone)
			}
		}
		a.kept = len(a.attempts)
	}
	b := &bucket{}
	a.attempts[from] = b
	return b
}
