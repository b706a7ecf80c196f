package observer

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// What bounds the number of advisories: a switch that fails takes many lanes with it, and is one trouble.
const (
	maxOfRange = 20  // open advisories of one code about lanes of one range, or about ranges and webhooks
	maxOfCode  = 100 // open advisories of one code about lanes
	maxEnded   = 1000
	// lingers is how long a condition has to be gone until its advisory ends.
	lingers = 5 * time.Second
)

// tracker makes advisories of conditions. It compares what it is shown with what it was shown before, and knows no
// clock: times are those that it is called with.
type tracker struct {
	states   map[subject]*state
	sequence uint64 // of the newest change

	ended     []Advisory // the oldest first, at most maxEnded
	forgotten uint64     // the sequence of the newest end that is not kept any more
}

// state is what is known of one subject.
type state struct {
	first, last time.Time // it was seen
	advisory    *Advisory // nil: it has not lasted yet
}

// newTracker continues the sequence of an earlier run of the gateway as far as its clock does: by its milliseconds.
func newTracker(now time.Time) *tracker {
	return &tracker{states: map[subject]*state{}, sequence: uint64(max(0, now.UnixMilli()))}
}

// compare takes all conditions at now, in an order that stays, and returns the advisories that have begun, have come to
// stand for twice as many, or have ended.
func (t *tracker) compare(now time.Time, conditions []condition) (changed []Advisory) {
	begun := t.countOpen()
	var others []condition
	indexes := map[subject]int{} // in others
	for _, c := range conditions {
		s := t.see(now, c)
		if s.advisory != nil || now.Sub(s.first) < advisoryRules[c.code].after {
			continue
		}
		more := c.allOthers()
		if t.states[more.subject] == nil && begun.admits(c.subject) {
			begun.add(c.subject)
			changed = append(changed, t.begin(now, s, c))
			continue
		}
		i, found := indexes[more.subject]
		if !found {
			i = len(others)
			indexes[more.subject], others = i, append(others, more)
		}
		others[i].count++
	}
	for _, more := range others {
		s := t.see(now, more)
		switch {
		case s.advisory == nil:
			changed = append(changed, t.begin(now, s, more))
		case more.count >= 2*s.advisory.count:
			s.advisory.count = more.count
			changed = append(changed, t.change(now, s.advisory))
		}
	}
	return append(changed, t.endGone(now)...)
}

// see notes that there is the condition now.
func (t *tracker) see(now time.Time, c condition) *state {
	s := t.states[c.subject]
	if s == nil {
		s = &state{first: now}
		t.states[c.subject] = s
	}
	s.last = now
	return s
}

func (t *tracker) begin(now time.Time, s *state, c condition) Advisory {
	if c.since.IsZero() {
		c.since = s.first
	}
	s.advisory = &Advisory{condition: c}
	s.advisory.ID = t.change(now, s.advisory).Sequence
	return *s.advisory
}

// change gives the advisory the next number, and while it is open the sentence of now.
func (t *tracker) change(now time.Time, a *Advisory) Advisory {
	t.sequence++
	a.Sequence, a.At = t.sequence, now
	if a.EndedAt.IsZero() {
		a.sentence = a.text(now)
	}
	return *a
}

// endGone ends the advisories of what has been gone for a while, and forgets what is gone.
func (t *tracker) endGone(now time.Time) (ended []Advisory) {
	for _, a := range t.open() {
		if s := t.states[a.subject]; now.Sub(s.last) >= lingers {
			s.advisory.EndedAt = now
			ended = append(ended, t.change(now, s.advisory))
			delete(t.states, a.subject)
		}
	}
	for of, s := range t.states {
		if s.advisory == nil && s.last.Before(now) {
			delete(t.states, of)
		}
	}
	t.ended = append(t.ended, ended...)
	if beyond := len(t.ended) - maxEnded; beyond > 0 {
		t.forgotten = t.ended[beyond-1].Sequence
		t.ended = append([]Advisory{}, t.ended[beyond:]...)
	}
	return ended
}

// open returns the open advisories, by the sequence of their newest change.
func (t *tracker) open() (open []Advisory) {
	for _, s := range t.states {
		if s.advisory != nil {
			open = append(open, *s.advisory)
		}
	}
	slices.SortFunc(open, func(a, b Advisory) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return open
}

// openCount counts the open advisories of one subject each.
type openCount struct {
	byGroup map[group]int
	ofLanes map[AdvisoryCode]int
}

// group is the lanes of a range; uuid.Nil stands for ranges and webhooks.
type group struct {
	code    AdvisoryCode
	rangeID uuid.UUID
}

func (s subject) group() group {
	if s.lane == uuid.Nil {
		return group{code: s.code}
	}
	return group{s.code, s.rangeID}
}

func (t *tracker) countOpen() openCount {
	n := openCount{map[group]int{}, map[AdvisoryCode]int{}}
	for of, s := range t.states {
		if s.advisory != nil && !of.others {
			n.add(of)
		}
	}
	return n
}

func (n openCount) add(s subject) {
	n.byGroup[s.group()]++
	if s.lane != uuid.Nil {
		n.ofLanes[s.code]++
	}
}

// admits reports whether the subject may have an advisory of its own.
func (n openCount) admits(s subject) bool {
	return n.byGroup[s.group()] < maxOfRange && (s.lane == uuid.Nil || n.ofLanes[s.code] < maxOfCode)
}

// allOthers is the condition that stands for all that have no advisory of their own.
func (c condition) allOthers() condition {
	more := condition{subject: subject{code: c.code, kind: c.kind, others: true}}
	if c.lane != uuid.Nil {
		more.rangeID, more.rangeName = c.rangeID, c.rangeName
	}
	return more
}
