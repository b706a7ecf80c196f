package commit

import (
	"math/rand/v2"

	"rangegate/actors/clock"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// eventBatch is what one flush has added to the event log. The batches are a list whose last element is not
// saved yet: a batch that no follower stands at any more is garbage, so that a log that nobody follows keeps
// nothing in memory.
type eventBatch struct {
	saved  chan struct{}  // closed once the batch is durable; events and next are set before that
	events []lanes.Logged // in the order of their cursors, as they were saved first
	next   *eventBatch
}

// Follower reads the event log from memory as it grows. One goroutine uses it.
type Follower struct{ batch *eventBatch }

// Follow returns the highest cursor of an event of the log that is durable, and a follower of every event
// after it. Copies are not among them.
func (c *Committer) Follow() (saved uint64, f *Follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listedEvent, &Follower{c.newest}
}

// Next returns the oldest events that the follower has not returned, in the order of their cursors. All
// followers get the same slice, which nobody may change. Without any it returns a channel that is closed as
// soon as there are some.
func (f *Follower) Next() (events []lanes.Logged, wake <-chan struct{}) {
	select {
	case <-f.batch.saved:
		events = f.batch.events
		f.batch = f.batch.next
		return events, nil
	default:
		return nil, f.batch.saved
	}
}

// LogID names the event log and the history: a store that was wiped, replaced, restored from a backup or
// refilled has others, in which the same cursors may be of other records. It is saved with every checkpoint,
// the first of which comes with the first flush.
func (c *Committer) LogID() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.logID
}

// newLogID returns another one, at random.
func newLogID(before uint64) uint64 {
	for {
		if id := 1 + rand.Uint64N(lanes.MaxLogID); id != before {
			return id
		}
	}
}

// place names the store, if it can tell itself from its backups.
func (c Config) place() string {
	if placed, ok := c.Store.(store.Placed); ok {
		return placed.Place()
	}
	return ""
}

// SetHeir has checkpoints bear that name, from the next flush on: before an event for the webhook is saved.
func (c *Committer) SetHeir(webhook string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heir != webhook {
		c.heir, c.checkpoint = webhook, true
	}
}

// reading is a checkpoint of now. c.mu is held.
func (c *Committer) reading() lanes.Checkpoint {
	reading := clock.Read(c.Clock)
	reading.LogID, reading.Place = c.logID, c.place()
	reading.Heir = c.heir
	return reading
}

// SavedEnded returns the highest cursor of the history that is durable.
func (c *Committer) SavedEnded() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.savedEnded
}

// SavedEvent returns the highest cursor of the event log that is durable.
func (c *Committer) SavedEvent() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.savedEvent
}

// added returns the events of a durable write that are new in the log, copies not among them. Save gives the
// cursors in the order of the queue, and what is written again stays before what came later, so that cursors
// become durable in ascending order: an event with a higher cursor than all before is new, and any other one
// is the outcome of an attempt. c.mu is held.
func (c *Committer) added(w *Write) (events []lanes.Logged) {
	for _, event := range w.Events {
		if event.Cursor > c.savedEvent {
			c.savedEvent = event.Cursor
			if !event.Copy {
				c.listedEvent = event.Cursor
				events = append(events, asBegun(event))
			}
		}
	}
	return events
}

// publish gives the followers what a flush has added to the log. c.mu is held.
func (c *Committer) publish(events []lanes.Logged) {
	if len(events) == 0 {
		return
	}
	batch := c.newest
	c.newest = &eventBatch{saved: make(chan struct{})}
	batch.events, batch.next = events, c.newest
	close(batch.saved)
}

// asBegun shows a new event that is saved as interrupted as what it is: its attempt is being made.
func asBegun(event lanes.Logged) lanes.Logged {
	if event.Attempt != nil && event.Attempt.Error == lanes.Interrupted {
		attempt := *event.Attempt
		attempt.Error = lanes.UnderWay
		event.Attempt = &attempt
	}
	return event
}
