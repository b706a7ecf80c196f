package lanes_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

func zone(t require.TestingT, name string) *time.Location {
	in, err := time.LoadLocation(name)
	require.NoError(t, err)
	return in
}

// clock reads 22:30, or 26:30 for half past two of the next day.
func clock(text string) (minutes int) {
	var hour, minute int
	_, _ = fmt.Sscanf(text, "%d:%d", &hour, &minute)
	return 60*hour + minute
}

func opening(from, to string) lanes.Opening { return lanes.Opening{From: clock(from), To: clock(to)} }

// The rules of opening hours, each at the moment where it counts: by the clocks of Berlin, which were set forward at
// 02:00 on 29 March 2026, and back at 03:00 on 25 October.
func TestWhenARangeIsOpen(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	everyDay := func(openings ...lanes.Opening) (week [7][]lanes.Opening) {
		for day := range week {
			week[day] = openings
		}
		return week
	}
	late := everyDay(opening("18:00", "26:00"))
	summer, winter := "+02:00", "+01:00"
	for name, c := range map[string]struct {
		week       [7][]lanes.Opening
		exceptions []lanes.Exception
		now        string
		open       bool
		changes    string // when it closes, or opens; empty: not known
	}{
		"in the evening": {
			everyDay(opening("9:00", "22:00")), nil, "2026-05-06T21:59:59" + summer,
			true, "2026-05-06T22:00:00" + summer,
		},
		"from its closing on": {
			everyDay(opening("9:00", "22:00")), nil, "2026-05-06T22:00:00" + summer,
			false, "2026-05-07T09:00:00" + summer,
		},
		"from its opening on": {
			everyDay(opening("9:00", "22:00")), nil, "2026-05-06T09:00:00" + summer,
			true, "2026-05-06T22:00:00" + summer,
		},
		"over noon": {
			everyDay(opening("9:00", "12:00"), opening("13:00", "22:00")), nil,
			"2026-05-06T12:30:00" + summer, false, "2026-05-06T13:00:00" + summer,
		},
		"past midnight": {
			late, nil, "2026-05-06T01:30:00" + summer, true,
			"2026-05-06T02:00:00" + summer,
		},
		"openings that meet": {
			everyDay(opening("9:00", "12:00"), opening("12:00", "22:00")), nil,
			"2026-05-06T10:00:00" + summer, true, "2026-05-06T22:00:00" + summer,
		},
		"days that meet at midnight": {[7][]lanes.Opening{
			3: {opening("20:00", "24:00")},
			4: {opening("0:00", "4:00")},
		}, nil, "2026-05-06T21:00:00" + summer, true, "2026-05-07T04:00:00" + summer},
		"the next day begins before the end": {[7][]lanes.Opening{
			3: {opening("20:00", "26:00")},
			4: {opening("1:00", "4:00")},
		}, nil, "2026-05-06T21:00:00" + summer, true, "2026-05-07T04:00:00" + summer},
		"never closed": {everyDay(opening("0:00", "24:00")), nil, "2026-05-06T21:00:00" +
			summer, true, ""},
		"closed in more than a week": {
			everyDay(opening("0:00", "24:00")),
			[]lanes.Exception{{Date: lanes.Date{2026, 5, 14}}},
			"2026-05-06T12:00:00" + summer, true, "",
		},
		"closed within a week": {
			everyDay(opening("0:00", "24:00")),
			[]lanes.Exception{{Date: lanes.Date{2026, 5, 13}}},
			"2026-05-06T12:00:00" + summer, true,
			"2026-05-13T00:00:00" + summer,
		},
		"closed in a week, to the second": {
			everyDay(opening("0:00", "24:00")),
			[]lanes.Exception{{Date: lanes.Date{2026, 5, 13}}},
			"2026-05-06T00:00:00" + summer, true,
			"2026-05-13T00:00:00" + summer,
		},
		"open again in a month": {
			[7][]lanes.Opening{},
			[]lanes.Exception{{lanes.Date{2026, 6, 6}, []lanes.Opening{opening("9:00", "22:00")}}},
			"2026-05-06T12:00:00" + summer, false, "2026-06-06T09:00:00" + summer,
		},
		"never open": {[7][]lanes.Opening{}, nil, "2026-05-06T12:00:00" + summer, false, ""},
		"a holiday": {
			everyDay(opening("9:00", "22:00")),
			[]lanes.Exception{{Date: lanes.Date{2026, 12, 24}}},
			"2026-12-24T12:00:00" + winter, false,
			"2026-12-25T09:00:00" + winter,
		},
		"a short day": {
			everyDay(opening("9:00", "22:00")),
			[]lanes.Exception{{lanes.Date{2026, 12, 24}, []lanes.Opening{opening("10:00", "14:00")}}},
			"2026-12-24T10:00:00" + winter, true, "2026-12-24T14:00:00" + winter,
		},
		"the night before a holiday": {
			late,
			[]lanes.Exception{{Date: lanes.Date{2026, 12, 24}}},
			"2026-12-24T01:00:00" + winter, true, "2026-12-24T02:00:00" + winter,
		},
		"the night that has an hour less": {
			late, nil, "2026-03-29T01:59:00" + winter, true,
			"2026-03-29T03:00:00" + summer,
		},
		"a closing that clocks skip": {
			everyDay(opening("18:00", "26:30")), nil, "2026-03-29T01:59:00" + winter,
			true, "2026-03-29T03:00:00" + summer,
		},
		"an opening that clocks skip": {
			everyDay(opening("2:30", "4:00")), nil, "2026-03-29T01:59:00" + winter,
			false, "2026-03-29T03:00:00" + summer,
		},
		"an opening that is skipped whole": {
			everyDay(opening("2:10", "2:50")), nil, "2026-03-29T01:59:00" + winter,
			false, "2026-03-30T02:10:00" + summer,
		},
		"a closing that comes twice": {
			everyDay(opening("18:00", "26:30")), nil, "2026-10-25T01:59:00" + summer,
			true, "2026-10-25T02:30:00" + summer,
		},
		"after a closing that comes twice": {
			everyDay(opening("18:00", "26:30")), nil, "2026-10-25T02:10:00" + winter,
			false, "2026-10-25T18:00:00" + winter,
		},
		"an opening that comes twice": {
			everyDay(opening("2:30", "4:00")), nil, "2026-10-25T02:29:00" + summer,
			false, "2026-10-25T02:30:00" + summer,
		},
		"the night that has an hour more": {
			everyDay(opening("18:00", "27:00")), nil, "2026-10-25T02:59:00" + summer,
			true, "2026-10-25T03:00:00" + winter,
		},
		"after summer time, the same clocks": {
			late, nil, "2026-10-26T01:00:00" + winter, true,
			"2026-10-26T02:00:00" + winter,
		},
	} {
		t.Run(name, func(t *testing.T) {
			hours := &lanes.Hours{Zone: berlin, Week: c.week, Exceptions: c.exceptions}
			now, err := time.Parse(time.RFC3339, c.now)
			require.NoError(t, err)
			state := hours.At(now.UTC())
			require.Equal(t, c.open, state.Open)
			changes := state.Opens
			if state.Open {
				require.Zero(t, state.Opens)
				changes = state.Closes
			}
			if c.changes == "" {
				require.Zero(t, changes)
				return
			}
			require.Equal(t, c.changes, changes.Format(time.RFC3339))
		})
	}
}

// Dates are in the order of the calendar.
func TestTheOrderOfDates(t *testing.T) {
	dates := []lanes.Date{{2025, 12, 31}, {2026, 1, 1}, {2026, 1, 31}, {2026, 2, 1}, {2026, 12, 31}, {2027, 1, 1}}
	for i, earlier := range dates {
		require.Zero(t, earlier.Compare(earlier))
		for _, later := range dates[i+1:] {
			require.Negative(t, earlier.Compare(later), "%v %v", earlier, later)
			require.Positive(t, later.Compare(earlier), "%v %v", earlier, later)
		}
	}
}

// How long it is open is counted over months in which it is closed.
func TestHowLongItIsOpenOverAMonthThatItIsClosed(t *testing.T) {
	hours := &lanes.Hours{Zone: time.UTC, Exceptions: []lanes.Exception{
		{lanes.Date{2026, 6, 7}, []lanes.Opening{opening("9:00", "11:00")}}, // 32 days later, before noon
	}}
	noon := time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)
	require.Equal(t, lanes.OpenState{}, hours.At(noon))
	require.Equal(t, 2*time.Hour, hours.OpenBetween(noon, noon.AddDate(0, 2, 0)))
}

// A range that says nothing of its hours is open.
func TestARangeWithoutHoursIsAlwaysOpen(t *testing.T) {
	var none *lanes.Hours
	now := time.Date(2026, 5, 6, 3, 0, 0, 0, time.UTC)
	require.Equal(t, lanes.OpenState{Open: true}, none.At(now))
	require.Equal(t, time.Hour, none.OpenBetween(now, now.Add(time.Hour)))
	require.False(t, none.At(now).LastCall(now))
	require.Zero(t, none.At(now).Changes(now))
}

// With so much left until its closing a range makes its last call.
func TestTheLastCall(t *testing.T) {
	hours := &lanes.Hours{Zone: time.UTC, Week: [7][]lanes.Opening{3: {opening("9:00", "22:00")}}}
	at := func(text string) time.Time { return time.Date(2026, 5, 6, 0, clock(text), 0, 0, time.UTC) }
	for _, c := range []struct {
		now     string
		called  bool
		changes string
	}{
		{"8:59", false, "9:00"},
		{"9:00", false, "21:30"},
		{"21:29", false, "21:30"},
		{"21:30", true, "22:00"},
		{"21:59", true, "22:00"},
	} {
		state := hours.At(at(c.now))
		require.Equal(t, c.called, state.LastCall(at(c.now)), c.now)
		require.Equal(t, at(c.changes), state.Changes(at(c.now)), c.now)
	}
	require.False(t, hours.At(at("22:00")).LastCall(at("22:00")), "it is closed")
}

func TestEqualHours(t *testing.T) {
	whole := func() *lanes.Hours {
		return &lanes.Hours{
			Zone: zone(t, "Europe/Berlin"), Week: [7][]lanes.Opening{1: {opening("9:00", "22:00")}},
			Exceptions: []lanes.Exception{{lanes.Date{2026, 12, 24}, []lanes.Opening{opening("9:00", "12:00")}}},
		}
	}
	require.True(t, whole().Equal(whole()))
	for name, change := range map[string]func(*lanes.Hours){
		"zone":              func(h *lanes.Hours) { h.Zone = zone(t, "Europe/Paris") },
		"another day":       func(h *lanes.Hours) { h.Week[2] = h.Week[1] },
		"another closing":   func(h *lanes.Hours) { h.Week[1] = []lanes.Opening{opening("9:00", "22:01")} },
		"no exception":      func(h *lanes.Hours) { h.Exceptions = nil },
		"another date":      func(h *lanes.Hours) { h.Exceptions[0].Date.Day = 25 },
		"another exception": func(h *lanes.Hours) { h.Exceptions[0].Openings = nil },
		"another whole":     func(h *lanes.Hours) { h.Within = whole() },
	} {
		other := whole()
		change(other)
		require.False(t, whole().Equal(other), name)
		require.False(t, other.Equal(whole()), name)
	}
	var none *lanes.Hours
	require.True(t, none.Equal(nil))
	require.False(t, none.Equal(whole()))
	require.False(t, whole().Equal(none))
}

// anyTwoHours draws two in one zone, whose clocks are set by an hour, by half an hour, by a day, or never, and a minute
// that is near to such a change.
func anyTwoHours(t *rapid.T) (one, other *lanes.Hours, now time.Time) {
	change := rapid.SampledFrom([]struct{ zone, at string }{
		{"Europe/Berlin", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-10-25T01:00:00Z"},
		{"America/New_York", "2026-03-08T07:00:00Z"},
		{"America/New_York", "2026-11-01T06:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"},
		{"Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
		{"America/Havana", "2026-03-08T05:00:00Z"}, // at midnight
		{"America/Havana", "2026-11-01T05:00:00Z"},
		{"Pacific/Apia", "2011-12-30T10:00:00Z"}, // over a whole day
		{"Asia/Kolkata", "2026-05-06T00:00:00Z"},
	}).Draw(t, "change")
	at, err := time.Parse(time.RFC3339, change.at)
	require.NoError(t, err)
	now = at.Add(time.Duration(rapid.IntRange(-4*24*60, 4*24*60).Draw(t, "minutes later")) * time.Minute)
	openings := rapid.Custom(func(t *rapid.T) []lanes.Opening {
		bounds := rapid.SliceOfNDistinct(rapid.OneOf(rapid.Map(rapid.IntRange(0, 11),
			func(n int) int { return 15 * n }), rapid.IntRange(0, 1440)), 0, 4, rapid.ID).Draw(t, "bounds")
		slices.Sort(bounds)
		var list []lanes.Opening
		for i := 0; i+1 < len(bounds); i += 2 {
			list = append(list, lanes.Opening{From: bounds[i], To: bounds[i+1]})
		}
		if last := len(list) - 1; last >= 0 && rapid.Bool().Draw(t, "past midnight") {
			list[last].To = 1440 + rapid.IntRange(0, list[last].From).Draw(t, "until")
		}
		return list
	})
	draw := func() *lanes.Hours {
		hours := &lanes.Hours{Zone: zone(t, change.zone)}
		openings := openings
		if rapid.IntRange(0, 5).Draw(t, "round the clock") == 0 {
			openings = rapid.Just([]lanes.Opening{{From: 0, To: 1440}})
		}
		for day := range hours.Week {
			hours.Week[day] = openings.Draw(t, "of a weekday")
		}
		for day := range 6 {
			if rapid.IntRange(0, 3).Draw(t, "exception") == 0 {
				hours.Exceptions = append(hours.Exceptions, lanes.Exception{
					Date: lanes.DateOf(at.AddDate(0, 0, day-3)), Openings: openings.Draw(t, "of a date"),
				})
			}
		}
		return hours
	}
	return draw(), draw(), now
}

// clocks are the same hours, minute by minute: whether it is open in each, from an instant on.
type clocks struct {
	from time.Time
	open []bool
}

func clocksOf(h *lanes.Hours, now time.Time) clocks {
	const before, behind = 6, 12 // days
	m := clocks{from: now.AddDate(0, 0, -before), open: make([]bool, (before+behind)*24*60)}
	minute := func(i int) time.Time { return m.from.Add(time.Duration(i) * time.Minute) }
	first := func(shown time.Time) int { // the first minute whose clocks show that, or a later time
		// no zone is further off
		for i := max(0, int((shown.Sub(m.from)-26*time.Hour)/time.Minute)); i < len(m.open); i++ {
			local := minute(i).In(h.Zone)
			_, offset := local.Zone()
			if wall := local.UTC().Add(time.Duration(offset) * time.Second); !wall.Before(shown) {
				return i
			}
		}
		return len(m.open)
	}
	whole := func(int) bool { return true }
	if h.Within != nil {
		within := clocksOf(h.Within, now)
		whole = func(i int) bool { return within.open[i] }
	}
	for day := -before - 2; day < behind+2; day++ {
		date := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC).AddDate(0, 0, day)
		openings := h.Week[date.Weekday()]
		for _, exception := range h.Exceptions {
			if exception.Date == lanes.DateOf(date) {
				openings = exception.Openings
			}
		}
		for _, opening := range openings {
			until := first(date.Add(time.Duration(opening.To) * time.Minute))
			for i := first(date.Add(time.Duration(opening.From) * time.Minute)); i < until; i++ {
				m.open[i] = whole(i)
			}
		}
	}
	return m
}

func (m clocks) at(t time.Time) bool { return m.open[int(t.Sub(m.from)/time.Minute)] }

// For any hours in any zone, near to when its clocks are set: a range is open in the minutes in which somebody finds it
// open who looks at its clocks each minute, and it says truly when that changes.
func TestHoursAreThoseOfTheClocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hours, whole, now := anyTwoHours(t)
		if rapid.Bool().Draw(t, "within others") {
			hours = hours.In(whole)
		}
		m := clocksOf(hours, now)
		state := hours.At(now)
		require.Equal(t, m.at(now), state.Open)
		changes, same := state.Opens, 7*24*time.Hour // as it is now for at least so long
		if state.Open {
			changes = state.Closes
		}
		if !changes.IsZero() {
			same = min(same, changes.Sub(now))
		}
		open := 0
		for passed := time.Duration(0); passed < same; passed += time.Minute {
			require.Equal(t, state.Open, m.at(now.Add(passed)), "%s later", passed)
		}
		if !changes.IsZero() && changes.Sub(now) < 11*24*time.Hour {
			require.NotEqual(t, state.Open, m.at(changes))
		}

		until := rapid.IntRange(0, 4*24*60).Draw(t, "minutes between")
		for i := range until {
			if m.at(now.Add(time.Duration(i) * time.Minute)) {
				open++
			}
		}
		require.Equal(t, time.Duration(open)*time.Minute,
			hours.OpenBetween(now, now.Add(time.Duration(until)*time.Minute)))
	})
}
