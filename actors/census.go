package actors

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// census is a range in numbers, at one moment.
type census struct {
	lanes, notUsable, held, unconfirmed, parked int
	sessions                                    map[lanes.Phase]int     // every phase is there
	links                                       map[lanes.LinkState]int // every state is there
	purchases                                   map[lanes.PurchasePhase]int
}

// census counts the lanes of the board, in one walk. under tells whether the range's holds lie over a lane: it is held from
// then on, also while its own change waits for the store.
func (b *Board) census(under func(lanes.Place) bool) census {
	c := census{
		sessions:  map[lanes.Phase]int{lanes.Waiting: 0, lanes.Running: 0, lanes.Paused: 0},
		links:     map[lanes.LinkState]int{lanes.LinkUp: 0, lanes.LinkDown: 0, lanes.LinkFaulty: 0},
		purchases: map[lanes.PurchasePhase]int{},
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	c.lanes = len(b.lanes)
	for i := range b.lanes {
		c.add(&b.lanes[i], under)
	}
	return c
}

func (c *census) add(lane *lanes.LaneStatus, under func(lanes.Place) bool) {
	if lane.NotUsable != "" {
		c.notUsable++
	}
	if lane.Parked {
		c.parked++
	}
	if lane.Lane.Held || under(lane.Place) {
		c.held++
		if !lane.Locked {
			c.unconfirmed++
		}
	}
	c.links[cmp.Or(lane.Link, lanes.LinkDown)]++
	if s := lane.Lane.Session; s != nil {
		c.sessions[s.Phase]++
		if s.Purchase != nil && s.Purchase.Phase == lanes.Pending {
			c.purchases[lanes.Pending]++
		}
	}
	for _, p := range lane.Lane.Open {
		c.purchases[p.Phase]++
	}
}

// covering tells whether the holds in force lie over a lane. It goes through them once, not once for every lane.
func covering(holds lanes.Holds) func(lanes.Place) bool {
	over := make(map[lanes.Scope]bool, len(holds.InForce))
	for _, hold := range holds.InForce {
		over[hold.Scope] = true
	}
	if len(over) == 0 {
		return func(lanes.Place) bool { return false }
	}
	return func(place lanes.Place) bool {
		return over[lanes.Scope{Kind: lanes.OverRange}] ||
			over[lanes.Scope{Kind: lanes.OverBay, ID: place.Bay}] || over[lanes.Scope{Kind: lanes.OverLane, ID: place.ID}]
	}
}

// since is when the oldest hold in force began, by the kind of its scope.
func since(holds lanes.Holds) map[string]time.Time {
	oldest := map[string]time.Time{}
	for _, hold := range holds.InForce {
		if known, is := oldest[hold.Kind]; !is || hold.Since.Before(known) {
			oldest[hold.Kind] = hold.Since
		}
	}
	return oldest
}

// backlog is how far the committer is with what it has to save.
type backlog struct {
	away    bool
	flushed time.Time // when the last flush was durable, zero before the first
	writes  int       // that are not durable yet
	lanes   int       // that they are of
}

// backlog holds the lock for no longer than it takes to copy what waits: nothing that a write has is changed later on.
func (c *committer) backlog() backlog {
	c.mu.Lock()
	now := backlog{away: c.away, flushed: c.flushed}
	unsaved := make([]*write, 0, len(c.flying)+len(c.waiting))
	unsaved = append(append(unsaved, c.flying...), c.waiting...)
	c.mu.Unlock()
	of := map[uuid.UUID]struct{}{}
	for _, w := range unsaved {
		for _, lane := range w.lanes {
			of[lane.ID] = struct{}{}
		}
	}
	now.writes, now.lanes = len(unsaved), len(of)
	return now
}
