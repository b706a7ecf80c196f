package config

import "slices"

// A bay and a group may have hours of their own: a schedule. They are open while the range is open and their own hours
// are, too.

// HasHours reports whether the range, or a bay or group of it, has hours.
func (r Range) HasHours() bool {
	return r.Hours != nil || slices.ContainsFunc(r.Bays, func(b Bay) bool { return b.Hours != nil }) ||
		slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Hours != nil })
}

// wholeDay is an opening from midnight to midnight.
const wholeDay = "00:00-24:00"

// completeSchedules gives schedules the time zone of the range's hours, and the whole week where they have no week:
// such a one has exceptions alone.
func (r *Range) completeSchedules() {
	for _, s := range r.schedules("") {
		if s.hours.Timezone == "" && r.Hours != nil {
			s.hours.Timezone = r.Hours.Timezone
		}
		if s.hours.Week.isLeftOut() {
			day := func() []string { return []string{wholeDay} }
			s.hours.Week = Week{day(), day(), day(), day(), day(), day(), day()}
		}
	}
}

// isLeftOut reports whether no day of the week was given, not even as closed.
func (w Week) isLeftOut() bool {
	days := w.Days()
	return !slices.ContainsFunc(days[:], func(openings []string) bool { return openings != nil })
}

// schedule is the hours of one bay or group.
type schedule struct {
	hours *Hours
	at    path
}

// schedules returns those of the range at the path.
func (r *Range) schedules(p path) (all []schedule) {
	for i, bay := range r.Bays {
		if bay.Hours != nil {
			all = append(all, schedule{bay.Hours, p.key("bays").item(i).key("hours")})
		}
	}
	for i, group := range r.Groups {
		if group.Hours != nil {
			all = append(all, schedule{group.Hours, p.key("groups").item(i).key("hours")})
		}
	}
	return all
}

// schedules checks those of the range. All its hours are by the clocks on its walls.
func (in *inspection) schedules(r *Range, p path) {
	zone, from := "", path("")
	if r.Hours != nil {
		zone, from = r.Hours.Timezone, p.key("hours").key("timezone")
	}
	for _, s := range r.schedules(p) {
		in.hours(*s.hours, s.at)
		own := s.at.key("timezone")
		switch {
		case zone == "":
			zone, from = s.hours.Timezone, own
		case s.hours.Timezone != "" && s.hours.Timezone != zone:
			in.found.add(own, "another than %s: a range has one time zone", from)
		}
	}
}
