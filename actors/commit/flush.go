package commit

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"time"

	"rangegate/lanes/store"
)

const (
	// SlowAfter is the time after which a flush makes the store count as down.
	SlowAfter = time.Second
	// FlushTimeout bounds one try of a flush. Its outcome is then unknown, and the same flush is tried again.
	FlushTimeout = 5 * time.Second

	// After a flush that answered many clients, the next one waits a moment for them: they come back
	// together, and otherwise the flush would leave with the first of them and all others would wait for it.
	manyClients         = 8
	clientsReturnWithin = 250 * time.Microsecond // at most; on an idle machine the timer makes a millisecond of it
)

var (
	errSlow    = errors.New("the store takes longer than a second")
	errUnknown = errors.New("the outcome of the flush is not known")
	errQuit    = errors.New("the gateway stopped before the outcome of the flush was known")
)

// startFlushing starts the flushing goroutine unless it runs. c.mu is held.
func (c *Committer) startFlushing() {
	if !c.flushing && !c.closed {
		c.flushing = true
		go c.flushAll()
	}
}

// flushAll flushes until nothing waits. While the store is down it goes on trying, if only with a checkpoint.
func (c *Committer) flushAll() {
	pprof.SetGoroutineLabels(c.labels)
	for rejections, answered := 0, 0; ; {
		c.waitForClients(answered)
		c.gather()
		batch, found := c.nextBatch()
		if !found {
			return
		}
		var writes int
		writes, answered = c.batchSize()
		err := c.flush(context.Background(), batch, writes, c.Quit)
		c.settle(err)
		if !errors.Is(err, store.ErrRefused) {
			rejections = 0
			continue
		}
		c.markStoreDown(err)
		backOff(rejections, c.Quit)
		rejections++
	}
}

// flush gives the batch to the store until the outcome is known, or quit is closed. ctx ends a try.
func (c *Committer) flush(ctx context.Context, batch store.Batch, writes int, quit <-chan struct{}) error {
	unknown := false
	for try := 0; ; try++ {
		began := time.Now()
		watchdog := time.AfterFunc(SlowAfter, func() { c.markStoreDown(errSlow) })
		limited, cancel := context.WithTimeout(ctx, FlushTimeout)
		err := c.Store.Flush(limited, batch)
		cancel()
		watchdog.Stop()
		c.count(batch, time.Since(began), err)
		c.flushed(batch, began, writes, err)
		switch {
		case errors.Is(err, store.ErrFenced) && unknown:
			return errors.Join(err, errUnknown)
		case err == nil, errors.Is(err, store.ErrFenced):
			return err
		case errors.Is(err, store.ErrRolledBack):
			c.Log.Error().Uint64("epoch", batch.Epoch).Uint64("n", batch.N).
				Msg("the store has lost acknowledged writes; it is refilled from the running lanes")
			if !batch.Refill { // a refill that is lost too is complete already
				batch = c.refill(batch)
				continue
			}
		case errors.Is(err, store.ErrRefused) && !unknown:
			return err
		case !errors.Is(err, store.ErrRefused):
			unknown = true
		}
		c.markStoreDown(err)
		if !backOff(try, quit) {
			return errQuit
		}
	}
}

// Release saves the range once more, and leaves it without an owner in the same write. The range has ended, and nothing
// else is saved any more. It may be called again: where a fail-over has undone the release, the store is refilled
// by it. nil also where another process has claimed the range. After an error it is not known to be saved.
func (c *Committer) Release(ctx context.Context) error {
	if err := c.Drain(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	closed, reading := c.closed, c.reading()
	batch := store.Batch{
		Range: c.Range, Epoch: c.Epoch, N: c.n + 1, Release: true,
		Now: c.retention.Date(reading.At), Checkpoint: &reading,
	}
	c.flushSpan = nil
	c.mu.Unlock()
	if c.IsFenced() {
		return nil
	}
	if closed {
		return errQuit
	}
	for try := 0; ; try++ {
		switch err := c.flush(ctx, batch, 0, ctx.Done()); {
		case err == nil:
			c.mu.Lock()
			c.n++
			c.mu.Unlock()
			return nil
		case errors.Is(err, store.ErrFenced):
			return nil
		case !errors.Is(err, store.ErrRefused) || !backOff(try, ctx.Done()):
			return err
		}
	}
}

// backOff waits before the next try: 50 ms, twice as long each time, at most 2 s. It returns false once quit is
// closed.
func backOff(try int, quit <-chan struct{}) bool {
	timer := time.NewTimer(min(50*time.Millisecond<<min(try, 6), 2*time.Second))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-quit:
		return false
	}
}

// markStoreDown makes the store count as down: writes with MustSave are told Unresolved and stay, what else
// waits is rejected, and so is what comes from now on.
func (c *Committer) markStoreDown(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.storeDown {
		c.Log.Error().Err(reason).Msg("the store is away: lanes keep their time and take closings only")
		c.outage.Since = c.Clock.Now().Wall
	}
	if c.outage.Error = reason.Error(); !errors.Is(reason, errSlow) { // that attempt goes on
		c.outage.Attempts++
	}
	c.storeDown = true
	kept := c.saveQueue[:0]
	for _, w := range c.saveQueue {
		if w.MustSave {
			kept = append(kept, w)
		} else {
			w.Done(Rejected)
		}
	}
	c.saveQueue = kept
	for _, w := range append(c.batch[:len(c.batch):len(c.batch)], c.saveQueue...) {
		if !w.unresolved {
			w.unresolved = true
			w.Done(Unresolved)
		}
	}
	c.startFlushing() // in case the flush has ended meanwhile
}

func (c *Committer) quitting() bool {
	select {
	case <-c.Quit:
		return true
	default:
		return false
	}
}

// clientWait is the wait for the clients that the last flush answered.
type clientWait struct {
	enough  int           // writes in the queue that end it
	reached chan struct{} // closed when so many wait, and nil from then on
}

// queued ends the wait once enough writes wait. c.mu is held.
func (w *clientWait) queued(waiting int) {
	if w.reached != nil && waiting >= w.enough {
		close(w.reached)
		w.reached = nil
	}
}

// waitForClients waits until all clients that the last flush answered are back, or for clientsReturnWithin.
func (c *Committer) waitForClients(answered int) {
	if answered < manyClients {
		return
	}
	reached := make(chan struct{})
	c.mu.Lock()
	c.clientWait = clientWait{enough: answered + len(c.saveQueue), reached: reached}
	c.clientWait.queued(len(c.saveQueue))
	c.mu.Unlock()
	timer := time.NewTimer(clientsReturnWithin)
	defer timer.Stop()
	select {
	case <-reached:
	case <-timer.C:
	}
}

// The bounds of gather: how often it lets others run, and how often for nothing.
const (
	maxYields  = 100_000
	idleYields = 200
)

// gather lets the goroutines run that can, as long as they bring writes, if one waits that gathers. Sessions that begin
// together are saved by one flush so, and not by several, between which a part of the lanes would be open already.
func (c *Committer) gather() {
	before, idle := 0, 0
	for range maxYields {
		c.mu.Lock()
		waiting, gathers := len(c.saveQueue), c.gathers
		c.mu.Unlock()
		if waiting > before {
			before, idle = waiting, 0
		}
		if idle++; !gathers || waiting >= maxBatch || idle > idleYields {
			return
		}
		runtime.Gosched()
	}
}

// batchSize returns how many writes the flush under way has, and how many clients wait for it.
func (c *Committer) batchSize() (writes, clients int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.batch {
		if w.Awaited {
			clients++
		}
	}
	return len(c.batch), clients
}

// drain is somebody who waits until what waited is saved.
type drain struct {
	last *Write // nil: a checkpoint, or what was under way
	done chan struct{}
}

// Drain waits until what waits to be saved is saved, or returns the error of ctx. What comes meanwhile it does not wait
// for: on a busy range there is always more.
func (c *Committer) Drain(ctx context.Context) error {
	c.mu.Lock()
	if !c.flushing {
		c.mu.Unlock()
		return nil
	}
	done := make(chan struct{})
	var last *Write
	if len(c.saveQueue) > 0 {
		last = c.saveQueue[len(c.saveQueue)-1]
	}
	c.drained = append(c.drained, drain{last, done})
	c.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
