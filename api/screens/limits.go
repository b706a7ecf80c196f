package screens

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
)

// AttemptLimiter limits attempts by key, such as a client's network or a name. A client may invent keys: the least
// recently used ones are dropped, so that memory is bounded. Its methods are safe for concurrent use.
type AttemptLimiter[K comparable] struct {
	// Keep is true for a key that is never dropped. It may be nil, and is set before the first use.
	Keep func(key K) bool

	mu                   sync.Mutex
	rule                 Rule
	kept, recent, former map[K]*attempts
}

// attempts are those of a key.
type attempts struct {
	count float64 // that counted at the time of the last one
	last  time.Time
}

// generation is the maximum number of keys in recent, and in former.
const generation = 5000

// Rule is what an AttemptLimiter allows. It returns how many attempts of a key still count, so long after its last
// one, and how long the next one has to wait. A nil rule allows everything.
type Rule func(count float64, since time.Duration) (left float64, wait time.Duration)

// PerMinute allows so many attempts at once, and as many a minute after that. 0 allows everything.
func PerMinute(limit int) Rule {
	if limit <= 0 {
		return nil
	}
	perSecond := float64(limit) / 60
	return func(count float64, since time.Duration) (left float64, wait time.Duration) {
		left = max(0, count-since.Seconds()*perSecond)
		beyond := max(0, left+1-float64(limit))
		return left, time.Duration(beyond / perSecond * float64(time.Second))
	}
}

// Backoff allows free attempts at once. After that each waits for twice as long as the one before, from first up to
// longest. After the time forget without an attempt none counts.
func Backoff(free int, first, longest, forget time.Duration) Rule {
	return func(count float64, since time.Duration) (left float64, wait time.Duration) {
		switch beyond := count - float64(free); {
		case since > forget:
			return 0, 0
		case beyond >= 0:
			wait = time.Duration(min(float64(longest), float64(first)*math.Exp2(beyond)))
		}
		return count, max(0, wait-since)
	}
}

// NewAttemptLimiter returns a limiter with that rule.
func NewAttemptLimiter[K comparable](rule Rule) *AttemptLimiter[K] {
	return &AttemptLimiter[K]{rule: rule, kept: map[K]*attempts{}, recent: map[K]*attempts{}}
}

// SetRule changes the rule. What counted counts on.
func (l *AttemptLimiter[K]) SetRule(rule Rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rule = rule
}

// Reserve counts an attempt before it is known whether it is wrong. If it comes too early it does not count, and
// Reserve returns the time until the next.
func (l *AttemptLimiter[K]) Reserve(key K) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rule == nil {
		return 0, true
	}
	a, now := l.attemptsOf(key), time.Now()
	left, wait := l.rule(a.count, now.Sub(a.last))
	if wait > 0 {
		return wait, false
	}
	a.count, a.last = left+1, now
	return 0, true
}

// Refund takes back an attempt that Reserve has counted.
func (l *AttemptLimiter[K]) Refund(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rule != nil {
		a := l.attemptsOf(key)
		a.count = max(0, a.count-1)
	}
}

// Forget forgets the attempts of every key that matches. waited is true if the next one of any had to wait for them.
func (l *AttemptLimiter[K]) Forget(matches func(key K) bool) (waited bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, keys := range []map[K]*attempts{l.kept, l.recent, l.former} {
		for key, a := range keys {
			if !matches(key) {
				continue
			}
			if l.rule != nil {
				_, wait := l.rule(a.count, time.Since(a.last))
				waited = waited || wait > 0
			}
			*a = attempts{} // the same may be in another map
		}
	}
	return waited
}

// attemptsOf returns the attempts of a key, which is a recent one from now on, or kept. The caller holds the lock.
func (l *AttemptLimiter[K]) attemptsOf(key K) *attempts {
	a := cmp.Or(l.kept[key], l.recent[key], l.former[key])
	if a == nil {
		a = &attempts{}
	}
	switch {
	case l.Keep != nil && l.Keep(key):
		l.kept[key] = a
	case l.recent[key] == nil:
		if len(l.recent) >= generation {
			l.recent, l.former = map[K]*attempts{}, l.recent
		}
		l.recent[key] = a
	}
	return a
}

// AtMost returns the limit, or the setting if that is less. A setting of 0 is no limit.
func AtMost(limit, setting int) int {
	if setting <= 0 {
		return limit
	}
	return min(limit, setting)
}

// TooManyAttempts returns the refusal of an attempt beyond the limit.
func TooManyAttempts(wait time.Duration) error {
	return endpoint.Refuse("too_many_requests", "wrong too often; wait a moment", wait)
}

// Slots limits how many may hold a slot at a time.
type Slots chan struct{}

// TryAcquire takes a slot without waiting. It returns false if none is free.
func (s Slots) TryAcquire() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

// AcquireWithin takes a slot. It returns false if none becomes free in that time, or before ctx ends.
func (s Slots) AcquireWithin(ctx context.Context, wait time.Duration) bool {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	select {
	case s <- struct{}{}:
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

// Release frees a slot.
func (s Slots) Release() { <-s }

// SlotTable has the slots of many screens, made when a screen first wants one. It is safe for concurrent use.
type SlotTable struct {
	size  int
	mu    sync.Mutex
	slots map[uuid.UUID]Slots
}

// NewSlotTable has that many slots for each screen.
func NewSlotTable(size int) *SlotTable { return &SlotTable{size: size, slots: map[uuid.UUID]Slots{}} }

// Of returns the slots of the screen of that range or lane, which is a configured one.
func (t *SlotTable) Of(id uuid.UUID) Slots {
	t.mu.Lock()
	defer t.mu.Unlock()
	slots, found := t.slots[id]
	if !found {
		slots = make(Slots, t.size)
		t.slots[id] = slots
	}
	return slots
}

// Overloaded returns the refusal `overloaded` for lack of a slot. Its sentence is "too many" and what the
// slots are for.
func Overloaded(purpose string) error { return endpoint.Refuse("overloaded", "too many "+purpose, 0) }
