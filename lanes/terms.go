package lanes

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Terms are the rules of a range for what is sold on its lanes, from its configuration.
type Terms struct {
	ClearAfter time.Duration // after a session's end, when its lane counts as clear without anybody's word
	ClearFirst bool          // the POS sells a lane only when it is clear
	// Warnings are the times left at which a session is warned that has none of its own.
	Warnings []time.Duration
	// TellsExpired has the end of a session's time told by an event of its own, before that of the session's end.
	TellsExpired bool
	// Grace is how long a session stays on its lane once its time is used up, if it was sold with that; 0: it does not.
	// GraceForAll has every session stay.
	Grace       time.Duration
	GraceForAll bool
	// Hours are those in which the range is open, and of a lane those of its bay: what is sold has to end in them. nil:
	// it is always open.
	Hours *Hours
	// GroupHours are those of the groups that have hours of their own; see HoursOf.
	GroupHours map[uuid.UUID]*Hours
}

// SameTerms reports whether both are the same rules.
func (t Terms) SameTerms(other Terms) bool {
	return t.ClearAfter == other.ClearAfter && t.ClearFirst == other.ClearFirst &&
		slices.Equal(t.Warnings, other.Warnings) &&
		t.TellsExpired == other.TellsExpired && t.Grace == other.Grace && t.GraceForAll == other.GraceForAll &&
		t.Hours.Equal(other.Hours) &&
		sameHours(t.GroupHours, other.GroupHours)
}

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
