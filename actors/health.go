package actors

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Health is how the machinery behind the range is doing. No actor is asked.
func (r *Range) Health() lanes.Health {
	now := r.clock.Now()
	links, unwell := r.board.Links(now)
	return lanes.Health{
		Links: links, Lanes: unwell,
		Writable: r.committer.writable(), Unsaved: r.committer.unsaved(),
		Waiting: int(r.eventsWaiting.Load()), LateP99: r.late.p99(now), Restarts: r.restarts.all(),
	}
}

// unsaved is how many changes are not durable yet.
func (c *committer) unsaved() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.flying) + len(c.waiting)
}

// Which timers count as those of late.
const (
	lateTerm   = time.Hour
	lateAtMost = 512
)

// lateness is how late the timers of a range were of late.
type lateness struct {
	mu   sync.Mutex
	seen []late // oldest first
}

type late struct{ at, by time.Duration }

func (l *lateness) add(now lanes.Instant, by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
	if len(l.seen) == lateAtMost {
		l.seen = slices.Delete(l.seen, 0, 1)
	}
	l.seen = append(l.seen, late{now.Mono, by})
}

// p99 is what 99 of 100 were not later than, 0 when there were none.
func (l *lateness) p99(now lanes.Instant) time.Duration {
	l.mu.Lock()
	l.forget(now)
	by := make([]time.Duration, len(l.seen))
	for i, seen := range l.seen {
		by[i] = seen.by
	}
	l.mu.Unlock()
	if len(by) == 0 {
		return 0
	}
	slices.Sort(by)
	return by[(99*len(by)+99)/100-1]
}

// forget drops those of long ago. l.mu is held.
func (l *lateness) forget(now lanes.Instant) {
	l.seen = slices.DeleteFunc(l.seen, func(seen late) bool { return now.Mono-seen.at > lateTerm })
}

// tally counts by kind.
type tally struct {
	mu sync.Mutex
	by map[string]int
}

func (t *tally) add(kind string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]int{}
	}
	t.by[kind] += n
}

func (t *tally) all() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.by)
}

// inRange is an actor that belongs to a range, and to a lane of it unless that is uuid.Nil.
type inRange interface {
	home() (of *Range, lane uuid.UUID)
}

func (r *rangeActor) home() (*Range, uuid.UUID)  { return r.of, uuid.Nil }
func (e *eventsActor) home() (*Range, uuid.UUID) { return e.of, uuid.Nil }
func (l *laneActor) home() (*Range, uuid.UUID)   { return l.of, l.id }
