package lanes

import (
	"slices"
	"time"
)

// Hours are the opening hours of a range, or of a part of it (see terms.go), by the clocks on its walls. Nobody
// changes a value of it, and nil is a range that is always open.
//
// An opening belongs to the day on which it begins, and may end on the next one. Where clocks are set forward,
// an opening that begins or ends at a time that they skip does so when they are set. Where they are set back,
// they show some times twice: the first time counts.
type Hours struct {
	Zone       *time.Location
	Week       [7][]Opening // by time.Weekday; those of a day in their order, none before the end of another
	Exceptions []Exception  // in the order of their dates
	Within     *Hours       // those of the whole that it is a part of: it is open while both are; nil: of nothing
}

// Opening is a part of a day in which a range is open, in minutes after midnight by the clocks.
type Opening struct {
	From int // 0 to 1439
	To   int // after From by a day at most; above 1440, on the next day
}

// Exception has the openings of one date, instead of those of its weekday. Without any the range is closed.
type Exception struct {
	Date     Date
	Openings []Opening
}

// Date is a day of the calendar.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the date of a time, in that time's zone.
func DateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{year, month, day}
}

// Compare returns a number below 0 where d is before other, above 0 where it is behind it, and 0 for the same day.
func (d Date) Compare(other Date) int {
	days := func(d Date) int { return (d.Year*12+int(d.Month))*31 + d.Day } // as many as keep the order
	return days(d) - days(other)
}

// Equal reports whether both are the same hours in the same zone.
func (h *Hours) Equal(other *Hours) bool {
	if h == nil || other == nil || h == other {
		return h == other
	}
	return h.Zone.String() == other.Zone.String() &&
		slices.EqualFunc(h.Week[:], other.Week[:], slices.Equal[[]Opening]) &&
		slices.EqualFunc(h.Exceptions, other.Exceptions, func(a, b Exception) bool {
			return a.Date == b.Date && slices.Equal(a.Openings, b.Openings)
		}) && h.Within.Equal(other.Within)
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

// How far ahead a closing and an opening are looked for. What is sold ends within hours.
const (
	closesWithin = 7 * 24 * time.Hour
	opensWithin  = 31 // days
)

// LastCall is how long before its closing a range says that it will close.
const LastCall = 30 * time.Minute

// OpenState is whether a range is open at one moment, and until when. Times are in the range's zone.
type OpenState struct {
	Open   bool
	Closes time.Time // of an open range; zero: not within a week
	Opens  time.Time // of a closed one, next; zero: not within 31 days
}

// LastCall reports whether the range is open at now, and closes soon.
func (o OpenState) LastCall(now time.Time) bool {
	return o.Open && !o.Closes.IsZero() && o.Closes.Sub(now) <= LastCall
}

// Changes returns when the state is another one, or a range that is open makes its last call: zero, where that is
// not known.
func (o OpenState) Changes(now time.Time) time.Time {
	switch {
	case !o.Open:
		return o.Opens
	case o.Closes.IsZero() || o.LastCall(now):
		return o.Closes
	}
	return o.Closes.Add(-LastCall)
}

// At returns the state at now. Openings that meet, or overlap, are one.
func (h *Hours) At(now time.Time) OpenState {
	if h == nil {
		return OpenState{Open: true}
	}
	opens, closes := h.next(now)
	switch {
	case opens.IsZero():
		return OpenState{}
	case opens.After(now):
		return OpenState{Opens: opens.In(h.Zone)}
	case closes.Sub(now) > closesWithin:
		return OpenState{Open: true}
	}
	return OpenState{Open: true, Closes: closes.In(h.Zone)}
}

// next returns the bounds of the opening that the range is in at now, or else of the next one; what follows it
// without a break is of it, for at least closesWithin. An opening behind another one that it meets may be told
// to begin where they meet. Without one both are zero.
func (h *Hours) next(now time.Time) (opens, closes time.Time) {
	opens, closes = h.nextAlone(now)
	for h.Within != nil && !opens.IsZero() {
		begins, ends := h.Within.next(later(opens, now))
		if begins.IsZero() || opens.After(now.AddDate(0, 0, opensWithin+1)) {
			return time.Time{}, time.Time{}
		}
		opens, closes = later(opens, begins), earlier(closes, ends)
		if opens.Before(closes) {
			return opens, closes
		}
		opens, closes = h.nextAlone(closes)
	}
	return opens, closes
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// nextAlone is next whatever these hours are within.
func (h *Hours) nextAlone(now time.Time) (opens, closes time.Time) {
	today := midnight(now.In(h.Zone))
	for ahead := -1; ahead <= opensWithin; ahead++ {
		day := today.AddDate(0, 0, ahead)
		found := !opens.IsZero()
		if found && (h.instant(day, 0).After(closes) || closes.Sub(now) > closesWithin && !opens.After(now)) {
			return opens, closes
		}
		for _, opening := range h.openings(day) {
			begins, ends := h.instant(day, opening.From), h.instant(day, opening.To)
			switch {
			case !ends.After(now) || !ends.After(begins): // it is over, or clocks skip all of it
			case opens.IsZero():
				opens, closes = begins, ends
			case begins.After(closes):
				return opens, closes
			case ends.After(closes):
				closes = ends
			}
		}
	}
	return opens, closes
}

// OpenBetween returns for how long the range is open from a time on until another one.
func (h *Hours) OpenBetween(from, until time.Time) time.Duration {
	if h == nil {
		return max(0, until.Sub(from))
	}
	open := time.Duration(0)
	for at := from; at.Before(until); {
		opens, closes := h.next(at)
		if opens.IsZero() { // not within opensWithin, in which clocks may be set
			at = at.AddDate(0, 0, opensWithin-1)
			continue
		}
		open += max(0, earlier(closes, until).Sub(later(opens, at)))
		at = closes
	}
	return open
}

// midnight returns the date of t as the midnight of UTC, which no clock skips.
func midnight(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// openings returns those that begin on a day, which is the midnight of UTC.
func (h *Hours) openings(day time.Time) []Opening {
	at, found := slices.BinarySearchFunc(h.Exceptions, DateOf(day),
		func(e Exception, d Date) int { return e.Date.Compare(d) })
	if found {
		return h.Exceptions[at].Openings
	}
	return h.Week[day.Weekday()]
}

// instant returns when the range's clocks first show so many minutes after the midnight of a day, or when they are
// set forward over that time.
func (h *Hours) instant(day time.Time, minutes int) time.Time {
	shown := day.Add(time.Duration(minutes) * time.Minute)
	year, month, date := day.Date()
	// of two that there are, and of two that are near, either
	at := time.Date(year, month, date, 0, minutes, 0, 0, h.Zone)
	since, until := at.ZoneBounds()
	_, offset := at.Zone()
	switch ahead := at.Add(seconds(offset)).Sub(shown); {
	case ahead > 0:
		return since
	case ahead < 0:
		return until
	case since.IsZero():
		return at
	}
	_, offset = since.Add(-1).Zone()
	if earlier := shown.Add(-seconds(offset)); earlier.Before(since) {
		return earlier
	}
	return at
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
