package commit

import (
	"time"

	"rangegate/lanes/store"
)

// Figures are those of the flushes since the range was loaded.
type Figures struct {
	Number     uint64        // of the last durable flush in this epoch
	Took       time.Duration // the last attempt that was successful
	Failures   int           // attempts that failed
	FailedAt   time.Time     // the last of them; zero: none has
	Error      string        // of it
	Checkpoint time.Time     // of the last one that is durable; zero: none is
}

// Figures reads them.
func (c *Committer) Figures() Figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	figures := c.figures
	figures.Number = c.n
	return figures
}

// count counts an attempt to flush the batch.
func (c *Committer) count(batch store.Batch, took time.Duration, err error) {
	now := c.Clock.Now().Wall
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.figures.Failures++
		c.figures.FailedAt, c.figures.Error = now, err.Error()
	case batch.Checkpoint != nil:
		c.figures.Checkpoint = batch.Checkpoint.At.Wall
		fallthrough
	default:
		c.figures.Took = took
	}
}
