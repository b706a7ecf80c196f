package actors

import (
	"context"
	"errors"
	"time"

	"rangegate/lanes/store"
)

const (
	slowAfter    = time.Second     // a flush that takes longer makes the store count as away
	flushTimeout = 5 * time.Second // of one try; its outcome is then unknown and the same flush is tried again
)

// run flushes until nothing waits. While the store is away it goes on trying, if only with a checkpoint.
func (c *committer) run() {
	for refusals, answered := 0, 0; ; {
		c.gather(answered)
		batch, any := c.compose()
		if !any {
			return
		}
		answered = c.asked()
		err := c.flush(batch)
		c.settle(err)
		if !errors.Is(err, store.ErrRefused) {
			refusals = 0
			continue
		}
		c.goAway(err)
		c.pause(refusals)
		refusals++
	}
}

// flush gives the batch to the store until the outcome is known.
func (c *committer) flush(batch store.Batch) error {
	unknown := false
	for try := 0; ; try++ {
		began := time.Now()
		watchdog := time.AfterFunc(slowAfter, func() { c.goAway(errSlow) })
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		err := c.store.Flush(ctx, batch)
		cancel()
		watchdog.Stop()
		c.metrics.Flushed(time.Since(began), len(c.flying), err)
		switch {
		case errors.Is(err, store.ErrFenced) && unknown:
			return errors.Join(err, errUnknown)
		case err == nil, errors.Is(err, store.ErrFenced):
			return err
		case errors.Is(err, store.ErrRolledBack):
			c.log.Error().Uint64("epoch", batch.Epoch).Uint64("n", batch.N).
				Msg("the store has lost acknowledged writes; it is refilled from the running lanes")
			if !batch.Refill { // one that is lost too is whole already
				batch = c.refill(batch)
				continue
			}
		case errors.Is(err, store.ErrRefused) && !unknown:
			return err
		case !errors.Is(err, store.ErrRefused):
			unknown = true
		}
		c.goAway(err)
		if !c.pause(try) {
			return errQuit
		}
	}
}

var (
	errSlow    = errors.New("the store takes longer than a second")
	errUnknown = errors.New("the outcome of the flush is not known")
	errQuit    = errors.New("the gateway stopped before the outcome of the flush was known")
)

// pause waits before the next try: longer each time, up to 2 s. It is false when the gateway stops.
func (c *committer) pause(try int) bool {
	timer := time.NewTimer(min(50*time.Millisecond<<min(try, 6), 2*time.Second))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.quit:
		return false
	}
}

// goAway makes the store count as away: closings learn that they stand without being saved, what is not in the flush
// under way is refused, and so is what comes from now on.
func (c *committer) goAway(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.away {
		c.log.Error().Err(reason).Msg("the store is away: lanes keep their time and take closings only")
	}
	c.away = true
	kept := c.waiting[:0]
	for _, w := range c.waiting {
		if w.stands {
			kept = append(kept, w)
		} else {
			w.told(refused)
		}
	}
	c.waiting = kept
	for _, w := range append(c.flying[:len(c.flying):len(c.flying)], c.waiting...) {
		if !w.warned {
			w.warned = true
			w.told(standing)
		}
	}
	c.start() // should the flush have ended meanwhile
}

func (c *committer) stopped() bool {
	select {
	case <-c.quit:
		return true
	default:
		return false
	}
}
