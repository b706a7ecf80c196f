package screens

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
)

// AttemptLimiter limits wrong attempts by key, such as a client's network: perMinute at once, and perMinute a
// minute after that; 0 is no limit. Of the keys, which a client may invent, the least recently used are
// dropped, so that memory is bounded. Its methods are safe for concurrent use.
type AttemptLimiter[K comparable] struct {
	perMinute int

	mu             sync.Mutex
	recent, former map[K]*allowance
}

// generation is the maximum number of keys in recent, and in former.
const generation = 5000

// allowance is the number of attempts that a key has left at an instant.
type allowance struct {
	left float64
	at   time.Time
}

// NewAttemptLimiter returns a limiter of perMinute wrong attempts a minute.
func NewAttemptLimiter[K comparable](perMinute int) *AttemptLimiter[K] {
	return &AttemptLimiter[K]{perMinute: perMinute, recent: map[K]*allowance{}}
}

// SetPerMinute changes the limit. What was used of it counts on.
func (l *AttemptLimiter[K]) SetPerMinute(perMinute int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	used := float64(l.perMinute)
	l.perMinute = perMinute
	for _, keys := range []map[K]*allowance{l.recent, l.former} {
		for _, a := range keys {
			a.left += float64(perMinute) - used
		}
	}
}

// Reserve uses one attempt, before it is known whether it is wrong. If none is left, it returns the time
// until the next.
func (l *AttemptLimiter[K]) Reserve(key K) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perMinute <= 0 {
		return 0, true
	}
	a, now := l.allowanceOf(key), time.Now()
	perSecond := float64(l.perMinute) / 60
	a.left = min(float64(l.perMinute), a.left+now.Sub(a.at).Seconds()*perSecond)
	a.at = now
	if a.left < 1 {
		return time.Duration((1 - a.left) / perSecond * float64(time.Second)), false
	}
	a.left--
	return 0, true
}

// Refund returns the attempt of a key that was right.
func (l *AttemptLimiter[K]) Refund(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perMinute <= 0 {
		return
	}
	a := l.allowanceOf(key)
	a.left = min(float64(l.perMinute), a.left+1)
}

// allowanceOf returns the allowance of a key, which becomes a recent one. The caller holds the lock.
func (l *AttemptLimiter[K]) allowanceOf(key K) *allowance {
	if a := l.recent[key]; a != nil {
		return a
	}
	a := l.former[key]
	if a == nil {
		a = &allowance{float64(l.perMinute), time.Now()}
	}
	if len(l.recent) >= generation {
		l.recent, l.former = map[K]*allowance{}, l.recent
	}
	l.recent[key] = a
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
