package lanes

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Scope is what a hold lies over.
type Scope struct {
	Kind string    `json:"scope"` // OverRange, OverBay, OverLane
	ID   uuid.UUID `json:"id"`    // of the bay or lane; uuid.Nil for the range
}

// The kinds of scopes.
const (
	OverRange = "range"
	OverBay   = "bay"
	OverLane  = "lane"
)

// Covers reports whether the scope has that lane in it.
func (s Scope) Covers(place Place) bool {
	switch s.Kind {
	case OverRange:
		return true
	case OverBay:
		return s.ID == place.Bay
	case OverLane:
		return s.ID == place.ID
	}
	return false
}

// HoldRecord is a hold in force: over what, who set it, since when.
type HoldRecord struct {
	Scope
	Who   string    `json:"who"`
	Since time.Time `json:"since"`
	// Press is the newest press: whoever ends the hold names the one that they have seen. uuid.Nil in a record of an
	// older version.
	Press uuid.UUID `json:"press,omitzero"`
}

// LiftRecord is when the last hold over a scope ended. It is kept until the hardware of every lane under the
// scope has confirmed that it is released.
type LiftRecord struct {
	Scope
	At time.Time `json:"at"`
}

// Holds is the range's own record of its holds. It is a value: to change it is to make another. That a hold
// has ended is remembered too, until the lane's hardware has confirmed it: a controller that comes back
// holding before that may be released. One that comes back holding after it does so for a reason that nobody
// knows of, such as a hold that was lost with the gateway before it was saved, and stays held (LINK.md,
// Safety table).
type Holds struct {
	InForce []HoldRecord `json:"in_force"`
	Lifted  []LiftRecord `json:"lifted"`
}

// Set returns the record with a hold over the scope. One that is in force already stays as it is.
func (h Holds) Set(over Scope, who string, at time.Time) Holds {
	if !h.Has(over) {
		h.InForce = append(slices.Clone(h.InForce), HoldRecord{Scope: over, Who: who, Since: at})
	}
	return h
}

// Press returns the record in which that press is the newest of the hold over the scope.
func (h Holds) Press(over Scope, press uuid.UUID) Holds {
	if i := h.index(over); i >= 0 {
		h.InForce = slices.Clone(h.InForce)
		h.InForce[i].Press = press
	}
	return h
}

// Lift returns the record without the hold over the scope. Where there is none it returns h.
func (h Holds) Lift(over Scope, at time.Time) Holds {
	i := h.index(over)
	if i < 0 {
		return h
	}
	h.InForce = slices.Delete(slices.Clone(h.InForce), i, i+1)
	h.Lifted = slices.DeleteFunc(slices.Clone(h.Lifted), func(l LiftRecord) bool { return l.Scope == over })
	h.Lifted = append(h.Lifted, LiftRecord{over, at})
	return h
}

// ByController is on record as who set a hold that a controller was found with and nobody knew of.
const ByController = "controller"

// PressedSince reports whether there is a hold over just that scope, and press is not its newest. uuid.Nil stands
// for the newest.
func (h Holds) PressedSince(over Scope, press uuid.UUID) bool {
	i := h.index(over)
	return press != uuid.Nil && i >= 0 && h.InForce[i].Press != press
}

// Has reports whether there is a hold over just that scope.
func (h Holds) Has(over Scope) bool { return h.index(over) >= 0 }

func (h Holds) index(over Scope) int {
	return slices.IndexFunc(h.InForce, func(r HoldRecord) bool { return r.Scope == over })
}

// Over reports whether any hold lies over the lane.
func (h Holds) Over(place Place) bool {
	return slices.ContainsFunc(h.InForce, func(r HoldRecord) bool { return r.Covers(place) })
}

// Forget returns the record without the ends of holds that the lanes' hardware has confirmed, as confirmed
// says of each place. Where only some lanes under a scope have, the ends over the others are kept lane by
// lane.
func (h Holds) Forget(places []Place, confirmed func(Place) bool) Holds {
	var kept []LiftRecord
	keptOver := map[Scope]bool{}
	keep := func(l LiftRecord) {
		if !keptOver[l.Scope] {
			keptOver[l.Scope] = true
			kept = append(kept, l)
		}
	}
	byID := make(map[uuid.UUID]Place, len(places))
	for _, place := range places {
		byID[place.ID] = place
	}
	for _, l := range h.Lifted {
		if l.Kind == OverLane { // there may be one for each lane
			if place, found := byID[l.ID]; found && !confirmed(place) {
				keep(l)
			}
			continue
		}
		var waiting []Place
		covered := 0
		for _, place := range places {
			if l.Covers(place) {
				covered++
				if !confirmed(place) {
					waiting = append(waiting, place)
				}
			}
		}
		if covered > 0 && len(waiting) == covered {
			keep(l)
			continue
		}
		for _, place := range waiting {
			keep(LiftRecord{Scope{OverLane, place.ID}, l.At})
		}
	}
	h.Lifted = kept
	return h
}

// KnowsOfEnd reports whether a hold over the lane is known to have ended, and its hardware has not confirmed
// that yet.
func (h Holds) KnowsOfEnd(place Place) bool {
	return slices.ContainsFunc(h.Lifted, func(r LiftRecord) bool { return r.Covers(place) })
}

// Reached is what became of a hold that was set or lifted, lane by lane.
type Reached struct {
	Confirmed  []uuid.UUID // in force on the hardware
	Sent       []uuid.UUID // handed to the link, which has not confirmed it
	NotReached []uuid.UUID // the link is down
	Saved      bool        // it survives a crash
}

// Hold locks the lane's fire line and pauses what runs. The holds themselves belong to the range; a lane
// knows only whether any of them lies over it.
type Hold struct{}

// Name implements Command.
func (Hold) Name() string { return "hold" }

func (Hold) decide(now Instant, c *Change) error {
	c.Closing = true
	if c.Lane.Held {
		return nil
	}
	c.Lane.Held = true
	if c.Lane.Session != nil {
		c.setSession(c.underHold(*c.Lane.Session, c.Lane, now), now)
	}
	return nil
}

// Release tells the lane that the last hold over it has ended. A session that a hold paused resumes; one that
// somebody paused stays paused.
type Release struct{}

// Name implements Command.
func (Release) Name() string { return "release" }

func (Release) decide(now Instant, c *Change) error {
	if !c.Lane.Held {
		return nil
	}
	c.Lane.Held, c.Lane.Released = false, &now
	if c.Lane.Session != nil {
		c.setSession(c.underHold(*c.Lane.Session, c.Lane, now), now)
	}
	return nil
}

// underHold brings the session in line with the hold over the lane that it is on: held, what runs is paused;
// not held, what a hold had paused resumes.
func (c *Change) underHold(s Session, lane Lane, now Instant) Session {
	switch {
	case lane.Held && s.Phase == Running:
		s = c.account(s, lane.ID, now).pause(now, true)
		c.addEvent(SessionPaused, &s, lane.ID, now)
	case !lane.Held && s.Phase == Paused && s.ByHold:
		s = s.resume(now)
		c.addEvent(SessionResumed, &s, lane.ID, now)
	}
	return s
}
