package board

import (
	"cmp"
	"time"

	"rangegate/lanes"
)

// Statistics are a range in numbers, at one moment.
type Statistics struct {
	Lanes, NotUsable, Held, Parked int
	Unconfirmed                    int                     // held, and the hardware has not confirmed it
	Sessions                       map[lanes.Phase]int     // every phase is there
	Links                          map[lanes.LinkState]int // every state is there
	Purchases                      map[lanes.PurchasePhase]int
	Uncleared                      int // the time of their session is up, and they are not clear
	// calls for help that wait for staff, and those to which somebody is on the way
	HelpCalled, HelpComing int
	OldestHelpCall         time.Time // of those that wait; zero if none does
}

// Statistics counts the lanes of the board at now, in one walk. A lane under a hold in force is held, also
// while its own change waits for the store.
func (v *View) Statistics(now lanes.Instant, holds lanes.Holds) Statistics {
	under := covering(holds)
	c := Statistics{
		Sessions:  map[lanes.Phase]int{lanes.Waiting: 0, lanes.Running: 0, lanes.Paused: 0},
		Links:     map[lanes.LinkState]int{lanes.LinkUp: 0, lanes.LinkDown: 0, lanes.LinkFaulty: 0},
		Purchases: map[lanes.PurchasePhase]int{},
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	c.Lanes = len(v.lanes)
	for i := range v.lanes {
		c.add(now, &v.lanes[i], under)
	}
	return c
}

func (c *Statistics) add(now lanes.Instant, lane *lanes.LaneStatus, under func(lanes.Place) bool) {
	if lane.NotUsable != "" {
		c.NotUsable++
	}
	if lane.Parked {
		c.Parked++
	}
	if lane.Lane.ToClear(now) > 0 {
		c.Uncleared++
	}
	if lane.Lane.Held || under(lane.Place) {
		c.Held++
		if !lane.Locked {
			c.Unconfirmed++
		}
	}
	c.Links[cmp.Or(lane.Link, lanes.LinkDown)]++
	if call := lane.Lane.Help; call != nil && call.Coming {
		c.HelpComing++
	} else if call != nil {
		c.HelpCalled++
		if c.OldestHelpCall.IsZero() || call.At.Before(c.OldestHelpCall) {
			c.OldestHelpCall = call.At
		}
	}
	if s := lane.Lane.Session; s != nil {
		c.Sessions[s.Phase]++
		if s.Purchase != nil && s.Purchase.Phase == lanes.Pending {
			c.Purchases[lanes.Pending]++
		}
	}
	for _, p := range lane.Lane.Open {
		c.Purchases[p.Phase]++
	}
}

// Turns returns what the lanes wait between sessions at now.
func (v *View) Turns(now lanes.Instant) lanes.TurnFigures {
	var times lanes.TurnTimes
	v.mu.RLock()
	defer v.mu.RUnlock()
	for i := range v.lanes {
		times.Add(v.lanes[i].Lane, now)
	}
	return times.Figures()
}

// covering reports whether the holds in force lie over a lane. It goes through them once, not once for every lane.
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
			over[lanes.Scope{Kind: lanes.OverBay, ID: place.Bay}] ||
			over[lanes.Scope{Kind: lanes.OverLane, ID: place.ID}]
	}
}
