package crash

import "time"

// What instants may stray from what the client works out: the promise is 50 ms, across any number of restarts.
const tolerance = 50 * time.Millisecond

// beginning is when this process began to measure. An instant is the time since then on the monotonic clock.
var beginning = time.Now()

func now() time.Duration { return time.Since(beginning) }

// labelled is the instant that a time on the wire names. Such a time is the wall clock's, and cut off to the
// millisecond.
func labelled(t time.Time) time.Duration { return t.Sub(beginning) }

// minutes is a length of time as the wire shows it.
func minutes(shown float64) time.Duration { return time.Duration(shown * float64(time.Minute)) }

// span is what a client knows of an instant or of a length of time: not before lo, not after hi. A client knows no
// more of what its request did than that it was done between sending and being answered.
type span struct{ lo, hi time.Duration }

// exactly is a reading from the wire, which may be off by the millisecond that it is rounded to.
func exactly(d time.Duration) span { return span{d - time.Millisecond, d + time.Millisecond} }

func (s span) shift(by time.Duration) span { return span{s.lo + by, s.hi + by} }
func (s span) plus(other span) span        { return span{s.lo + other.lo, s.hi + other.hi} }
func (s span) minus(other span) span       { return span{s.lo - other.hi, s.hi - other.lo} }

// apart is how far the two are from having an instant in common, 0 when they have one.
func (s span) apart(other span) time.Duration { return max(0, s.lo-other.hi, other.lo-s.hi) }

// within is what is left of s by a reading. Of a reading apart from s only the edge of s towards it is taken, so that
// small errors, each forgivable, add up and are seen in the end.
func (s span) within(reading span) span {
	switch {
	case reading.lo > s.hi:
		return span{s.hi, s.hi}
	case reading.hi < s.lo:
		return span{s.lo, s.lo}
	}
	return span{max(s.lo, reading.lo), min(s.hi, reading.hi)}
}
