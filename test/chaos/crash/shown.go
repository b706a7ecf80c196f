package crash

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// listed compares the session with the view of an active one, and keeps what that says more exactly.
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
	left := rounded(minutes(*v.Remaining))
	if s.phase == paused {
		err := s.measuredTime("time left of a paused session", &s.left, left)
		return s, err
	}
	deadline := at.plus(left)
	if *v.Remaining == 0 {
		deadline.lo = min(deadline.lo, s.deadline.lo) // the end has passed, it is unknown how long ago
	}
	err = s.measuredTime("deadline of a running session", &s.deadline, deadline)
	return s, err
}

// recorded compares the session with its entry in the history.
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
	if err := s.measuredTime("ended_at", &s.endedAt, rounded(sinceStart(v.Ended))); err != nil {
		return s, err
	}
	if v.Remaining == nil {
		return s, nil
	}
	if err := s.measuredTime("time left at the end", &s.left, rounded(minutes(*v.Remaining))); err != nil {
		return s, err
	}
	used, rested := minutes(v.Used), minutes(v.Paused)
	if off := sinceStart(v.Ended) - sinceStart(*v.Began) - used - rested; off < -tolerance ||
		off > s.givenBack+tolerance {
		return s, fmt.Errorf("from its beginning to its end, %s are neither used nor paused: %s", off, show(v))
	}
	if off := used + minutes(*v.Remaining) - minutes(float64(v.Duration)); off.Abs() > 2*time.Millisecond {
		return s, fmt.Errorf("used and left are %s off what was sold: %s", off, show(v))
	}
	return s, nil
}

// sameSale compares what does not change with time. created_at and began_at may differ by the tolerance when
// they are first shown, and never change after that.
func (s session) sameSale(v sessionView) (session, error) {
	if v.Lane != s.lane || v.Group != s.group || v.Duration != s.minutes {
		return s, fmt.Errorf("is %s, and should be %d minutes on %s", show(v), s.minutes, s.lane)
	}
	for _, shown := range []struct {
		what, event string
		first       *time.Time
		now         *time.Time
	}{{"created_at", "sessionCreated", &s.createdAt, &v.Created}, {"began_at", "sessionStarted", &s.beganAt, v.Began}} {
		switch {
		case shown.now == nil:
		case shown.first.IsZero():
			expected := s.first(shown.event)
			if err := s.measured(shown.what, &expected, rounded(sinceStart(*shown.now))); err != nil {
				return s, err
			}
			*shown.first = *shown.now
		case !shown.now.Equal(*shown.first):
			return s, fmt.Errorf("%s was %s, and is %s now", shown.what, *shown.first, *shown.now)
		}
	}
	return s, nil
}

// first is when the first event of that kind happened. The session has to have one.
func (s session) first(kind string) span {
	for _, f := range s.facts {
		if f.kind == kind {
			return f.at
		}
	}
	panic("the session has no " + kind)
}

// measured compares a reading with what was expected, and narrows that. The two may differ by the tolerance.
func (s *session) measured(what string, expected *span, reading span) error {
	apart := expected.apart(reading)
	if apart > tolerance {
		return fmt.Errorf("%s is off by %s: read %s to %s, known %s to %s",
			what, apart, reading.lo, reading.hi, expected.lo, expected.hi)
	}
	*expected = expected.within(reading)
	s.worstError = max(s.worstError, apart)
	return nil
}

// measuredTime is measured of what may be later by the time that is given back.
func (s *session) measuredTime(what string, expected *span, reading span) error {
	if late := reading.lo - expected.hi; late > tolerance && late <= s.givenBack {
		*expected = reading
		return nil
	}
	return s.measured(what, expected, reading)
}

func show(view any) string {
	text, _ := json.Marshal(view) // of plain structs
	return string(text)
}

// logged compares the session's events with the log. It checks more than the promise (created first, started
// at most once, stopped once if it has ended and never before): every change has its event, in the order of
// the changes, on the lane of that moment and at its instant, and there are no others.
func (s *session) logged(events []event) error {
	var should, are []string
	for _, f := range s.facts {
		should = append(should, f.kind+" on "+f.lane)
	}
	for _, e := range events {
		are = append(are, e.Payload.Event+" on "+e.Payload.Lane)
	}
	if !slices.Equal(should, are) {
		return fmt.Errorf("has the events\n\t%s\nand should have\n\t%s", strings.Join(are, "\n\t"),
			strings.Join(should, "\n\t"))
	}
	s.facts = slices.Clone(s.facts)
	for i, e := range events {
		if err := s.measuredTime("occurred_at of "+e.Payload.Event, &s.facts[i].at,
			rounded(sinceStart(e.OccurredAt))); err != nil {
			return err
		}
	}
	return nil
}
