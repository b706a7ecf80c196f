package actors

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

const (
	unwellFor   = 10 * time.Minute // that a link which is up again is shown as one that was made anew
	keptOfError = 200              // bytes
)

// trouble is what the link of a lane has been through. One that came up at once and stayed up has none.
type trouble struct {
	restarts int
	last     string        // error
	at       time.Duration // of the last, by the clock that nobody sets
}

// troubled takes in that a connection to the lane's hardware failed, or could not be made.
func (b *Board) troubled(lane uuid.UUID, err error, now lanes.Instant) {
	said := err.Error()
	if len(said) > keptOfError {
		said = strings.ToValidUTF8(said[:keptOfError], "") + "…"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, has := b.place[lane]; !has {
		return
	}
	b.troubles[lane] = trouble{b.troubles[lane].restarts + 1, strings.Clone(said), now.Mono}
}

// links counts the lanes by how their links stand, and lists those that are not up or were made anew of late: the worst
// first, and not all of them where there are many.
func (b *Board) links(now lanes.Instant) (count map[lanes.LinkState]int, unwell []lanes.LinkHealth) {
	count = map[lanes.LinkState]int{lanes.LinkUp: 0, lanes.LinkDown: 0, lanes.LinkFaulty: 0}
	b.mu.RLock()
	defer b.mu.RUnlock() // changes wait meanwhile: nothing is copied but the few that are listed
	for i := range b.lanes {
		lane := &b.lanes[i]
		state := cmp.Or(lane.Link, lanes.LinkDown)
		count[state]++
		had, any := b.troubles[lane.ID]
		if state != lanes.LinkUp || any && now.Mono-had.at <= unwellFor {
			unwell = among(unwell, lanes.LinkHealth{
				Lane: lane.ID, Name: lane.Name, Link: state, Since: lane.LinkSince, Restarts: had.restarts, LastError: had.last,
			})
		}
	}
	return count, unwell
}

// among is the worst with one more, if it is among them: behind its equals, which came before it.
func among(unwell []lanes.LinkHealth, one lanes.LinkHealth) []lanes.LinkHealth {
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

// worse puts the faulty before those that cannot be reached and these before those that are up again; then who has been so
// for longest, or was made anew most often.
func worse(a, b lanes.LinkHealth) int {
	if by := cmp.Compare(grade[a.Link], grade[b.Link]); by != 0 {
		return by
	}
	if a.Link == lanes.LinkUp {
		return cmp.Compare(b.Restarts, a.Restarts)
	}
	return a.Since.Compare(b.Since)
}
