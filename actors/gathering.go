package actors

import "time"

const (
	together = 8                      // answers by one flush: many ask
	moment   = 250 * time.Microsecond // at most; an idle machine makes a millisecond of it
)

// gathering is the moment that the committer waits for those who were answered by its last flush. They come back together:
// the next flush would leave with the first of them, and all others would wait for it.
type gathering struct {
	enough int           // writes
	there  chan struct{} // closed when so many wait, and nil from then on
}

// came tells how many writes wait. The committer's mu is held.
func (g *gathering) came(waiting int) {
	if g.there != nil && waiting >= g.enough {
		close(g.there)
		g.there = nil
	}
}

// gather waits until all who were answered by the last flush are back, or for a moment.
func (c *committer) gather(answered int) {
	if answered < together {
		return
	}
	there := make(chan struct{})
	c.mu.Lock()
	c.gathering = gathering{enough: answered + len(c.waiting), there: there}
	c.gathering.came(len(c.waiting))
	c.mu.Unlock()
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-there:
	case <-timer.C:
	}
}

// asked is how many wait for the answer of the flush under way.
func (c *committer) asked() (waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.flying {
		if w.asked {
			waiting++
		}
	}
	return waiting
}
