package crash

import "time"

// tolerance is how much an instant may differ from what the client calculates: the promise is 50 ms, across
// any number of restarts.
const tolerance = 50 * time.Millisecond

// beginning is the start of this process's clock. An instant is the monotonic time since then.
var beginning = time.Now()

func now() time.Duration { return time.Since(beginning) }

// sinceStart is the instant of a time on the wire, which is the wall clock's and truncated to the millisecond.
func sinceStart(t time.Time) time.Duration { return t.Sub(beginning) }

// minutes is a length of time as the wire shows it.
func minutes(shown float64) time.Duration { return time.Duration(shown * float64(time.Minute)) }

// span is what a client knows of an instant or of a length of time: not before lo, not after hi. A client
// knows of a request only that it was carried out between sending and being answered.
type span struct{ lo, hi time.Duration }

// rounded is a value from the wire, which may be off by the millisecond that it is rounded to.
func rounded(d time.Duration) span { return span{d - time.Millisecond, d + time.Millisecond} }

func (s span) shift(by time.Duration) span { return span{s.lo + by, s.hi + by} }
func (s span) plus(other span) span        { return span{s.lo + other.lo, s.hi + other.hi} }
func (s span) minus(other span) span       { return span{s.lo - other.hi, s.hi - other.lo} }

// apart is the distance between the two, 0 when they overlap.
func (s span) apart(other span) time.Duration { return max(0, s.lo-other.hi, other.lo-s.hi) }

// within is the part of s that agrees with a reading. When the reading does not overlap s, it is the edge of
// s next to it, so that small errors, each tolerated, add up and are found in the end.
func (s span) within(reading span) span {
	switch {
	case reading.lo > s.hi:
		return span{s.hi, s.hi}
	case reading.hi < s.lo:
		return span{s.lo, s.lo}
	}
	return span{max(s.lo, reading.lo), min(s.hi, reading.hi)}
}
