package actors

import (
	"time"

	"rangegate/lanes"
)

// calendar is the wall time by which what is old goes: idempotency keys, events, the history and the names in it. A
// wall clock that is set ahead is followed only after a day: one that is set right by then has cost nothing, and no key
// goes before its term is over.
type calendar struct {
	agreed lanes.Instant // the last reading of the clocks that was followed
}

const believedAfter = keyTerm

// newCalendar goes on from the range's last checkpoint, where that belongs to this boot: the wall clock may have been
// set since.
func newCalendar(clock Clock, last lanes.Checkpoint) calendar {
	if last.Boot == clock.Boot() {
		return calendar{last.At}
	}
	return calendar{clock.Now()}
}

// date is the time to go by at now.
func (c *calendar) date(now lanes.Instant) time.Time {
	ran := now.Since(c.agreed)
	if date := c.agreed.Wall.Add(ran); now.Wall.Sub(date) > tolerance && ran <= believedAfter {
		return date
	}
	c.agreed = now
	return now.Wall
}
