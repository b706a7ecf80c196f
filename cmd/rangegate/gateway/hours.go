package gateway

import (
	"rangegate/config"
	"rangegate/lanes"
)

// openingHours returns the hours of a range, a bay or a group for its lanes; nil for one that has none. What is wrong
// with a configuration has been found before.
func openingHours(h *config.Hours) *lanes.Hours {
	if h == nil {
		return nil
	}
	hours := &lanes.Hours{}
	hours.Zone, _ = h.Zone()
	for day, texts := range h.Week.Days() {
		hours.Week[day] = openings(texts)
	}
	for _, date := range h.Dates() {
		day, _ := date.Time()
		hours.Exceptions = append(hours.Exceptions,
			lanes.Exception{Date: lanes.DateOf(day), Openings: openings(h.Exceptions[date])})
	}
	return hours
}

func openings(texts []string) (list []lanes.Opening) {
	for _, text := range texts {
		opening, _ := config.ParseOpening(text)
		list = append(list, lanes.Opening(opening))
	}
	return list
}
