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

// Checkpoint is a reading of a machine's clocks. The last one of a range is when it was known to be running:
// it bounds from below how much time has passed when another boot goes on with the range, of this machine or
// of another one.
type Checkpoint struct {
	At     Instant `json:"at"`
	Boot   string  `json:"boot"`
	Offset *Offset `json:"offset,omitempty"` // of the wall clock, nil where it is not known
	// LogID names the range's event log and history, as cursors do: a store that was wiped or replaced, or
	// that has lost acknowledged writes, has other ones. 0 before the range had one. Place is that of the
	// store.Placed in which it was given.
	LogID uint64 `json:"log_id,omitempty"`
	Place string `json:"place,omitempty"`
	// Heir is the webhook that a single one without a name succeeds, or has succeeded: what waits for it, and what the
	// event log has of it, is then for that one. Empty: the range never had a webhook with a name.
	Heir string `json:"heir,omitempty"`
}

// MaxLogID is the highest LogID.
const MaxLogID = 9_999_999

// Offset is how far a wall clock differs from a clock that machines have in common.
type Offset struct {
	Ahead time.Duration `json:"ahead_ns"` // negative: behind
	Clock string        `json:"clock"`    // names the common clock
}

// maxSkew is by how much the wall clocks of two machines may differ that both own ranges: each is at most 2 s
// off the common clock.
const maxSkew = 4 * time.Second

// Since returns the time from the earlier reading to c, at least 0: by the boot clock on the same boot, else
// by the wall clocks. If the offsets of both are known, how the wall clocks of two machines differ does not
// count. Offsets from two clocks, of a server before and after its restart, are taken for offsets from one,
// as long as no more than maxSkew follows of it: else one of the clocks was wrong, and it is not known which.
func (c Checkpoint) Since(earlier Checkpoint) time.Duration {
	if c.Boot == earlier.Boot {
		return max(0, c.At.Since(earlier.At))
	}
	passed := c.At.Wall.Sub(earlier.At.Wall)
	if c.Offset != nil && earlier.Offset != nil {
		if skew := c.Offset.Ahead - earlier.Offset.Ahead; c.Offset.Clock == earlier.Offset.Clock ||
			skew.Abs() <= maxSkew {
			passed -= skew
		}
	}
	return max(0, passed)
}

// Restore is the lane at now, on the boot of now. On the same boot the Mono readings hold as they are. After
// another boot the time up to the last checkpoint is known by the boot clock of then, and the wall clocks
// tell what has passed since (Checkpoint.Since): a wall clock that was set before the checkpoint changes
// nothing. A session's lane is of the checkpoint's boot: the first flush of each owner has a checkpoint and
// every such lane. For another lane the wall clocks tell: only turn-time and reservation depend on it.
func (s Snapshot) Restore(now, last Checkpoint) Lane {
	lane := s.Lane
	if s.Boot == now.Boot {
		return lane
	}
	ago := func(then Instant) time.Duration {
		if last.Boot == s.Boot {
			return last.At.Since(then) + now.Since(last)
		}
		return max(now.At.Wall.Sub(then.Wall), last.At.Wall.Sub(then.Wall))
	}
	carry := func(then Instant) Instant { // of the past
		return Instant{Wall: then.Wall, Mono: now.At.Mono - max(0, ago(then))}
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
	if lane.Uncleared != nil {
		lane.Uncleared = &Uncleared{lane.Uncleared.Session, carry(lane.Uncleared.Since)}
	}
	if lane.Reservation != nil {
		reservation := *lane.Reservation
		reservation.Made = carry(reservation.Made)
		lane.Reservation = &reservation
	}
	if lane.Turn != nil {
		turn := *lane.Turn
		turn.Since = carry(turn.Since)
		lane.Turn = &turn
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
	if session.Start != nil {
		at := session.Start.At // it may be to come
		session.Start = &Start{session.Start.ID, Instant{Wall: at.Wall, Mono: now.At.Mono - ago(at)}}
	}
	if session.StaysUntil != nil {
		until := *session.StaysUntil
		session.StaysUntil = &Instant{Wall: until.Wall, Mono: now.At.Mono - ago(until)}
	}
	if session.Unproven != nil {
		unproven := carry(*session.Unproven)
		session.Unproven = &unproven
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
	Session Session       `json:"session"` // its Left is what was left, its Settled what of Beyond was paid
	Lane    uuid.UUID     `json:"lane_id"`
	At      time.Time     `json:"ended_at"`
	Reason  EndReason     `json:"end_reason"` // Expired, Simulated, or who stopped it (By)
	Used    time.Duration `json:"used_ns"`
	Paused  time.Duration `json:"paused_ns"`
	Beyond  time.Duration `json:"beyond_ns,omitempty"` // that was used beyond what was sold, settled or not
}
