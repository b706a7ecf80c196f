package lanes

import "time"

// Instant is one reading of the two clocks. All arithmetic uses Mono; Wall only labels what people and other
// machines read, and may be stepped at any time without moving a deadline.
type Instant struct {
	Wall time.Time     `json:"wall"`    // UTC
	Mono time.Duration `json:"mono_ns"` // since the machine's boot, suspends included
}

// Add is the instant d later, on both clocks.
func (i Instant) Add(d time.Duration) Instant {
	return Instant{Wall: i.Wall.Add(d), Mono: i.Mono + d}
}

// Since is the time that ran between earlier and i.
func (i Instant) Since(earlier Instant) time.Duration { return i.Mono - earlier.Mono }

// Before reports whether i came before other.
func (i Instant) Before(other Instant) bool { return i.Mono < other.Mono }
