package lanes

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Snapshot is a lane as it is saved. Boot names the run of the machine that the lane's Mono readings belong to.
type Snapshot struct {
	Lane
	Boot string `json:"boot"`
}

// Checkpoint is the last time the range was known to be running. It bounds from below how much time has passed when
// the machine was booted anew and its wall clock cannot be trusted.
type Checkpoint struct {
	At   Instant `json:"at"`
	Boot string  `json:"boot"`
}

// Restore is the lane on the machine's present boot. On the same boot the Mono readings hold as they are. After
// another boot the time up to the last checkpoint is known by the boot clock of then, and only the wall clock tells what
// has passed since: a wall clock that was set before the checkpoint changes nothing.
func (s Snapshot) Restore(now Instant, boot string, last Checkpoint) Lane {
	lane := s.Lane
	if s.Boot == boot {
		return lane
	}
	carry := func(then Instant) Instant {
		ago := max(now.Wall.Sub(then.Wall), last.At.Wall.Sub(then.Wall))
		if last.Boot == s.Boot {
			ago = last.At.Since(then) + max(0, now.Wall.Sub(last.At.Wall))
		}
		return Instant{Wall: then.Wall, Mono: now.Mono - max(0, ago)}
	}
	carryPurchase := func(p *Purchase) *Purchase {
		if !p.pending() {
			return p
		}
		carried := *p
		carried.At = carry(p.At)
		return &carried
	}
	lane.Open = slices.Clone(lane.Open)
	for i := range lane.Open {
		lane.Open[i] = carryPurchase(lane.Open[i])
	}
	if lane.Released != nil {
		released := carry(*lane.Released)
		lane.Released = &released
	}
	if lane.Session == nil {
		return lane
	}
	session := *lane.Session
	session.Purchase = carryPurchase(session.Purchase)
	session.Since = carry(session.Since)
	session.Created = carry(session.Created)
	if session.Began != nil {
		began := carry(*session.Began)
		session.Began = &began
	}
	lane.Session = &session
	return lane
}

// EndReason is why a session ended.
type EndReason string

// The reasons: its time was used up, or somebody stopped it, or the playground's clock was advanced past its end.
const (
	Expired   EndReason = "expired"
	Simulated EndReason = "simulated"
)

// Ended is a session on record: how it stood when it ended. In the history, cursors ascend in the order of saving.
type Ended struct {
	Cursor  uint64        `json:"cursor"`
	Session Session       `json:"session"` // its Left is what was left
	Lane    uuid.UUID     `json:"lane_id"`
	At      time.Time     `json:"ended_at"`
	Reason  EndReason     `json:"end_reason"` // Expired, Simulated, or who stopped it (By)
	Used    time.Duration `json:"used_ns"`
	Paused  time.Duration `json:"paused_ns"`
}
