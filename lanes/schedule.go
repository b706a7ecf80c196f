package lanes

import (
	"slices"

	"github.com/google/uuid"
)

// A bay may have hours of its own, such as those between two maintenances, and so may an access group, such as the
// members' evening. Both are within the hours of the range. A lane is open by the hours of its bay. What is sold there
// to a group has to end while the lane is open, and the group's own hours are, too.

// TermsOf returns the rules for what is sold on the lane at that place.
func (l Layout) TermsOf(place Place) Terms {
	terms := l.Terms
	for _, bay := range l.Bays {
		if bay.ID == place.Bay {
			terms.Hours = bay.Hours.In(l.Hours)
		}
	}
	return terms
}

// AllHours returns the hours of the range, its bays and its groups, of those that have any.
func (l Layout) AllHours() []*Hours {
	all := []*Hours{l.Hours}
	for _, bay := range l.Bays {
		all = append(all, bay.Hours)
	}
	for _, group := range l.Groups {
		all = append(all, l.GroupHours[group.ID])
	}
	return slices.DeleteFunc(all, func(h *Hours) bool { return h == nil })
}

// In returns the hours as a part of others: open while both are.
func (h *Hours) In(whole *Hours) *Hours {
	switch {
	case h == nil:
		return whole
	case whole == nil || h.Within == whole:
		return h
	}
	part := *h
	part.Within = whole
	return &part
}

// HoursOf returns the hours in which the lane is open to an access group.
func (t Terms) HoursOf(group uuid.UUID) *Hours { return t.GroupHours[group].In(t.Hours) }

// sameHours reports whether the same groups have the same hours.
func sameHours(some, others map[uuid.UUID]*Hours) bool {
	for group, hours := range some {
		if other, found := others[group]; !found || !hours.Equal(other) {
			return false
		}
	}
	return len(some) == len(others)
}

// SaleHours returns the hours in which more can be sold: to the group of the session on the lane, or to anybody where
// there is none.
func (l Lane) SaleHours() *Hours {
	if l.Session == nil {
		return l.Hours
	}
	return l.HoursOf(l.Session.Group)
}

// closesFor returns the refusal of a move to a lane that closes before the session would end, and before the lane that
// it leaves does: nil where it may move. What runs on after closing anyway moves between lanes that close together.
func (l Lane) closesFor(s Session, to Lane, now Instant) error {
	length := s.mayRun(now)
	now = s.judgedFrom(now)
	own, next := l.HoursOf(s.Group).At(now.Wall), to.HoursOf(s.Group).At(now.Wall)
	if room := next.left(now.Wall); length <= room || own.left(now.Wall) <= room {
		return nil
	}
	return next.refusal(now.Wall, 0, MaxMinutes)
}
