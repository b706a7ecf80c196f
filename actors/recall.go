package actors

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// recall is a lane that starts, or starts again after a panic, and asks for its last state.
type recall struct {
	lane uuid.UUID
	tell func(lanes.Lane)
}

// recall tells the lane's state as it was last saved, or stands: once no write of it is under way whose outcome
// could still go either way. tell must not block.
func (c *committer) recall(lane uuid.UUID, tell func(lanes.Lane)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recalls = append(c.recalls, recall{lane, tell})
	c.answerRecalls()
}

// answerRecalls answers those that can be answered. c.mu is held.
func (c *committer) answerRecalls() {
	c.recalls = slices.DeleteFunc(c.recalls, func(r recall) bool {
		last, known := c.current[r.lane]
		if !known {
			last.ID = r.lane // nothing was ever saved of it
		}
		for _, w := range slices.Concat(c.flying, c.waiting) {
			for _, lane := range w.lanes {
				if lane.ID != r.lane {
					continue
				}
				if !w.stands {
					return false
				}
				last = lane
			}
		}
		r.tell(last)
		return true
	})
}

// refill makes the batch hold everything that the range knows, for a store that has lost acknowledged writes: what
// is saved, under what the batch itself changes, and what was saved of late in the event log and the history.
func (c *committer) refill(batch store.Batch) store.Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch.Refill = true
	changed := map[uuid.UUID]bool{}
	for _, snapshot := range batch.Lanes {
		changed[snapshot.ID] = true
	}
	for id, lane := range c.current {
		if !changed[id] {
			batch.Lanes = append(batch.Lanes, lanes.Snapshot{Lane: lane, Boot: c.clock.Boot()})
		}
	}
	events := map[uint64]lanes.Logged{}
	for _, event := range slices.Concat(slices.Collect(maps.Values(c.pending)), c.events.all(), batch.Events) {
		events[event.Cursor] = event
	}
	batch.Events = slices.SortedFunc(maps.Values(events), func(a, b lanes.Logged) int { return cmp.Compare(a.Cursor, b.Cursor) })
	batch.Ended = append(c.ended.all(), batch.Ended...)
	batch.Acts = append(c.acts.all(), batch.Acts...)
	batch.LastEvent, batch.LastEnded, batch.LastAct = c.lastEvent, c.lastEnded, c.lastAct
	if batch.Holds == nil {
		batch.Holds = &c.holds.Holds
	}
	batch.Keys = append(c.keys.All(), batch.Keys...)
	batch.Checkpoint = &lanes.Checkpoint{At: c.clock.Now(), Boot: c.clock.Boot()}
	return batch
}

// drain waits until nothing waits to be saved, or ctx ends.
func (c *committer) drain(ctx context.Context) error {
	c.mu.Lock()
	if !c.running {
		c.mu.Unlock()
		return nil
	}
	done := make(chan struct{})
	c.drained = append(c.drained, done)
	c.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
