package actors

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/clock"
	"rangegate/actors/idempotency"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

const maxBatch = 4096 // writes in one flush

// outcome is what became of a write.
type outcome int

const (
	saved    outcome = iota // durable
	refused                 // not written, and never will be
	standing                // not durable yet: the store is away; a closing write stands and is saved later
	disowned                // another process owns the range
	forsaken                // likewise, and whether the write was durable before is not known
)

// err is what someone hears whose change was not saved.
func (o outcome) err() error {
	switch o {
	case refused:
		return lanes.ErrStoreUnavailable
	case standing:
		return lanes.ErrNotSaved
	case disowned:
		return lanes.ErrNotOwner
	case forsaken:
		return lanes.ErrTimeout
	}
	return nil
}

// write is what one change of one lane (two, in a move) saves, all or nothing.
type write struct {
	lanes  []lanes.Lane
	events []lanes.Logged // without a cursor the committer gives one; with one it is written over
	ended  *lanes.Ended
	acts   []lanes.Act // of staff; the committer gives them their cursors
	kept   *lanes.KeptAnswer
	holds  *holdsRecord
	marks  bool          // it goes with a checkpoint
	ticket *ticket       // of the second lane, in a move
	stands bool          // a closing: kept until it is saved
	asked  bool          // somebody waits for the answer
	trace  string        // of the request that it follows from, empty without one
	came   time.Time     // when it was to be saved
	told   func(outcome) // standing comes at most once, and before the end; must not block
	warned bool          // standing was told
}

// committer saves the changes of one range in the order they come, as many as are waiting in one flush. One flush is
// under way at a time. A flush whose outcome is unknown is repeated until it is known.
type committer struct {
	rangeID uuid.UUID
	epoch   uint64
	store   store.Store
	clock   clock.Clock
	keys    *idempotency.Keys
	metrics *metrics.Metrics
	log     zerolog.Logger
	quit    <-chan struct{}
	disown  func() // lets go of the range

	mu         sync.Mutex
	waiting    []*write // not in a flush yet
	flying     []*write // in the flush under way
	gathering  gathering
	running    bool // the flushing goroutine
	away       bool // the store is away: what is not closing is refused at once
	lost       bool // disowned
	checkpoint bool // one is due
	retention  clock.Retention
	n          uint64
	lastEvent  uint64
	lastEnded  uint64
	lastAct    uint64
	current    map[uuid.UUID]lanes.Lane // as last saved, those of which anything was
	holds      holdsRecord              // likewise
	pending    map[uint64]lanes.Logged  // events that are saved and not attempted
	events     tail[lanes.Logged]       // saved of late
	ended      tail[lanes.Ended]        // likewise
	acts       tail[lanes.Act]          // likewise
	flushed    time.Time                // when the last flush was durable, zero before the first
	recalls    []recall
	drained    []chan struct{}
}

// save takes the write. It never blocks.
func (c *committer) save(w *write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.came = c.clock.Now().Wall
	switch {
	case c.lost:
		w.told(disowned)
		return
	case c.away && !w.stands, w.ticket != nil && w.ticket.void.Load():
		w.told(refused)
		return
	case c.away:
		w.warned = true
		w.told(standing)
	}
	for i := range w.events {
		if w.events[i].Cursor == 0 {
			c.lastEvent++
			w.events[i].Cursor = c.lastEvent
		}
	}
	if w.ended != nil {
		c.lastEnded++
		w.ended.Cursor = c.lastEnded
	}
	for i := range w.acts {
		c.lastAct++
		w.acts[i].Cursor = c.lastAct
	}
	if w.stands {
		c.forgetFinal(w.events) // they are saved in the end
	}
	c.waiting = append(c.waiting, w)
	c.gathering.came(len(c.waiting))
	c.start()
}

// forgetFinal: events that have their outcome wait for no attempt. c.mu is held.
func (c *committer) forgetFinal(events []lanes.Logged) {
	for _, event := range events {
		if event.Attempt != nil {
			delete(c.pending, event.Cursor)
		}
	}
}

// mark writes a checkpoint, which also tells whether the store can be written to.
func (c *committer) mark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checkpoint = true
	c.start()
}

// start makes the flushing goroutine run. c.mu is held.
func (c *committer) start() {
	if !c.running && !c.lost {
		c.running = true
		go c.run()
	}
}

// compose makes the next flush of what is waiting.
func (c *committer) compose() (store.Batch, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost || c.stopped() || (len(c.waiting) == 0 && !c.checkpoint && !c.away) {
		c.running = false
		for _, done := range c.drained {
			close(done)
		}
		c.drained = nil
		return store.Batch{}, false
	}
	size := min(len(c.waiting), maxBatch)
	c.flying, c.waiting = c.waiting[:size:size], c.waiting[size:]
	now := c.clock.Now()
	date := c.retention.Date(now)
	batch := store.Batch{Range: c.rangeID, Epoch: c.epoch, N: c.n + 1, Now: date}
	snapshots, events := 0, 0
	for _, w := range c.flying {
		snapshots, events = snapshots+len(w.lanes), events+len(w.events)
	}
	batch.Lanes, batch.Events = make([]lanes.Snapshot, 0, snapshots), make([]lanes.Logged, 0, events)
	holds := c.holds.version
	for _, w := range c.flying {
		if w.holds != nil && w.holds.version > holds {
			holds, batch.Holds = w.holds.version, &w.holds.Holds
		}
		for _, lane := range w.lanes {
			batch.Lanes = append(batch.Lanes, lanes.Snapshot{Lane: lane, Boot: c.clock.Boot()})
		}
		batch.Events = append(batch.Events, w.events...)
		if w.ended != nil {
			batch.Ended = append(batch.Ended, *w.ended)
		}
		batch.Acts = append(batch.Acts, w.acts...)
		if w.kept != nil {
			batch.Keys = append(batch.Keys, *w.kept)
		}
		c.checkpoint = c.checkpoint || w.marks
	}
	if c.checkpoint || c.away {
		batch.Checkpoint = &lanes.Checkpoint{At: now, Boot: c.clock.Boot()}
		batch.Forget = c.keys.Forget(date)
		c.checkpoint = false
	}
	return batch, true
}

// settle tells the writes of the flush what became of them.
func (c *committer) settle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	flown := c.flying
	c.flying = nil
	switch {
	case err == nil:
		c.arrived(flown)
	case errors.Is(err, store.ErrFenced):
		c.lost = true
		c.log.Error().Uint64("epoch", c.epoch).Msg("another process has claimed the range; letting go of it")
		became := disowned
		if errors.Is(err, errUnknown) {
			became = forsaken
		}
		for _, w := range flown {
			w.told(became)
		}
		for _, w := range c.waiting {
			w.told(disowned)
		}
		c.waiting = nil
		go c.disown()
	case errors.Is(err, errQuit):
		c.lost = true
		c.log.Error().Int("writes", len(flown)+len(c.waiting)).Msg("stopped with writes that are not known to be saved")
	default: // refused: what stands is tried again, before anything else
		var again []*write
		for _, w := range flown {
			if w.stands {
				again = append(again, w)
			} else {
				w.told(refused)
			}
		}
		c.waiting = append(again, c.waiting...)
	}
	c.answerRecalls()
}

// arrived: the flush is durable. c.mu is held.
func (c *committer) arrived(flown []*write) {
	c.n++
	at := c.clock.Now()
	now := at.Mono
	c.flushed = at.Wall
	if c.away {
		c.away = false
		c.log.Info().Int("writes", len(flown)).Msg("the store is back, and everything that was not saved is being saved")
	}
	for _, w := range flown {
		for _, lane := range w.lanes {
			c.current[lane.ID] = lane
		}
		if w.holds != nil && w.holds.version > c.holds.version {
			c.holds = *w.holds
		}
		if w.ended != nil {
			c.ended.put(w.ended.Cursor, *w.ended, now)
		}
		for _, act := range w.acts {
			c.acts.put(act.Cursor, act, now)
		}
		for _, event := range w.events {
			c.events.put(event.Cursor, event, now)
			if event.Attempt == nil {
				c.pending[event.Cursor] = event
			} else {
				delete(c.pending, event.Cursor)
			}
		}
		if w.kept != nil {
			c.keys.Saved(*w.kept)
		}
		c.logSaved(w)
		w.told(saved)
	}
}

// ending tells whether the session has ended and that is not saved yet.
func (c *committer) ending(session uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(slices.Concat(c.flying, c.waiting), func(w *write) bool {
		return w.ended != nil && w.ended.Session.ID == session
	})
}

// writable tells whether the store took the last flush in time.
func (c *committer) writable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.away && !c.lost
}
