package holds

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/lanes"
)

// Patience is how long the reply to a hold or its end waits for lanes to confirm and for the store.
const Patience = 1900 * time.Millisecond

// Holds are those of one range. The zero value is of no use: see New.
type Holds struct {
	record  commit.HoldRecord      // in force
	newest  uint64                 // version of the newest record, saved or not
	lastSet map[lanes.Scope]uint64 // scope → version of the record in which a hold was last set
	lifting map[lanes.Scope]int    // lifts that are being saved

	lastLift lanes.Instant // when the last lift was put in force
	// lanes whose hardware has confirmed its release since the last hold over them ended, and whose end is not
	// forgotten yet
	confirmed map[uuid.UUID]bool
}

// New begins with the holds in force. newest is the version of the newest record of the range, saved or not; 0
// for a range that has just been loaded. A lift that began before, and is still being saved, ends one of them only if
// its record is the newest: the hold may have been pressed again in a later one.
func New(inForce lanes.Holds, newest uint64) *Holds {
	h := &Holds{
		record: commit.HoldRecord{Version: newest, Holds: inForce}, newest: newest,
		lastSet: map[lanes.Scope]uint64{}, lifting: map[lanes.Scope]int{}, confirmed: map[uuid.UUID]bool{},
	}
	for _, hold := range inForce.InForce {
		h.lastSet[hold.Scope] = newest
	}
	return h
}

// InForce is the record in force.
func (h *Holds) InForce() lanes.Holds { return h.record.Holds }

// Newest is the version of the newest record, saved or not.
func (h *Holds) Newest() uint64 { return h.newest }

// Change is what a hold or its end changes.
type Change struct {
	Record commit.HoldRecord // to be saved
	Lanes  []uuid.UUID       // to be told: those that close, or those that no hold covers any more
	Acts   []lanes.Act       // of staff, to be saved with the record
	Save   bool              // the record is not saved yet, or not in this form
}

// next gives the record the version after the newest one.
func (h *Holds) next(holds lanes.Holds) commit.HoldRecord {
	h.newest++
	return commit.HoldRecord{Version: h.newest, Holds: holds}
}

// Set puts a hold over the scope in force. Change.Lanes are all lanes under it: they are told before the record
// is saved.
func (h *Holds) Set(scope lanes.Scope, press uuid.UUID, who string, layout *lanes.Layout, now lanes.Instant) Change {
	anew := !h.record.Has(scope) || h.lifting[scope] > 0
	h.record = h.next(h.record.Set(scope, who, now.Wall).Press(scope, press))
	h.lastSet[scope] = h.record.Version
	return Change{
		Record: h.record, Save: true,
		Lanes: covered(layout, scope, func(lanes.Place) bool { return true }),
		Acts:  acts(lanes.DidHold, scope, who, layout, now, anew),
	}
}

// Lift begins the end of the hold over the scope, as it was after that press; uuid.Nil: as it is. It is in force
// once the record is saved: the caller tells Lifted what became of it. Errors: lanes.ErrCeasefire, with no change,
// if the hold was pressed again since.
func (h *Holds) Lift(
	scope lanes.Scope, press uuid.UUID, who string, layout *lanes.Layout, now lanes.Instant,
) (Change, error) {
	if h.record.PressedSince(scope, press) {
		return Change{}, lanes.ErrCeasefire
	}
	ends := h.record.Has(scope)
	h.lifting[scope]++
	return Change{
		Record: h.next(h.record.Lift(scope, now.Wall)), Save: true,
		Acts: acts(lanes.DidLift, scope, who, layout, now, ends),
	}, nil
}

// Lifted ends the save of a lift: version is that of its record, outcome any but commit.Unresolved. Once it is
// saved the hold is not in force any more, and Change.Lanes are those under it that no other hold covers. Errors:
// lanes.ErrCeasefire if a hold was set over the scope meanwhile, or may have been (see New), that of the outcome.
func (h *Holds) Lifted(
	scope lanes.Scope, version uint64, outcome commit.Outcome, layout *lanes.Layout, now lanes.Instant,
) (Change, error) {
	if h.lifting[scope]--; h.lifting[scope] <= 0 {
		delete(h.lifting, scope)
	}
	switch {
	case outcome != commit.Saved:
		return Change{}, outcome.Err()
	case h.lastSet[scope] > version: // and saved after it
		return Change{}, lanes.ErrCeasefire
	}
	changedMeanwhile := h.newest != version // what was saved since then still had the hold
	h.lastLift = now
	if h.record.Has(scope) { // its lanes have confirmed the end of an earlier hold at most
		for _, place := range layout.Lanes {
			if scope.Covers(place) {
				delete(h.confirmed, place.ID)
			}
		}
	}
	h.record = h.next(h.record.Lift(scope, now.Wall))
	return Change{
		Record: h.record, Save: changedMeanwhile,
		Lanes: covered(layout, scope, func(place lanes.Place) bool { return !h.record.Over(place) }),
	}, nil
}

// Confirmed remembers that the lane's hardware has confirmed its release: the end of that hold explains no later
// lock. first says that Forget is to be called soon.
func (h *Holds) Confirmed(lane uuid.UUID) (first bool) {
	h.confirmed[lane] = true
	return len(h.confirmed) == 1
}

// Forget puts the record without the ends of holds in force that the hardware has confirmed. later says that it
// is to be called once more: it waits for a lift that is being saved, as the record in force still has its hold;
// and for the other lanes, for Patience after the lift, before the record names lanes one by one.
func (h *Holds) Forget(layout *lanes.Layout, now lanes.Instant) (change Change, later bool) {
	holds := h.record.Forget(layout.Lanes, func(place lanes.Place) bool { return h.confirmed[place.ID] })
	namesLanes := len(holds.Lifted) > len(h.record.Lifted)
	if len(h.lifting) > 0 || namesLanes && now.Since(h.lastLift) < Patience {
		return Change{}, true
	}
	clear(h.confirmed)
	if slices.Equal(holds.Lifted, h.record.Lifted) {
		return Change{}, false
	}
	h.record = h.next(holds)
	return Change{Record: h.record, Save: true}, false
}

// Found decides about a controller that is locked although its lane is not held. It may be released when a hold
// over it is known to have ended, and it has not confirmed that yet. Otherwise nobody knows why it is locked: set
// says that a hold over the lane is to keep it so until staff lift it.
func (h *Holds) Found(place lanes.Place) (scope lanes.Scope, set bool) {
	scope = lanes.Scope{Kind: lanes.OverLane, ID: place.ID}
	return scope, !h.record.Over(place) && !h.record.KnowsOfEnd(place)
}

// Broken says which holds in force a change of the layout would break, and how: the bay or lane under a hold goes,
// or a lane leaves or enters a bay under one. A reload that does that is refused. A hold over what was lost while the
// gateway was down stays, until it is lifted: what is under it may come back.
func Broken(inForce lanes.Holds, before, after *lanes.Layout) (why []string) {
	was, stays, to := parts(before), parts(after), make(map[uuid.UUID]lanes.Place, len(after.Lanes))
	for _, place := range after.Lanes {
		to[place.ID] = place
	}
	for _, hold := range inForce.InForce {
		if hold.Kind != lanes.OverRange && was[hold.ID] && !stays[hold.ID] {
			why = append(why, fmt.Sprintf("a hold lies over %s %s; lift it first", hold.Kind, hold.ID))
		}
	}
	for _, was := range before.Lanes {
		place, found := to[was.ID]
		if !found || place.Bay == was.Bay {
			continue
		}
		for _, bay := range []uuid.UUID{was.Bay, place.Bay} {
			if inForce.Has(lanes.Scope{Kind: lanes.OverBay, ID: bay}) {
				why = append(why, fmt.Sprintf("lane %s changes its bay, and a hold lies over bay %s; lift it first",
					was.ID, bay))
			}
		}
	}
	return why
}

// parts are the ids of the bays and lanes of the layout.
func parts(layout *lanes.Layout) map[uuid.UUID]bool {
	all := make(map[uuid.UUID]bool, len(layout.Bays)+len(layout.Lanes))
	for _, bay := range layout.Bays {
		all[bay.ID] = true
	}
	for _, place := range layout.Lanes {
		all[place.ID] = true
	}
	return all
}

// Rearranged returns the holds that are to be set and lifted after a reload. A lane that has left the scope of a
// hold, and is under no other, is held by itself. A hold whose bay or lane is gone has ended.
func (h *Holds) Rearranged(before, after *lanes.Layout) (set []lanes.HoldRecord, lift []lanes.Scope) {
	was := make(map[uuid.UUID]lanes.Place, len(before.Lanes))
	for _, place := range before.Lanes {
		was[place.ID] = place
	}
	had, stays, record := parts(before), parts(after), h.record.Holds
	for _, hold := range h.record.InForce {
		for _, place := range after.Lanes {
			if old, found := was[place.ID]; found && hold.Covers(old) && !record.Over(place) {
				own := lanes.HoldRecord{Scope: lanes.Scope{Kind: lanes.OverLane, ID: place.ID}, Who: hold.Who}
				record = record.Set(own.Scope, own.Who, time.Time{})
				set = append(set, own)
			}
		}
		if hold.Kind != lanes.OverRange && had[hold.ID] && !stays[hold.ID] {
			lift = append(lift, hold.Scope)
		}
	}
	return set, lift
}

// covered returns the lanes under the scope that are also wanted.
func covered(layout *lanes.Layout, scope lanes.Scope, wanted func(lanes.Place) bool) (covered []uuid.UUID) {
	for _, place := range layout.Lanes {
		if scope.Covers(place) && wanted(place) {
			covered = append(covered, place.ID)
		}
	}
	return covered
}

// acts is the record of staff having set or lifted the hold, empty if that changes nothing or a controller was
// found locked.
func acts(
	what string, scope lanes.Scope, who string, layout *lanes.Layout, now lanes.Instant, changes bool,
) []lanes.Act {
	if who == lanes.ByController || !changes {
		return nil
	}
	act := lanes.Act{At: now.Wall, Who: who, What: what, Detail: scope.Kind}
	switch scope.Kind {
	case lanes.OverLane:
		act.Lane = scope.ID
	case lanes.OverBay:
		for _, bay := range layout.Bays {
			if bay.ID == scope.ID {
				act.Detail += " " + bay.Name
			}
		}
	}
	return []lanes.Act{act}
}
