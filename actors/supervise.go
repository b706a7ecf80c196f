package actors

import (
	"slices"
	"time"

	"rangegate/lanes"
)

// A lane that panics starts again from its last saved state. More than so many panics in so long park it.
const (
	maxRestarts    = 5
	restartsWithin = time.Minute
)

// past is what a lane remembers from one life to the next.
type past struct {
	panics  []lanes.Instant // of late
	brought bool            // it was brought back once, and that is counted
}

func (p *past) panicked(now lanes.Instant) { p.panics = append(p.panics, now) }

func (p *past) tooMany(now lanes.Instant) bool {
	p.panics = slices.DeleteFunc(p.panics, func(at lanes.Instant) bool { return now.Since(at) >= restartsWithin })
	return len(p.panics) > maxRestarts
}

// broughtBack counts a lane that has its last saved state and has let expire what ended meanwhile.
func (p *past) broughtBack(of *Range) {
	if !p.brought {
		p.brought = true
		of.unready.Add(-1)
	}
}
