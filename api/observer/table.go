package observer

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// A look at all actors is a second old at most, and older where it takes long: while somebody observes, looks take a
// twenty-fifth at most of what goes by. All observers share one.
const (
	refreshEvery  = time.Second
	observedShare = 25
)

// observed is an actor with its range.
type observed struct {
	lanes.Observed
	rangeID   uuid.UUID
	rangeName string
}

// look is all actors of this node at one moment, the ranges in the order of the configuration.
type look struct {
	at     time.Time
	actors []observed
}

// looks takes one look for all who want one of the same second.
type looks struct {
	take func(into []observed) []observed // appends every actor

	mu     sync.Mutex
	newest look
	pause  time.Duration // from the newest to the next one
	shown  map[wanted]*encoded
}

// encoded is the table of a look as it is sent.
type encoded struct {
	sent    json.RawMessage
	without []byte // its time: what is the same when nothing has changed
	err     error
}

// read calls by with the newest look, which is valid until by returns: the next look is written over it, as 10,000
// lanes take 8 MB.
func (l *looks) read(by func(newest look)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh()
	by(l.newest)
}

// encoded returns the table, which is encoded once for all who want the same.
func (l *looks) encoded(w wanted) *encoded {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh()
	e := l.shown[w]
	if e == nil {
		e = encode(viewOfTable(l.newest, w))
		l.shown[w] = e
	}
	return e
}

// refresh takes a look if it is time. l.mu is held.
func (l *looks) refresh() {
	now := time.Now()
	if l.shown != nil && now.Sub(l.newest.at) < l.pause {
		return
	}
	l.newest, l.shown = look{now, l.take(l.newest.actors[:0])}, map[wanted]*encoded{}
	l.pause = min(max(refreshEvery, observedShare*time.Since(now)), lookEvery)
}

func encode(view actorsView) *encoded {
	sent, err := json.Marshal(view)
	view.At = ""
	without, errToo := json.Marshal(view)
	return &encoded{sent, without, errors.Join(err, errToo)}
}

// The orders of the table.
const (
	byUrgency  = "trouble"
	byBacklog  = "backlog"
	byAge      = "age"
	byRestarts = "restarts"
	byLateness = "lateness"
)

// wanted is which actors an observer wants to see, and in which order.
type wanted struct {
	rangeID     uuid.UUID // uuid.Nil: of all ranges
	kind, state string    // empty: any
	heldUp      bool      // only those with a Why
	search      string    // in lower case; empty: any
	order       string
	limit       int
}

// table is what an observer sees of a look.
type table struct {
	total, heldUp int
	states        map[string]int
	first         []observed // at most limit of them, in the order that was wanted
}

// of returns the table. It walks over the look once, so that 10,000 lanes cost one comparison each.
func (w wanted) of(l look) table {
	t := table{states: map[string]int{}}
	compare := orders[w.order]
	for i := range l.actors {
		actor := &l.actors[i]
		if !w.matches(actor) {
			continue
		}
		t.states[actor.State]++
		if w.state != "" && actor.State != w.state {
			continue
		}
		t.total++
		if actor.Why != nil {
			t.heldUp++
		}
		t.first = keep(t.first, actor, w.limit, compare)
	}
	return t
}

// matches reports whether the actor is wanted, whatever its state.
func (w wanted) matches(actor *observed) bool {
	return (w.rangeID == uuid.Nil || actor.rangeID == w.rangeID) && (w.kind == "" || actor.Kind == w.kind) &&
		(!w.heldUp || actor.Why != nil) &&
		(w.search == "" || strings.Contains(strings.ToLower(actor.Name), w.search) ||
			strings.Contains(strings.ToLower(actor.rangeName), w.search) ||
			strings.Contains(strings.ToLower(actor.Webhook), w.search))
}

// keep puts one more among the first, behind its equals, if it belongs there.
func keep(first []observed, one *observed, limit int, compare func(a, b *observed) int) []observed {
	if len(first) == limit {
		if compare(&first[limit-1], one) <= 0 {
			return first
		}
		first = first[:limit-1]
	}
	at, _ := slices.BinarySearchFunc(first, one, func(other observed, one *observed) int {
		if compare(&other, one) <= 0 {
			return -1
		}
		return 1
	})
	return slices.Insert(first, at, *one)
}

var orders = map[string]func(a, b *observed) int{
	byUrgency:  compareUrgency,
	byBacklog:  func(a, b *observed) int { return cmp.Compare(b.Mailbox+b.Waiting, a.Mailbox+a.Waiting) },
	byAge:      func(a, b *observed) int { return compareSince(a.Since, b.Since) },
	byRestarts: func(a, b *observed) int { return cmp.Compare(b.Panics.Count, a.Panics.Count) },
	byLateness: func(a, b *observed) int { return cmp.Compare(lateness(b), lateness(a)) },
}

// compareUrgency puts the most urgent reason first, and of one reason the one that lasts longest.
func compareUrgency(a, b *observed) int {
	if by := cmp.Compare(urgency(a), urgency(b)); by != 0 || a.Why == nil || b.Why == nil {
		return by
	}
	return compareSince(a.Why.Since, b.Why.Since)
}

func urgency(actor *observed) int {
	if actor.Why == nil {
		return len(lanes.Urgency)
	}
	return slices.Index(lanes.Urgency, actor.Why.Code)
}

// compareSince puts the older first, and those of which it is not known last.
func compareSince(a, b time.Time) int {
	switch {
	case a.IsZero() || b.IsZero():
		return cmp.Compare(boolToInt(a.IsZero()), boolToInt(b.IsZero()))
	}
	return a.Compare(b)
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lateness is -1 for an actor of which none is known.
func lateness(actor *observed) time.Duration {
	if actor.Late == nil {
		return -1
	}
	return *actor.Late
}
