package websocket

import (
	"sync"
	"time"
)

const (
	// strangersShare is the part of the new links that hosts without a proven controller have, all together: a flood of theirs
	// leaves the rest to the controllers that are known.
	strangersShare = 0.8
	maxRetryAfter  = 15 * time.Second // the longest wait between two dials (LINK.md)
)

// admission lets so many new links in a second, and tells the others when to come back: one after the other, so that they do not
// all return at once. Times are on the monotonic clock.
type admission struct {
	mu        sync.Mutex
	all       bucket
	strangers bucket
	queue     time.Duration // when the last one that was sent away is expected back
}

// bucket is a token bucket of one second's tokens: the time at which it will be full again.
type bucket struct{ full time.Duration }

func (b *bucket) take(now time.Duration, perSecond float64) bool {
	full := max(b.full, now) + time.Duration(float64(time.Second)/perSecond)
	if full-now > time.Second {
		return false
	}
	b.full = full
	return true
}

// take returns 0 for a link that is let in, or how long its controller has to wait, in whole seconds.
func (a *admission) take(now time.Duration, perSecond int, known bool) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rate := float64(perSecond)
	if (known || a.strangers.take(now, max(1, rate*strangersShare))) && a.all.take(now, rate) {
		return 0
	}
	a.queue = min(max(a.queue, now+time.Second)+time.Duration(float64(time.Second)/rate), now+maxRetryAfter)
	return (a.queue - now).Truncate(time.Second)
}
