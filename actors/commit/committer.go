// Package commit saves the changes of a range: in the order they come, as many together as are waiting, one
// flush at a time (group commit). It owns the epoch's write counter, the cursors of the logs, what was last
// saved of every lane, and the decision that the store is down. Lanes, the range's actor, events and
// purchases call Save; recovery after a panic calls LastSaved.
//
//	committer.go   Save, the next batch, and what becomes of its writes
//	follow.go      the event log as it grows, for whoever waits for the next event
//	flush.go       the goroutine that flushes: repeated until the outcome is known, and what a store that is down means
//	refill.go      what a range knows besides the store: for one that lost writes, and for lanes that restart
package commit

import (
	"cmp"
	"context"
	"errors"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/clock"
	"rangegate/actors/idempotency"
	"rangegate/actors/loglevel"
	"rangegate/actors/logline"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

const maxBatch = 4096 // writes in one flush

// Outcome is what became of a write.
type Outcome int

// The outcomes of a write.
const (
	Saved      Outcome = iota // durable
	Rejected                  // not written, and never will be
	Unresolved                // not durable yet: the store is down. A write with MustSave stays in the queue
	Fenced                    // another process owns the range; the write was not made
	Lost                      // likewise, and it is unknown whether the write was made before
)

// Err is what a client hears whose change came to this outcome: nil if it was saved, else
// lanes.ErrStoreUnavailable, lanes.ErrNotSaved, lanes.ErrNotOwner or lanes.ErrTimeout.
func (o Outcome) Err() error {
	switch o {
	case Rejected:
		return lanes.ErrStoreUnavailable
	case Unresolved:
		return lanes.ErrNotSaved
	case Fenced:
		return lanes.ErrNotOwner
	case Lost:
		return lanes.ErrTimeout
	}
	return nil
}

// HoldRecord is the range's record of its holds as one change left it. The highest version counts.
type HoldRecord struct {
	Version uint64
	lanes.Holds
}

// Write is what one change saves, all or nothing: of one lane, of two in a move, of any number together, or of none.
type Write struct {
	Lanes  []lanes.Lane
	Events []lanes.Logged // Save sets a cursor where it is 0; an event with a cursor replaces the one in the log
	Ended  []lanes.Ended  // Save sets their cursors
	Acts   []lanes.Act    // of staff; Save sets their cursors
	Kept   *lanes.KeptAnswer
	Holds  *HoldRecord

	MustSave  bool         // kept until it is saved, also while the store is down: a closing change, in force meanwhile
	WhenSaved bool         // with MustSave: nothing of it is in force until it is saved
	Awaited   bool         // a client waits for the outcome
	Gathers   bool         // lanes may save others of the same instant: one flush takes those that are under way
	Cancelled *atomic.Bool // nil, or set once the write must not be made any more
	Trace     string       // trace id of the request that caused it, empty without one
	Span      lanes.Span   // its place in that trace
	FlushedBy *FlushSpan   // nil, or the flush that takes it, in a trace: set before Done is called with Saved
	// Done is called with the outcome. Unresolved comes at most once, and another outcome after it. It is
	// called under the committer's lock, in the order of the log, and must not block.
	Done func(Outcome)

	queued     time.Time // wall time of Save
	unresolved bool      // Done was called with Unresolved
}

// Committer saves the changes of one range. Its methods may be called from any goroutine.
type Committer struct {
	Config
	labels context.Context // of the goroutine that flushes, in profiles: a lane's goroutine starts it

	mu         sync.Mutex
	saveQueue  []*Write // not in a flush yet
	batch      []*Write // in the flush under way
	forget     []string // expired keys that it deletes
	clientWait clientWait
	gathers    bool       // a write in saveQueue does
	flushSpan  *FlushSpan // of the flush under way, nil if nothing in it is traced
	flushing   bool       // the goroutine of flush.go runs
	storeDown  bool       // the store takes nothing: what is not MustSave is rejected at once
	outage     lanes.StoreOutage
	// another process owns the range, or the gateway stopped with writes that are not known to be saved
	closed     bool
	checkpoint bool // one is due, as in the first flush: a lane's readings and the last checkpoint are of one boot
	retention  clock.Retention
	n          uint64 // of the last durable flush in this epoch
	logID      uint64 // see LogID
	heir       string // see SetHeir
	lastEvent  uint64
	lastEnded  uint64
	savedEnded uint64 // the highest cursor of the history that is durable
	lastAct    uint64
	savedEvent uint64 // the highest cursor of the event log that is durable
	// likewise of its events that are no copies; after a start maybe that of a copy of the newest
	listedEvent uint64
	newest      *eventBatch              // what is added to the log next
	current     map[uuid.UUID]lanes.Lane // as last saved; lanes that were never saved are missing
	holds       HoldRecord               // as last saved
	unattempted map[uint64]lanes.Logged  // saved events that are pending and await no retry, by cursor
	events      recent[lanes.Logged]
	ended       recent[lanes.Ended]
	acts        recent[lanes.Act]
	lastFlush   time.Time // when the last flush became durable, zero before the first
	figures     Figures
	lookups     []lookup
	drained     []drain
	abandoned   Abandoned
	fenced      atomic.Bool
}

// Abandoned counts the writes that were not durable when another process turned out to own the range.
type Abandoned struct {
	Sent     int // it is unknown whether they were made
	Waiting  int // they were not made
	Closings int // of both: in force on the hardware, and answered as not saved
}

// Config is what a committer works with. Nobody changes it.
type Config struct {
	Range   uuid.UUID
	Epoch   uint64
	Store   store.Store
	Clock   clock.Clock
	Keys    *idempotency.Keys
	Metrics *metrics.Metrics
	Log     zerolog.Logger
	Lanes   logline.Lanes
	Quit    <-chan struct{} // closed when the range stops: no flush is tried again
	Fenced  func()          // called once, in a goroutine of its own, when another process has claimed the range
}

// New is the committer of a range that was loaded from its store. It knows no lane yet: see Restore.
func New(config Config, loaded store.Recovered) *Committer {
	c := &Committer{
		Config: config, checkpoint: true, retention: clock.NewRetention(config.Clock, loaded.Checkpoint),
		logID: loaded.Checkpoint.LogID, heir: loaded.Checkpoint.Heir,
		lastEvent: loaded.LastEvent, lastEnded: loaded.LastEnded, lastAct: loaded.LastAct, savedEnded: loaded.LastEnded,
		savedEvent: loaded.LastEvent, listedEvent: loaded.LastEvent, newest: &eventBatch{saved: make(chan struct{})},
		holds:       HoldRecord{Holds: loaded.Holds},
		current:     make(map[uuid.UUID]lanes.Lane, len(loaded.Lanes)),
		unattempted: make(map[uint64]lanes.Logged, len(loaded.Pending)),
	}
	c.labels = pprof.WithLabels(context.Background(), pprof.Labels("range", c.Range.String()))
	for _, event := range loaded.Pending {
		c.noteAttempts(event)
	}
	if c.logID == 0 || loaded.Checkpoint.Place != config.place() { // the store is new, or a backup
		c.logID = newLogID(c.logID)
	}
	return c
}

// Restore sets the lane as it was loaded, carried over to this boot of the machine. It is called before the
// first Save.
func (c *Committer) Restore(lane lanes.Lane) { c.current[lane.ID] = lane }

// Save queues the write for the next flush and sets its cursors. It never blocks; Done may be called before
// it returns.
func (c *Committer) Save(w *Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.queued = c.Clock.Now().Wall
	switch {
	case c.closed:
		c.Metrics.FencedWrites.Inc()
		w.Done(Fenced)
		return
	case c.storeDown && !w.MustSave, w.Cancelled != nil && w.Cancelled.Load():
		w.Done(Rejected)
		return
	case c.storeDown:
		w.unresolved = true
		w.Done(Unresolved)
	}
	for i := range w.Events {
		if w.Events[i].Cursor == 0 {
			c.lastEvent++
			w.Events[i].Cursor = c.lastEvent
		}
	}
	for i := range w.Ended {
		c.lastEnded++
		w.Ended[i].Cursor = c.lastEnded
	}
	for i := range w.Acts {
		c.lastAct++
		w.Acts[i].Cursor = c.lastAct
	}
	if w.MustSave { // an event that has its outcome needs no attempt, whenever that is durable
		for _, event := range w.Events {
			if !event.Pending() || event.AwaitsRetry() {
				delete(c.unattempted, event.Cursor)
			}
		}
	}
	c.saveQueue = append(c.saveQueue, w)
	c.gathers = c.gathers || w.Gathers
	c.clientWait.queued(len(c.saveQueue))
	c.startFlushing()
}

// Checkpoint saves a checkpoint with the next flush, which also shows whether the store takes writes. It
// never blocks.
func (c *Committer) Checkpoint() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checkpoint = true
	c.startFlushing()
}

// nextBatch moves what waits into the next flush. found is false when there is nothing to flush: the
// goroutine then ends.
func (c *Committer) nextBatch() (batch store.Batch, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drained = slices.DeleteFunc(c.drained, func(d drain) bool {
		drained := !c.storeDown && !c.checkpoint && !slices.Contains(c.saveQueue, d.last)
		if drained {
			close(d.done)
		}
		return drained
	})
	if c.closed || c.quitting() || (len(c.saveQueue) == 0 && !c.checkpoint && !c.storeDown) {
		c.flushing = false
		for _, d := range c.drained {
			close(d.done)
		}
		c.drained = nil
		return store.Batch{}, false
	}
	size := min(len(c.saveQueue), maxBatch)
	c.batch, c.saveQueue, c.gathers = c.saveQueue[:size:size], c.saveQueue[size:], false
	c.flushSpan = c.trace(c.batch)
	reading := c.reading()
	date := c.retention.Date(reading.At)
	batch = store.Batch{Range: c.Range, Epoch: c.Epoch, N: c.n + 1, Now: date}
	snapshots, events := 0, 0
	for _, w := range c.batch {
		snapshots, events = snapshots+len(w.Lanes), events+len(w.Events)
	}
	batch.Lanes, batch.Events = make([]lanes.Snapshot, 0, snapshots), make([]lanes.Logged, 0, events)
	holdVersion := c.holds.Version
	for _, w := range c.batch {
		if w.Holds != nil && w.Holds.Version > holdVersion {
			holdVersion, batch.Holds = w.Holds.Version, &w.Holds.Holds
		}
		for _, lane := range w.Lanes {
			batch.Lanes = append(batch.Lanes, lanes.Snapshot{Lane: lane, Boot: reading.Boot})
		}
		batch.Events = append(batch.Events, w.Events...)
		batch.Ended = append(batch.Ended, w.Ended...)
		batch.Acts = append(batch.Acts, w.Acts...)
		if w.Kept != nil {
			batch.Keys = append(batch.Keys, *w.Kept)
		}
	}
	if c.checkpoint || c.storeDown {
		batch.Checkpoint = &reading
		batch.Forget = c.Keys.Forget(date)
		c.forget = batch.Forget
		c.checkpoint = false
	}
	return batch, true
}

// settle calls Done of the writes in the batch with what became of them.
func (c *Committer) settle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch, forget := c.batch, c.forget
	c.batch, c.forget = nil, nil
	switch {
	case c.closed: // Fence has settled the batch
	case err == nil:
		c.Keys.Deleted(forget) // before a write that uses one of them again is noted
		c.settleSaved(batch)
	case errors.Is(err, store.ErrFenced):
		if errors.Is(err, errUnknown) {
			c.fence(batch, c.saveQueue)
		} else {
			c.fence(nil, slices.Concat(batch, c.saveQueue))
		}
		go c.Fenced()
	case errors.Is(err, errQuit):
		c.closed = true
		c.Log.Error().Int("writes", len(batch)+len(c.saveQueue)).
			Msg("stopped with writes that are not known to be saved")
	default: // rejected: what must be saved is tried again, before anything else
		var again []*Write
		for _, w := range batch {
			if w.MustSave {
				again = append(again, w)
			} else {
				w.Done(Rejected)
			}
		}
		c.saveQueue = append(again, c.saveQueue...)
	}
	c.answerLookups()
}

// Fence ends the committer, because another process owns the range: nothing is saved any more. Writes that
// were sent come to Lost, those that wait to Fenced. It returns how many there were, also when the store has
// fenced the committer before.
func (c *Committer) Fence() Abandoned {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := c.batch
	c.batch = nil
	c.fence(sent, c.saveQueue)
	c.answerLookups()
	return c.abandoned
}

// RangeEpoch returns the range with the newest flush that is durable, for whoever reads it from the store: what
// that one has saved is among what is read.
func (c *Committer) RangeEpoch() store.RangeEpoch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return store.RangeEpoch{Range: c.Range, Epoch: c.Epoch, N: c.n}
}

// IsFenced reports whether another process is known to own the range. It does before any write comes to
// Fenced or Lost.
func (c *Committer) IsFenced() bool { return c.fenced.Load() }

// fence settles what was sent, and what was not. c.mu is held.
func (c *Committer) fence(sent, waiting []*Write) {
	c.closed, c.saveQueue = true, nil
	c.fenced.Store(true)
	c.abandoned.Sent, c.abandoned.Waiting = c.abandoned.Sent+len(sent), c.abandoned.Waiting+len(waiting)
	c.Metrics.FencedWrites.Add(float64(len(sent) + len(waiting)))
	for _, w := range slices.Concat(sent, waiting) {
		if w.unresolved && w.MustSave {
			c.abandoned.Closings++
		}
	}
	for _, w := range sent {
		w.Done(Lost)
	}
	for _, w := range waiting {
		w.Done(Fenced)
	}
}

// settleSaved records that the batch is durable, and what the range knows by it. c.mu is held.
func (c *Committer) settleSaved(batch []*Write) {
	c.n++
	now := c.Clock.Now()
	c.lastFlush = now.Wall
	if c.storeDown {
		c.storeDown, c.outage = false, lanes.StoreOutage{}
		c.Log.Info().Int("writes", len(batch)).
			Msg("the store is back, and everything that was not saved is being saved")
	}
	var added []lanes.Logged
	for _, w := range batch {
		added = append(added, c.added(w)...)
		for _, lane := range w.Lanes {
			c.current[lane.ID] = lane
		}
		if w.Holds != nil && w.Holds.Version > c.holds.Version {
			c.holds = *w.Holds
		}
		for _, ended := range w.Ended {
			c.savedEnded = max(c.savedEnded, ended.Cursor)
			c.ended.put(ended.Cursor, ended, now.Mono)
		}
		for _, act := range w.Acts {
			c.acts.put(act.Cursor, act, now.Mono)
		}
		for _, event := range w.Events {
			c.events.put(event.Cursor, event, now.Mono)
			c.noteAttempts(event)
		}
		if w.Kept != nil {
			c.Keys.Saved(w.Kept)
		}
		c.logSaved(w, now.Wall)
	}
	for _, w := range batch { // one right after the other, so that lanes which begin together do not drift apart here
		w.Done(Saved)
	}
	c.publish(added)
}

// noteAttempts keeps unattempted in line with an event that is saved. One that awaits its retry is in the
// store alone. c.mu is held.
func (c *Committer) noteAttempts(event lanes.Logged) {
	if event.Pending() && !event.AwaitsRetry() {
		c.unattempted[event.Cursor] = event
	} else {
		delete(c.unattempted, event.Cursor)
	}
}

// logSaved writes one debug line for a durable write: its lane, session and request, and the newest cursor of
// the event log.
func (c *Committer) logSaved(w *Write, now time.Time) {
	log := &c.Log
	if len(w.Lanes) > 0 {
		log = loglevel.OfLane(log, w.Lanes[0].ID)
	}
	line := log.Debug()
	if line == nil {
		return
	}
	var lane, session uuid.UUID
	if len(w.Events) > 0 {
		lane, session = w.Events[0].Event.Lane, w.Events[0].Event.Session
		line = line.Uint64("cursor", w.Events[len(w.Events)-1].Cursor)
	}
	if len(w.Ended) > 0 {
		session = w.Ended[0].Session.ID
	}
	if len(w.Lanes) > 0 {
		lane = w.Lanes[0].ID
		if s := w.Lanes[0].Session; s != nil {
			session = cmp.Or(session, s.ID)
		}
	}
	if lane != uuid.Nil {
		line = c.Lanes.Of(line, lane)
	}
	if session != uuid.Nil {
		line = line.Stringer("session_id", session)
	}
	if len(w.Lanes) > 1 {
		line = line.Stringer("other_lane_id", w.Lanes[1].ID)
	}
	logline.Traced(line, w.Trace).Int("events", len(w.Events)).Uint64("n", c.n).
		Dur("duration_ms", now.Sub(w.queued)).Msg("saved")
}

// Ending returns the session as it ended, if its end is not durable yet.
func (c *Committer) Ending(session uuid.UUID) (ended lanes.Ended, found bool) {
	for _, w := range c.unsaved() {
		for _, ended := range w.Ended {
			if ended.Session.ID == session {
				return ended, true
			}
		}
	}
	return lanes.Ended{}, false
}

// Writable reports whether the store took the last flush in time and the range is still this process's.
func (c *Committer) Writable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.storeDown && !c.closed
}

// Unattempted returns the saved events that are not attempted yet, or that somebody wants sent again. Oldest
// first.
func (c *Committer) Unattempted() []lanes.Logged {
	c.mu.Lock()
	defer c.mu.Unlock()
	events := make([]lanes.Logged, 0, len(c.unattempted))
	for _, event := range c.unattempted {
		events = append(events, event)
	}
	slices.SortFunc(events, func(a, b lanes.Logged) int { return cmp.Compare(a.Cursor, b.Cursor) })
	return events
}

// IsUnattempted reports whether the event is one of Unattempted.
func (c *Committer) IsUnattempted(cursor uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, found := c.unattempted[cursor]
	return found
}

// LastCursors returns the highest cursors set so far in the event log, the history and the acts of staff.
func (c *Committer) LastCursors() (event, ended, act uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastEvent, c.lastEnded, c.lastAct
}

// Backlog is what is not durable yet.
type Backlog struct {
	StoreDown bool
	Outage    lanes.StoreOutage
	LastFlush time.Time // when the last flush became durable, zero before the first
	Writes    int
	Lanes     map[uuid.UUID]lanes.LaneUnsaved
}

// Backlog reads it. The lock is held for no longer than copying the queue takes: a write in it is never
// changed.
func (c *Committer) Backlog() Backlog {
	writes := c.unsaved()
	c.mu.Lock()
	backlog := Backlog{
		StoreDown: c.storeDown, Outage: c.outage, LastFlush: c.lastFlush, Writes: len(writes),
		Lanes: map[uuid.UUID]lanes.LaneUnsaved{},
	}
	c.mu.Unlock()
	for _, w := range writes {
		for _, lane := range w.Lanes {
			unsaved := backlog.Lanes[lane.ID]
			if unsaved.Changes++; unsaved.Changes == 1 {
				unsaved.Since = w.queued
			}
			backlog.Lanes[lane.ID] = unsaved
		}
	}
	return backlog
}

// unsaved returns the writes that are not durable yet, oldest first.
func (c *Committer) unsaved() []*Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(c.batch, c.saveQueue)
}
