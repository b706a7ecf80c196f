package board

import (
	"cmp"
	"iter"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

const (
	// UnwellFor is how long a link that is up again is listed among those that failed.
	UnwellFor    = 10 * time.Minute
	maxLastError = 200 // bytes
)

// linkFailures are those of a lane's link. One that came up at once and stayed up has none.
type linkFailures struct {
	count     int
	lastError string
	lastAt    time.Duration // monotonic
	inRow     int
	retryAt   time.Time
}

// LinkFailure is a connection to a lane's hardware that failed, or could not be made.
type LinkFailure struct {
	Err     error
	InRow   int       // failures without a link that stayed up, this one included
	RetryAt time.Time // when the next dial follows
}

// LinkFailed notes a failure of the lane's link.
func (b *Board) LinkFailed(lane uuid.UUID, failure LinkFailure, now lanes.Instant) {
	said := failure.Err.Error()
	if len(said) > maxLastError {
		said = strings.ToValidUTF8(said[:maxLastError], "") + "…"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, found := b.places[lane]; !found {
		return
	}
	b.failures[lane] = linkFailures{
		b.failures[lane].count + 1, strings.Clone(said), now.Mono, failure.InRow,
		failure.RetryAt,
	}
}

// noteLink remembers a change of the lane's link. b.mu is held.
func (b *Board) noteLink(lane uuid.UUID, change lanes.LinkChange) {
	if change.Link == lanes.LinkUp {
		change.Firmware = strings.Clone(change.Firmware)
	} else {
		change.Error = b.failures[lane].lastError
		change.Firmware, change.Capabilities, change.Address = "", nil, ""
	}
	changes := b.linkChanges[lane]
	if len(changes) == lanes.MaxLinkChanges {
		changes = slices.Delete(changes, 0, 1)
	}
	b.linkChanges[lane] = append(changes, change)
}

// LinkChanges returns the changes of the lane's link, the newest first: at most lanes.MaxLinkChanges, since the range
// was loaded here.
func (v *View) LinkChanges(lane uuid.UUID) []lanes.LinkChange {
	v.mu.RLock()
	defer v.mu.RUnlock()
	changes := slices.Clone(v.linkChanges[lane])
	slices.Reverse(changes)
	return changes
}

// Links counts the lanes by the state of their links, and lists those that are not up or were made anew of
// late: the worst first, and not all of them where there are many.
func (v *View) Links(now lanes.Instant) (count map[lanes.LinkState]int, unwell []lanes.LinkHealth) {
	count = map[lanes.LinkState]int{lanes.LinkUp: 0, lanes.LinkDown: 0, lanes.LinkFaulty: 0}
	v.mu.RLock()
	defer v.mu.RUnlock() // changes wait meanwhile: nothing is copied but the few that are listed
	for i := range v.lanes {
		lane := &v.lanes[i]
		state := cmp.Or(lane.Link, lanes.LinkDown)
		count[state]++
		failures, failed := v.failures[lane.ID]
		if state != lanes.LinkUp || failed && now.Mono-failures.lastAt <= UnwellFor {
			unwell = insert(unwell, linkHealth(lane, failures))
		}
	}
	return count, unwell
}

// Lane is one lane, and what is known of its link but how it is reached. found is false for a lane of another range.
func (v *View) Lane(id uuid.UUID) (status lanes.LaneStatus, link lanes.LinkProblem, found bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	i, found := v.places[id]
	if !found {
		return lanes.LaneStatus{}, lanes.LinkProblem{}, false
	}
	return v.lanes[i], v.linkProblem(i), true
}

// lanesInATurn is how many lanes All reads before whoever waits has its turn: it takes tens of milliseconds for 10,000,
// and no session may be stopped so much later.
const lanesInATurn = 64

// All are all lanes as Lane has them, in display order, each as it is when its turn comes. A lane may be missed, or
// come twice, where the layout changes meanwhile.
func (v *View) All() iter.Seq2[lanes.LaneStatus, lanes.LinkProblem] {
	return func(yield func(lanes.LaneStatus, lanes.LinkProblem) bool) {
		var statuses [lanesInATurn]lanes.LaneStatus
		var links [lanesInATurn]lanes.LinkProblem
		for from := 0; ; from += lanesInATurn {
			n := v.read(from, statuses[:], links[:])
			for i := range n {
				if !yield(statuses[i], links[i]) {
					return
				}
			}
			if n < lanesInATurn {
				return
			}
			runtime.Gosched()
		}
	}
}

// read fills both with the lanes from that place on, and returns how many it has read.
func (v *View) read(from int, statuses []lanes.LaneStatus, links []lanes.LinkProblem) (n int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	n = copy(statuses, v.lanes[min(from, len(v.lanes)):])
	for i := range n {
		links[i] = v.linkProblem(int32(from + i))
	}
	return n
}

// linkProblem is what is known of the link of the lane at that place. v.mu is held.
func (v *View) linkProblem(place int32) lanes.LinkProblem {
	failures := v.failures[v.lanes[place].ID]
	return lanes.LinkProblem{
		LinkHealth: linkHealth(&v.lanes[place], failures), InRow: failures.inRow, RetryAt: failures.retryAt,
	}
}

func linkHealth(lane *lanes.LaneStatus, failures linkFailures) lanes.LinkHealth {
	return lanes.LinkHealth{
		Lane: lane.ID, Name: lane.Name, Link: cmp.Or(lane.Link, lanes.LinkDown), Since: lane.LinkSince,
		Restarts: failures.count, LastError: failures.lastError,
	}
}

// insert puts one more into the list of the worst, if it is among them: behind its equals, which came before it.
func insert(unwell []lanes.LinkHealth, one lanes.LinkHealth) []lanes.LinkHealth {
	if full := len(unwell) == lanes.MaxUnwell; full && worse(unwell[len(unwell)-1], one) <= 0 {
		return unwell
	} else if full {
		unwell = unwell[:len(unwell)-1]
	}
	at, _ := slices.BinarySearchFunc(unwell, one, func(other, one lanes.LinkHealth) int {
		if worse(other, one) <= 0 {
			return -1
		}
		return 1
	})
	return slices.Insert(unwell, at, one)
}

var grade = map[lanes.LinkState]int{lanes.LinkFaulty: 0, lanes.LinkDown: 1, lanes.LinkUp: 2}

// worse puts the faulty before those that cannot be reached and these before those that are up again; then
// who has been so for longest, or was made anew most often.
func worse(a, b lanes.LinkHealth) int {
	if by := cmp.Compare(grade[a.Link], grade[b.Link]); by != 0 {
		return by
	}
	if a.Link == lanes.LinkUp {
		return cmp.Compare(b.Restarts, a.Restarts)
	}
	return a.Since.Compare(b.Since)
}
