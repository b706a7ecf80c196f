package lanes_test

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// became takes the change and says what it was.
func (s *story) became(before lanes.Lane, change lanes.Change) string {
	var out strings.Builder
	for _, event := range change.Events {
		fmt.Fprintf(&out, "%s at %s on lane %s%s%s\n", event.Kind, event.At.Format("15:04:05"),
			s.name(event.Lane), basket(event.Items), s.elsewhere(event, before, change.Lane))
	}
	unread := before
	unread.Log = change.Lane.Log
	if change.Lane.Log != before.Log && !change.Changes(unread) {
		fmt.Fprintf(&out, "nothing but: %s is read up to %d\n", change.Lane.Log.ID, change.Lane.Log.Seq)
	}
	if e := change.Ended; e != nil {
		fmt.Fprintf(&out, "ended %s at %s: %s used, %s left, %s in pauses\n",
			e.Reason, e.At.Format("15:04:05"), e.Used, e.Session.Left, e.Paused)
	}
	out.WriteString(s.shop.tell(change))
	if change.Missing > 0 {
		fmt.Fprintf(&out, "missing: %d reports before this one\n", change.Missing)
	}
	if change.Note != "" {
		fmt.Fprintf(&out, "note: %s\n", change.Note)
	}
	if change.Closing {
		out.WriteString("closing: it stands although it cannot be saved\n")
	}
	s.lanes[s.at] = change.Lane
	if change.Other != nil {
		s.lanes[s.name(change.Other.ID)] = *change.Other
	}
	return out.String()
}

func (s *story) name(lane uuid.UUID) string { return lane.String()[35:] }

// elsewhere names the event's session where it is not the one on the lane.
func (s *story) elsewhere(event lanes.Event, on ...lanes.Lane) string {
	for _, lane := range on {
		if lane.Session != nil && lane.Session.ID == event.Session {
			return ""
		}
	}
	if event.Session == uuid.Max {
		return " of another session"
	}
	return " of session " + strings.TrimLeft(event.Session.String()[24:], "0")
}

// left is how the lanes are left.
func (s *story) left() string {
	var out strings.Builder
	for _, name := range []string{"1", "2"} {
		lane := s.lanes[name]
		if name == "2" && s.at == "1" && lane.Session == nil && !lane.Held && len(lane.Open) == 0 && seen(lane) == "" {
			continue // not part of the story
		}
		fmt.Fprintf(&out, "lane %s: ", name)
		if lane.Held {
			out.WriteString("held, ")
		}
		if lane.Fault != "" {
			fmt.Fprintf(&out, "faulty (%s), ", lane.Fault)
		}
		if lane.Session == nil {
			out.WriteString("free\n" + s.shop.shows(lane) + seen(lane))
			continue
		}
		fmt.Fprintf(&out, "%s, %s left of %s", lane.Session.Phase, lane.Session.Remaining(s.now), lane.Session.Sold)
		if deadline, running := lane.Deadline(); running {
			fmt.Fprintf(&out, ", until %s", deadline.Wall.Format("15:04:05"))
		}
		if lane.Due(s.now) {
			out.WriteString(", due")
		}
		out.WriteString("\n" + s.shop.shows(lane) + seen(lane))
	}
	return out.String()
}
