package crash

import (
	"encoding/json"
	"fmt"
	"time"
)

// listed compares the session with how the gateway shows an active one, and keeps what the reading says more exactly.
func (s session) listed(v sessionView, at span) (session, error) {
	if s.phase == ended {
		return s, fmt.Errorf("still active, and should have ended (%s)", s.reason)
	}
	s, err := s.sameSale(v)
	if err != nil {
		return s, err
	}
	if s.phase == waiting {
		if v.Began != nil || v.Remaining != nil {
			return s, fmt.Errorf("has begun, and should be waiting: %s", show(v))
		}
		return s, nil
	}
	if v.Began == nil || v.Remaining == nil {
		return s, fmt.Errorf("has not begun: %s", show(v))
	}
	left := exactly(minutes(*v.Remaining))
	if s.phase == paused {
		err := s.measured("time left of a paused session", &s.left, left)
		return s, err
	}
	deadline := at.plus(left)
	if *v.Remaining == 0 {
		deadline.lo = min(deadline.lo, s.deadline.lo) // the end has passed, nobody knows how long ago
	}
	err = s.measured("deadline of a running session", &s.deadline, deadline)
	return s, err
}

// recorded compares the session with how the history shows it.
func (s session) recorded(v endedView) (session, error) {
	if s.phase != ended {
		return s, fmt.Errorf("is in the history (%s), and should be %s", v.Reason, s.phase)
	}
	s, err := s.sameSale(v.sessionView)
	if err != nil {
		return s, err
	}
	if v.Customer != s.customer || v.Reason != s.reason {
		return s, fmt.Errorf("ended %q for %q, and should have %q for %q", v.Reason, v.Customer, s.reason, s.customer)
	}
	if err := s.measured("ended_at", &s.endedAt, exactly(labelled(v.Ended))); err != nil {
		return s, err
	}
	if v.Remaining == nil {
		return s, nil
	}
	if err := s.measured("time left at the end", &s.left, exactly(minutes(*v.Remaining))); err != nil {
		return s, err
	}
	used, rested := minutes(v.Used), minutes(v.Paused)
	if off := labelled(v.Ended) - labelled(*v.Began) - used - rested; off.Abs() > tolerance {
		return s, fmt.Errorf("from its beginning to its end, %s are neither used nor paused: %s", off, show(v))
	}
	if off := used + minutes(*v.Remaining) - minutes(float64(v.Duration)); off.Abs() > 2*time.Millisecond {
		return s, fmt.Errorf("used and left are %s off what was sold: %s", off, show(v))
	}
	return s, nil
}

// sameSale compares what does not run with time. When it was created and began may stray as any instant may when first
// shown, and never changes after that.
func (s session) sameSale(v sessionView) (session, error) {
	if v.Lane != s.lane || v.Group != s.group || v.Duration != s.minutes {
		return s, fmt.Errorf("is %s, and should be %d minutes on %s", show(v), s.minutes, s.lane)
	}
	for _, shown := range []struct {
		what, by string
		first    *time.Time
		now      *time.Time
	}{{"created_at", "sessionCreated", &s.createdAt, &v.Created}, {"began_at", "sessionStarted", &s.beganAt, v.Began}} {
		switch {
		case shown.now == nil:
		case shown.first.IsZero():
			known := s.first(shown.by)
			if err := s.measured(shown.what, &known, exactly(labelled(*shown.now))); err != nil {
				return s, err
			}
			*shown.first = *shown.now
		case !shown.now.Equal(*shown.first):
			return s, fmt.Errorf("%s was %s, and is %s now", shown.what, *shown.first, *shown.now)
		}
	}
	return s, nil
}

// first is when the first event of that kind was; one that there is.
func (s session) first(kind string) span {
	for _, f := range s.facts {
		if f.kind == kind {
			return f.at
		}
	}
	panic("the session has no " + kind)
}

// measured takes a reading of what is known already. The two may be no further apart than promised.
func (s *session) measured(what string, known *span, reading span) error {
	apart := known.apart(reading)
	if apart > tolerance {
		return fmt.Errorf("%s is off by %s: read %s to %s, known %s to %s",
			what, apart, reading.lo, reading.hi, known.lo, known.hi)
	}
	*known = known.within(reading)
	s.stray = max(s.stray, apart)
	return nil
}

func show(view any) string {
	text, _ := json.Marshal(view) // of plain structs
	return string(text)
}
