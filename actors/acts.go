package actors

import (
	"context"

	"rangegate/lanes"
)

// What staff did is saved in the same write as what it changed.

// acts is the record of what staff change, nothing for anybody else.
func (l *laneActor) acts(a *ask, change lanes.Change) []lanes.Act {
	if a.who == "" {
		return nil
	}
	act := lanes.Did(a.who, a.at, l.lane, a.command, change)
	if change.Other != nil {
		act.Detail = l.of.settings().name(change.Other.ID)
	}
	return []lanes.Act{act}
}

// acts is the record of staff having set the hold, or lifted it, if that changes anything. What a controller was found with
// nobody did.
func (h *holding) acts(what string, over lanes.Scope, who string, at lanes.Instant, changes bool) []lanes.Act {
	if who == lanes.ByController || !changes {
		return nil
	}
	act := lanes.Act{At: at.Wall, Who: who, What: what, Detail: over.Kind}
	switch over.Kind {
	case lanes.OverLane:
		act.Lane = over.ID
	case lanes.OverBay:
		for _, bay := range h.of.Layout().Bays {
			if bay.ID == over.ID {
				act.Detail += " " + bay.Name
			}
		}
	}
	return []lanes.Act{act}
}

// Acts reads what staff did behind the cursor, oldest first.
func (r *Range) Acts(ctx context.Context, after uint64, limit int) ([]lanes.Act, error) {
	acts, err := r.store.Acts(ctx, r.id, after, limit)
	if err != nil {
		return nil, r.unreadable(err)
	}
	return acts, nil
}

// Latest is the highest cursors that were given in the event log, in the history and to what staff did, to read them from
// their ends.
func (r *Range) Latest(context.Context) (lastEvent, lastEnded, lastAct uint64) {
	return r.committer.latest()
}

// latest is the highest cursors given in the event log, in the history and to what staff did.
func (c *committer) latest() (event, ended, act uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastEvent, c.lastEnded, c.lastAct
}
