package api

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/request"
)

// The room is how many requests are carried out at a time. One range takes half of it at most, so that a range
// that does not respond leaves room for the others.
const (
	mostRoom  = 4096
	leastRoom = 512
)

// The room shrinks while more comes than can be carried out, which shows in how long requests take. What comes
// then is refused at once. Otherwise each request would wait behind all others until its client gives up, be carried
// out nevertheless, and come once more. Requests that fail do not count: where a store does not answer, less
// room would help nobody, and keep from being served what needs no store.
const (
	adjustEvery = 100 * time.Millisecond
	longTime    = 250 * time.Millisecond // on average, and more: less room
	shortTime   = longTime / 2           // and less: more room
	roomStep    = 8                      // the room changes by an eighth of it
)

// Who is refused while the room is small is told when to come back: one after the other, at half of the rate at which
// requests are carried out, so that those that come for the first time find room as well.
const (
	minReturn = time.Second
	maxReturn = time.Minute
	minRate   = 10.0 // requests a second, of which half are told to come back, at least
)

// admission decides which requests are carried out. It has no queue, which would only delay all requests. Its
// methods may be called from any goroutine.
type admission struct {
	now func() time.Time

	mu         sync.Mutex
	room       int
	carried    int // requests that are being carried out
	byRange    map[uuid.UUID]int
	adjusted   time.Time
	done       int           // since then
	took       time.Duration // all of them together
	perSecond  float64       // requests that are carried out, lately
	lastReturn time.Time     // when the last of those who were refused comes back
}

func newAdmission() *admission {
	return &admission{now: time.Now, room: mostRoom, byRange: map[uuid.UUID]int{}}
}

// limit returns the function that admits a request of an authenticated range, or refuses it with `overloaded`.
// A request that closes a fire line has all of the room, also while there is less for others. release is given
// what came of the request.
func (a *admission) limit(refuse func()) func(ctx context.Context, closes bool) (release func(error), err error) {
	return func(ctx context.Context, closes bool) (release func(error), err error) {
		id, begun := request.RangeID(ctx), a.now()
		if wait, admitted := a.admit(id, closes); !admitted {
			refuse()
			const why = "too many requests are being carried out; nothing was changed"
			return nil, endpoint.Refuse("overloaded", why, wait)
		}
		return func(err error) { a.release(id, a.now().Sub(begun), err == nil) }, nil
	}
}

// admit admits a request of the range, or returns how long its client is to wait.
func (a *admission) admit(id uuid.UUID, closes bool) (wait time.Duration, admitted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if now.Sub(a.adjusted) >= adjustEvery {
		a.adjust(now)
	}
	room := a.room
	if closes {
		room = mostRoom
	}
	if a.carried < room && a.byRange[id] < room/2 {
		a.carried++
		a.byRange[id]++
		return 0, true
	}
	if a.room == mostRoom { // it is full of requests that wait for what does not respond
		return minReturn, false
	}
	return a.comeBack(now), false
}

// release ends a request that was admitted so long ago.
func (a *admission) release(id uuid.UUID, took time.Duration, carriedOut bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.carried--
	if carriedOut {
		a.done++
		a.took += took
	}
	if a.byRange[id]--; a.byRange[id] == 0 {
		delete(a.byRange, id)
	}
}

// adjust fits the room to how long the requests took that were carried out since the last time.
func (a *admission) adjust(now time.Time) {
	const smoothing = 0.2
	passed := now.Sub(a.adjusted)
	if rate := float64(a.done) / passed.Seconds(); passed > time.Second { // hardly anything came meanwhile
		a.perSecond = rate
	} else {
		a.perSecond += smoothing * (rate - a.perSecond)
	}
	switch average := a.took / time.Duration(max(1, a.done)); {
	case average > longTime:
		a.room = max(leastRoom, min(a.room, a.carried)*(roomStep-1)/roomStep)
	case average < shortTime:
		a.room = min(mostRoom, a.room+a.room/roomStep)
	}
	a.adjusted, a.done, a.took = now, 0, 0
}

// comeBack returns how long a client is to wait that is refused.
func (a *admission) comeBack(now time.Time) time.Duration {
	if first := now.Add(minReturn); a.lastReturn.Before(first) {
		a.lastReturn = first
	}
	if a.lastReturn.Sub(now) < maxReturn {
		a.lastReturn = a.lastReturn.Add(time.Duration(float64(time.Second) / (max(a.perSecond, minRate) / 2)))
	}
	return a.lastReturn.Sub(now)
}
