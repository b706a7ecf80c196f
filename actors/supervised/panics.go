package supervised

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/lanes"
)

// PanicTerm is how long Recent counts a panic.
const PanicTerm = time.Minute

// LaneOf returns the lane of a lane's actor or of a child of it, uuid.Nil for any other actor: the name of a
// lane's actor begins with the lane's id.
func LaneOf(pid *actor.PID) uuid.UUID {
	for part := range strings.SplitSeq(pid.GetId(), "/") {
		name, _, _ := strings.Cut(part, "$")
		if lane, err := uuid.Parse(name); err == nil {
			return lane
		}
	}
	return uuid.Nil
}

// Panicked logs and counts a panic of the actor. A panic of Receive or ChildFailed is counted without it.
func (t *Tree) Panicked(self *actor.PID, kind, on string, defect any) {
	lane := LaneOf(self)
	t.Metrics.Restarts.WithLabelValues(kind).Inc()
	t.restarts.add(kind, 1)
	said := fmt.Sprint(defect)
	t.panics.add(lane, kind, on, said, t.Clock.Now())
	line := t.Log.Error()
	if lane != uuid.Nil {
		line = t.Lanes.Of(line, lane)
	}
	line.Str("actor", self.GetId()).Str("kind", kind).Str("panic", said).
		Str("on", on).Bytes("stack", debug.Stack()).Msg("an actor panicked")
}

// Live returns how many actors there are, by kind.
func (t *Tree) Live() map[string]int { return t.live.all() }

// Restarts returns how often actors have panicked, by kind.
func (t *Tree) Restarts() map[string]int { return t.restarts.all() }

// PanicsOf returns the panics of the actors of the kind since the range started: that of a lane, or those of no lane
// for uuid.Nil.
func (t *Tree) PanicsOf(lane uuid.UUID, kind string) lanes.Panics { return t.panics.of(lane, kind) }

// LaneRestarts returns the panics of each lane since the range started, of its own actor and of its connection.
func (t *Tree) LaneRestarts() map[uuid.UUID]lanes.LaneRestarts { return t.panics.all() }

// Recent returns how often the actors of the kind have panicked within PanicTerm: that of a lane, or those of
// no lane for uuid.Nil.
func (t *Tree) Recent(lane uuid.UUID, kind string) int {
	return t.panics.recent(lane, kind, t.Clock.Now())
}

// Forget drops the record of a lane that has left the layout.
func (t *Tree) Forget(lane uuid.UUID) { t.panics.forget(lane) }

// panicLog remembers the panics of the actors of each lane; those of other actors under uuid.Nil.
type panicLog struct {
	mu    sync.Mutex
	lanes map[uuid.UUID]*panicHistory
}

type panicHistory struct {
	lanes.LaneRestarts
	kinds  map[string]lanes.Panics    // by kind
	recent map[string][]lanes.Instant // kind → panics within PanicTerm
}

const maxPanicText = 200 // bytes of what a panic said that are kept

func (p *panicLog) add(lane uuid.UUID, kind, message, said string, now lanes.Instant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lanes == nil {
		p.lanes = map[uuid.UUID]*panicHistory{}
	}
	h := p.lanes[lane]
	if h == nil {
		h = &panicHistory{kinds: map[string]lanes.Panics{}, recent: map[string][]lanes.Instant{}}
		p.lanes[lane] = h
	}
	h.LaneRestarts = lanes.LaneRestarts{Restarts: h.Restarts + 1, Last: now.Wall, Kind: kind, Message: message}
	if len(said) > maxPanicText {
		said = strings.ToValidUTF8(said[:maxPanicText], "") + "…"
	}
	h.kinds[kind] = lanes.Panics{Count: h.kinds[kind].Count + 1, Last: now.Wall, Message: message, Said: said}
	h.forgetOld(kind, now)
	h.recent[kind] = append(h.recent[kind], now)
}

func (p *panicLog) of(lane uuid.UUID, kind string) lanes.Panics {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.lanes[lane]; h != nil {
		return h.kinds[kind]
	}
	return lanes.Panics{}
}

func (p *panicLog) recent(lane uuid.UUID, kind string, now lanes.Instant) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.lanes[lane]
	if h == nil {
		return 0
	}
	h.forgetOld(kind, now)
	return len(h.recent[kind])
}

func (h *panicHistory) forgetOld(kind string, now lanes.Instant) {
	h.recent[kind] = slices.DeleteFunc(h.recent[kind], func(at lanes.Instant) bool {
		return now.Since(at) >= PanicTerm
	})
}

func (p *panicLog) all() map[uuid.UUID]lanes.LaneRestarts {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[uuid.UUID]lanes.LaneRestarts, len(p.lanes))
	for lane, h := range p.lanes {
		if lane != uuid.Nil {
			all[lane] = h.LaneRestarts
		}
	}
	return all
}

func (p *panicLog) forget(lane uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lanes, lane)
}

// counters counts by kind.
type counters struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *counters) add(kind string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[kind] += n
}

func (c *counters) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}
