package commit

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// lookup is a lane that waits for its last saved state.
type lookup struct {
	lane  uuid.UUID
	reply func(lanes.Lane)
}

// LastSaved calls reply with the lane as it was last saved, or as a change that is in force before it is saved left it,
// once no other write of the lane is under way. A lane that was never saved has an id and nothing else.
// reply is called under the committer's lock and must not block.
func (c *Committer) LastSaved(lane uuid.UUID, reply func(lanes.Lane)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lookups = append(c.lookups, lookup{lane, reply})
	c.answerLookups()
}

// answerLookups answers the lookups that can be answered. c.mu is held.
func (c *Committer) answerLookups() {
	c.lookups = slices.DeleteFunc(c.lookups, func(l lookup) bool {
		last, found := c.current[l.lane]
		if !found {
			last.ID = l.lane
		}
		for _, w := range slices.Concat(c.batch, c.saveQueue) {
			for _, lane := range w.Lanes {
				if lane.ID != l.lane {
					continue
				}
				if !w.MustSave || w.WhenSaved {
					return false
				}
				last = lane
			}
		}
		l.reply(last)
		return true
	})
}

// refill makes the batch hold everything that the range knows, for a store that has lost acknowledged writes:
// what is saved, under what the batch itself changes, and what was saved recently in the logs.
func (c *Committer) refill(batch store.Batch) store.Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch.Refill = true
	changed := map[uuid.UUID]bool{}
	for _, snapshot := range batch.Lanes {
		changed[snapshot.ID] = true
	}
	for id, lane := range c.current {
		if !changed[id] {
			batch.Lanes = append(batch.Lanes, lanes.Snapshot{Lane: lane, Boot: c.Clock.Boot()})
		}
	}
	events := map[uint64]lanes.Logged{}
	for _, event := range slices.Concat(slices.Collect(maps.Values(c.unattempted)), c.events.all(), batch.Events) {
		events[event.Cursor] = event
	}
	batch.Events = slices.SortedFunc(maps.Values(events), func(a, b lanes.Logged) int {
		return cmp.Compare(a.Cursor, b.Cursor)
	})
	batch.Ended = append(c.ended.all(), batch.Ended...)
	batch.Acts = append(c.acts.all(), batch.Acts...)
	batch.LastEvent, batch.LastEnded, batch.LastAct = c.lastEvent, c.lastEnded, c.lastAct
	if batch.Holds == nil {
		batch.Holds = &c.holds.Holds
	}
	batch.Keys = append(c.Keys.All(), batch.Keys...)
	c.logID = newLogID(c.logID) // what is not among them may be missing
	reading := c.reading()
	batch.Checkpoint = &reading
	return batch
}

// Recall adds the newest records, which another owner of the range has saved, to those that a refill writes again. Each
// is in the order of its cursors. It is called before the first Save.
func (c *Committer) Recall(events []lanes.Logged, ended []lanes.Ended, acts []lanes.Act) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now().Mono
	for _, event := range events {
		c.events.put(event.Cursor, event, now)
	}
	for _, e := range ended {
		c.ended.put(e.Cursor, e, now)
	}
	for _, act := range acts {
		c.acts.put(act.Cursor, act, now)
	}
}

// recent holds the newest records of a log by cursor, which refill writes again.
type recent[T any] struct {
	order   []recordTime
	records map[uint64]T
}

// recordTime is when a record was saved first, on the monotonic clock.
type recordTime struct {
	cursor uint64
	at     time.Duration
}

// put adds a record that is saved, or replaces it, and drops those beyond the bounds.
func (r *recent[T]) put(cursor uint64, record T, now time.Duration) {
	if r.records == nil {
		r.records = map[uint64]T{}
	}
	if _, found := r.records[cursor]; !found {
		r.order = append(r.order, recordTime{cursor, now})
	}
	r.records[cursor] = record
	for len(r.order) > store.RefillSize || len(r.order) > 0 && now-r.order[0].at > store.RefillTerm {
		delete(r.records, r.order[0].cursor)
		r.order = r.order[1:]
	}
}

// all returns the records in the order in which they were saved first.
func (r *recent[T]) all() []T {
	records := make([]T, 0, len(r.order))
	for _, first := range r.order {
		records = append(records, r.records[first.cursor])
	}
	return records
}
