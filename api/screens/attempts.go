package screens

import (
	"sync"
	"time"
)

// Attempts bounds how often each of many may be wrong: so many at once, and so many a minute after that. Those who are
// known beforehand are never forgotten; of the others, whom anybody may make up, those who were wrong longest ago are, so
// that memory is bounded whatever is thrown at it.
type Attempts[K comparable] struct {
	perMinute int

	mu             sync.Mutex
	known          map[K]*allowance
	recent, before map[K]*allowance
}

// generation is how many others are recent at most; as many again are known from before.
const generation = 5000

// allowance is how often somebody may be wrong yet, as of an instant.
type allowance struct {
	left float64
	at   time.Time
}

// NewAttempts bounds them to so many a minute.
func NewAttempts[K comparable](perMinute int, known ...K) *Attempts[K] {
	a := &Attempts[K]{perMinute: perMinute, known: map[K]*allowance{}, recent: map[K]*allowance{}}
	for _, k := range known {
		a.known[k] = a.whole()
	}
	return a
}

// Take takes one attempt, before it is known whether it is wrong: many at once get no further than one after the other.
// Where none is left it answers how long to wait for one.
func (a *Attempts[K]) Take(who K) (wait time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of, now := a.of(who), time.Now()
	perSecond := float64(a.perMinute) / 60
	of.left = min(float64(a.perMinute), of.left+now.Sub(of.at).Seconds()*perSecond)
	of.at = now
	if of.left < 1 {
		return time.Duration((1 - of.left) / perSecond * float64(time.Second)), false
	}
	of.left--
	return 0, true
}

// GiveBack is for an attempt that was right.
func (a *Attempts[K]) GiveBack(who K) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.of(who)
	of.left = min(float64(a.perMinute), of.left+1)
}

func (a *Attempts[K]) whole() *allowance { return &allowance{float64(a.perMinute), time.Now()} }

func (a *Attempts[K]) of(who K) *allowance {
	if known := a.known[who]; known != nil {
		return known
	}
	if recent := a.recent[who]; recent != nil {
		return recent
	}
	of := a.before[who]
	if of == nil {
		of = a.whole()
	}
	if len(a.recent) >= generation {
		a.recent, a.before = map[K]*allowance{}, a.recent
	}
	a.recent[who] = of
	return of
}

// TooMany is the refusal of who was wrong too often.
type TooMany struct{ Wait time.Duration }

func (TooMany) Error() string { return "wrong too often; wait a moment" }

// Code is too_many_requests.
func (TooMany) Code() string { return "too_many_requests" }

// RetryAfter is when one more attempt will be taken.
func (t TooMany) RetryAfter() time.Duration { return t.Wait }
