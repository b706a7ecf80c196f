package crash

import (
	"fmt"
	"slices"
	"strings"
)

// logged compares the session's events with the log. It asks for more than the promise (created first, started at most
// once, stopped once if it has ended and never before): every change that happened has its event, in the order of the
// changes, on the lane of that moment and at its instant, and there are no others.
func (s *session) logged(events []event) error {
	var should, are []string
	for _, f := range s.facts {
		should = append(should, f.kind+" on "+f.lane)
	}
	for _, e := range events {
		are = append(are, e.Payload.Event+" on "+e.Payload.Lane)
	}
	if !slices.Equal(should, are) {
		return fmt.Errorf("has the events\n\t%s\nand should have\n\t%s", strings.Join(are, "\n\t"), strings.Join(should, "\n\t"))
	}
	s.facts = slices.Clone(s.facts)
	for i, e := range events {
		if err := s.measured("occurred_at of "+e.Payload.Event, &s.facts[i].at, exactly(labelled(e.OccurredAt))); err != nil {
			return err
		}
	}
	return nil
}
