package main

import (
	"context"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/clock"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

const atATime = 4096 // records of a kind in one flush, as in the committer

// seed is the state of a range whose gateway has just stopped.
type seed struct {
	layout   lanes.Layout
	sessions int                        // running, on the first lanes
	deadline func(i int) lanes.Instant  // of the session on lane i
	pending  func(i int) []lanes.Logged // pending events without cursors; nil: none
}

// batches returns the records as flushes.
func (s seed) batches(clock clock.Clock) []store.Batch {
	now := clock.Now()
	var all []store.Batch
	for i, place := range s.layout.Lanes[:s.sessions] {
		if i%atATime == 0 {
			all = append(all, store.Batch{
				Range: s.layout.Range, Now: now.Wall, Checkpoint: &lanes.Checkpoint{At: now, Boot: clock.Boot()},
			})
		}
		batch := &all[len(all)-1]
		batch.Lanes = append(batch.Lanes, s.lane(i, place.ID, now, clock.Boot()))
		if s.pending == nil {
			continue
		}
		for round, event := range s.pending(i) { // one lane after the other
			event.Cursor = uint64(round*s.sessions + i + 1)
			batch.Events = append(batch.Events, event)
		}
	}
	return all
}

// lane returns a lane with a session of an hour that ends at its deadline.
func (s seed) lane(i int, id uuid.UUID, now lanes.Instant, boot string) lanes.Snapshot {
	began := now
	return lanes.Snapshot{Boot: boot, Lane: lanes.Lane{ID: id, Session: &lanes.Session{
		ID: uuid.New(), Group: s.layout.Groups[0].ID, Customer: "Jo Smith", Sold: time.Hour, Phase: lanes.Running,
		Left: s.deadline(i).Since(now), Since: now, Created: now, Began: &began, Facts: 2,
	}}}
}

// plant writes the seed to an empty store.
func (s seed) plant(ctx context.Context, into store.Store, clock clock.Clock) error {
	epoch, err := into.Claim(ctx, s.layout.Range, clock.Now().Wall)
	if err != nil {
		return err
	}
	for n, batch := range s.batches(clock) {
		batch.Epoch, batch.N = epoch, uint64(n+1)
		if err := into.Flush(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// deadlineInAnHour is a deadline after every experiment.
func deadlineInAnHour(clock clock.Clock) func(int) lanes.Instant {
	at := clock.Now().Add(time.Hour)
	return func(int) lanes.Instant { return at }
}
