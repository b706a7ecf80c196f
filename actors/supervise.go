package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"rangegate/lanes"
)

// A lane that panics starts again from its last saved state. More than so many panics in so long park it; a connection
// they stop, and its link makes a new one.
const (
	maxRestarts    = 5
	restartsWithin = time.Minute
)

// panics is when a lane panicked of late: what it remembers from one life to the next.
type panics struct{ at []lanes.Instant }

func (p *panics) note(now lanes.Instant) { p.at = append(p.at, now) }

func (p *panics) tooMany(now lanes.Instant) bool {
	p.at = slices.DeleteFunc(p.at, func(at lanes.Instant) bool { return now.Since(at) >= restartsWithin })
	return len(p.at) > maxRestarts
}

// restarting is what a parent does about a child that panicked. Reconnecting is no matter of supervision: a
// connection that fails says so, and stops.
func restarting() actor.SupervisorStrategy {
	return actor.NewOneForOneStrategy(maxRestarts, restartsWithin, func(any) actor.Directive {
		return actor.RestartDirective
	})
}
