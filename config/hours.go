package config

import (
	"maps"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones are known on a machine that has no list of them, too
)

// Hours are the opening hours of a range.
type Hours struct {
	Timezone string `yaml:"timezone"` // of the IANA database, such as Europe/Berlin
	Week     Week   `yaml:"week"`
	// Exceptions have the openings of single dates, instead of those of their weekdays.
	Exceptions map[Date][]string `yaml:"exceptions,omitempty"`
}

// Week has the openings of each weekday, as 09:00-22:00, or 18:00-02:00 past midnight; none: the range is closed.
type Week struct {
	Monday    []string `yaml:"monday,omitempty"`
	Tuesday   []string `yaml:"tuesday,omitempty"`
	Wednesday []string `yaml:"wednesday,omitempty"`
	Thursday  []string `yaml:"thursday,omitempty"`
	Friday    []string `yaml:"friday,omitempty"`
	Saturday  []string `yaml:"saturday,omitempty"`
	Sunday    []string `yaml:"sunday,omitempty"`
}

// Days returns the openings of each time.Weekday.
func (w Week) Days() [7][]string {
	return [7][]string{w.Sunday, w.Monday, w.Tuesday, w.Wednesday, w.Thursday, w.Friday, w.Saturday}
}

// Date is a day of the calendar, as 2026-12-24.
type Date string

// Time returns the midnight of the date in UTC, and false if there is no such date.
func (d Date) Time() (midnight time.Time, exists bool) {
	midnight, err := time.Parse(time.DateOnly, string(d))
	return midnight, err == nil
}

func (d Date) exists() bool {
	_, exists := d.Time()
	return exists
}

// Zone returns the time zone. Errors: there is none of that name.
func (h Hours) Zone() (*time.Location, error) { return time.LoadLocation(h.Timezone) }

// Dates returns the dates of the exceptions, in their order.
func (h Hours) Dates() []Date { return slices.Sorted(maps.Keys(h.Exceptions)) }

// Opening is a part of a day in which a range is open, in minutes after midnight by the clocks of its zone.
type Opening struct {
	From int
	To   int // after From by a day at most; above 1440, on the next day
}

const minutesOfDay = 24 * 60

// ParseOpening reads an opening. It returns what is wrong with the text, or "".
func ParseOpening(text string) (o Opening, problem string) {
	const form = "wants opening and closing, such as 09:00-22:00, or 18:00-02:00 past midnight"
	if len(text) != len("09:00-22:00") || text[5] != '-' {
		return o, form
	}
	from, found := parseClock(text[:5])
	to, foundTo := parseClock(text[6:])
	switch {
	case !found || !foundTo || from == minutesOfDay:
		return o, form
	case from == to:
		return o, "opens and closes at one time; 00:00-24:00 is the whole day"
	case to < from:
		to += minutesOfDay
	}
	return Opening{from, to}, ""
}

// parseClock reads a time such as 09:30 as minutes after midnight; that at the end of a day is 24:00.
func parseClock(text string) (minutes int, found bool) {
	if text == "24:00" {
		return minutesOfDay, true
	}
	at, err := time.Parse("15:04", text)
	return at.Hour()*60 + at.Minute(), err == nil && len(text) == 5
}

func (in *inspection) hours(h Hours, p path) {
	_, err := h.Zone()
	switch zone := p.key("timezone"); {
	case h.Timezone == "":
		in.found.add(zone, "missing; wants a time zone such as Europe/Berlin")
	case err != nil || h.Timezone == "Local": // that of the machine, which another node need not have
		in.found.add(zone, "no such time zone; wants one such as Europe/Berlin")
	}
	opens := false
	for day, openings := range h.Week.Days() {
		in.openings(openings, p.key("week").key(strings.ToLower(time.Weekday(day).String())))
		opens = opens || len(openings) > 0
	}
	in.require(p.key("week"), opens, "wants an opening on one day at least: nothing could ever be sold")
	for _, date := range h.Dates() {
		in.openings(h.Exceptions[date], p.key("exceptions").key(string(date)))
	}
}

// openings checks those of one day.
func (in *inspection) openings(openings []string, p path) {
	closed := 0
	for i, text := range openings {
		opening, problem := ParseOpening(text)
		in.expect(p.item(i), problem)
		if problem == "" {
			in.require(p.item(i), opening.From >= closed, "begins before the end of the one before it")
			closed = opening.To
		}
	}
}
