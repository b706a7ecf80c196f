package sim

import (
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// fireLine is the state in force on a lane and how its time runs (LINK.md, Safety table). It is a value; the zero
// one is a controller that was powered up and has had no state: locked.
type fireLine struct {
	revision uint64
	hold     bool
	session  uuid.UUID
	phase    lanes.Phase
	left     time.Duration // when the state was taken
	since    time.Duration // when that was, by the controller's own clock

	purchasing bool
	purchase   *lanes.Purchase // the latest of the session, nil before the first
}

// inForce is the fire line once the controller has taken the state. From here on it counts by itself.
func inForce(s link.State, now lanes.Instant) fireLine {
	f := fireLine{revision: s.Revision, hold: s.Hold, since: now.Mono}
	if s.Session != nil {
		f.session, f.phase, f.left = s.Session.ID, s.Session.Phase, s.Session.Remaining(now)
		f.purchasing, f.purchase = s.Purchasing, s.Session.Purchase
	}
	return f
}

// counts tells whether the countdown runs, down to zero.
func (f fireLine) counts() bool { return !f.hold && f.phase == lanes.Running }

func (f fireLine) remaining(now lanes.Instant) time.Duration {
	if !f.counts() {
		return f.left
	}
	return max(0, f.left-(now.Mono-f.since))
}

// open tells whether anyone can shoot. At zero it is locked, whether or not the gateway has said so.
func (f fireLine) open(now lanes.Instant) bool { return f.counts() && f.remaining(now) > 0 }

// heldAt is the fire line once the controller has locked it by itself at that time, on its own clock.
func (f fireLine) heldAt(at time.Duration) fireLine {
	f.left, f.since = f.remaining(lanes.Instant{Mono: at}), at
	f.hold = true
	return f
}
