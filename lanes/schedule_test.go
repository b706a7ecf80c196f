package lanes_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// daily are hours that are the same on each day.
func daily(from, to string) *lanes.Hours {
	hours := &lanes.Hours{Zone: time.UTC}
	for day := range hours.Week {
		hours.Week[day] = []lanes.Opening{opening(from, to)}
	}
	return hours
}

// at is a time of one Wednesday.
func at(text string) lanes.Instant {
	return lanes.Instant{
		Wall: time.Date(2026, 5, 6, 0, clock(text), 0, 0, time.UTC),
		Mono: 100*time.Hour + time.Duration(clock(text))*time.Minute,
	}
}

// A part of a range is open while the whole is, and its own hours are.
func TestTheHoursOfAPart(t *testing.T) {
	whole, part := daily("9:00", "22:00"), daily("18:00", "23:00")
	hours := part.In(whole)
	require.Equal(t, lanes.OpenState{Opens: at("18:00").Wall}, hours.At(at("10:00").Wall),
		"the range is open, and the part is not")
	require.Equal(t, lanes.OpenState{Open: true, Closes: at("22:00").Wall}, hours.At(at("18:00").Wall))
	require.Equal(t, lanes.OpenState{Opens: at("42:00").Wall}, hours.At(at("22:30").Wall),
		"the part is open, and the range is not")
	require.Equal(t, 4*time.Hour, hours.OpenBetween(at("0:00").Wall, at("24:00").Wall))
	require.Equal(t, 28*time.Hour, hours.OpenBetween(at("0:00").Wall, at("168:00").Wall))
	require.True(t, hours.Equal(daily("18:00", "23:00").In(daily("9:00", "22:00"))))
	require.False(t, hours.Equal(part))
	require.Same(t, hours, hours.In(whole), "it is a part of it already")

	once := (&lanes.Hours{Zone: time.UTC, Exceptions: []lanes.Exception{
		{lanes.Date{2026, 6, 6}, []lanes.Opening{opening("20:00", "23:00")}},
	}}).In(whole)
	opens := time.Date(2026, 6, 6, 20, 0, 0, 0, time.UTC)
	require.Equal(t, lanes.OpenState{Opens: opens}, once.At(at("12:00").Wall), "a part that opens in a month")

	never := daily("6:00", "9:00").In(whole)
	require.Equal(t, lanes.OpenState{}, never.At(at("8:00").Wall), "they meet, and have nothing in common")
	require.Zero(t, never.OpenBetween(at("0:00").Wall, at("2400:00").Wall))
	var none *lanes.Hours
	require.Same(t, whole, none.In(whole))
	require.Same(t, part, part.In(nil))
	require.Nil(t, none.In(nil))
}

// Terms whose access groups have other hours are others.
func TestTermsWithOtherHoursOfAGroup(t *testing.T) {
	terms := func(group uuid.UUID, hours *lanes.Hours) lanes.Terms {
		return lanes.Terms{GroupHours: map[uuid.UUID]*lanes.Hours{group: hours}}
	}
	members, guests := uuid.UUID{1}, uuid.UUID{2}
	of := terms(members, daily("9:00", "22:00"))
	require.True(t, of.SameTerms(terms(members, daily("9:00", "22:00"))))
	require.False(t, of.SameTerms(terms(members, daily("9:00", "21:00"))))
	require.False(t, of.SameTerms(terms(guests, daily("9:00", "22:00"))))
	require.False(t, of.SameTerms(lanes.Terms{}))
}

// Why a session of a start has not begun: it waits, is held, or its hardware is not reached.
func TestWhatBecameOfAStart(t *testing.T) {
	status := func(held bool, link lanes.LinkState, began *lanes.Instant) lanes.StartState {
		session := &lanes.Session{ID: uuid.New(), Began: began}
		return lanes.LaneStatus{Lane: lanes.Lane{Session: session, Held: held}, Link: link}.Started().State
	}
	require.Equal(t, lanes.StartWaiting, status(false, lanes.LinkUp, nil))
	require.Equal(t, lanes.StartOffline, status(false, lanes.LinkDown, nil))
	require.Equal(t, lanes.StartHeld, status(true, lanes.LinkDown, nil))
	began := at("12:00")
	require.Equal(t, lanes.StartBegun, status(true, lanes.LinkDown, &began))
}

// The lanes of a bay have its hours, within those of the range.
func TestTheHoursOfABay(t *testing.T) {
	bay, other := uuid.UUID{1}, uuid.UUID{2}
	layout := lanes.Layout{Terms: lanes.Terms{Hours: daily("9:00", "22:00"), Grace: time.Minute}}
	layout.Bays = []lanes.Bay{{ID: other}, {ID: bay, Hours: daily("9:00", "18:00")}}
	terms := layout.TermsOf(lanes.Place{Bay: bay})
	require.Equal(t, at("18:00").Wall, terms.Hours.At(at("12:00").Wall).Closes)
	require.Equal(t, time.Minute, terms.Grace)
	require.Same(t, layout.Hours, layout.TermsOf(lanes.Place{Bay: other}).Hours)
	require.Len(t, layout.AllHours(), 2)
}

// schedules are two lanes of a range that is open until 22:00: one closes at 18:00. Members leave at 20:00.
func schedules() (late, early lanes.Lane, members uuid.UUID) {
	members = uuid.UUID{7}
	late = lanes.Lane{ID: uuid.UUID{1}, Accessible: true, Usable: true, Purchasing: true, Terms: lanes.Terms{
		Hours: daily("9:00", "22:00"), GroupHours: map[uuid.UUID]*lanes.Hours{members: daily("9:00", "20:00")},
	}}
	early = late
	early.ID, early.Hours = uuid.UUID{2}, daily("9:00", "18:00").In(late.Hours)
	return late, early, members
}

func closing(t *testing.T, err error) (closes time.Time, most int) {
	t.Helper()
	var refusal *lanes.AfterClosing
	require.ErrorAs(t, err, &refusal)
	require.ErrorIs(t, err, lanes.ErrAfterClosing)
	return refusal.Closes, refusal.Most
}

// A sale ends before the lane closes, and before the group that it is made to has to leave.
func TestSalesEndByTheHoursOfLaneAndGroup(t *testing.T) {
	late, early, members := schedules()
	for name, c := range map[string]struct {
		on      lanes.Lane
		group   uuid.UUID
		closes  string
		minutes int // that fit at 17:30
	}{
		"nobody's lane":    {late, uuid.UUID{8}, "22:00", 270},
		"a lane of a bay":  {early, uuid.UUID{8}, "18:00", 30},
		"a group":          {late, members, "20:00", 150},
		"both: the sooner": {early, members, "18:00", 30},
	} {
		t.Run(name, func(t *testing.T) {
			sale := lanes.Create{
				Session: uuid.UUID{9}, Group: c.group, Minutes: c.minutes + 1, AutoStart: true,
				Purchasing: true,
			}
			_, err := c.on.Decide(at("17:30"), sale)
			closes, most := closing(t, err)
			require.Equal(t, at(c.closes).Wall, closes)
			require.Equal(t, c.minutes, most)

			sale.Minutes = c.minutes - 5
			change, err := c.on.Decide(at("17:30"), sale)
			require.NoError(t, err)
			sold := change.Lane
			require.Equal(t, 5, sold.Room(at("17:30")))
			require.Equal(t, at(c.closes).Wall, sold.SaleHours().At(at("17:30").Wall).Closes)
			_, err = sold.Decide(at("17:30"), lanes.Modify{Session: sale.Session, Minutes: 6})
			closes, most = closing(t, err)
			require.Equal(t, at(c.closes).Wall, closes)
			require.Equal(t, 5, most)
			_, err = sold.Decide(at("17:30"), lanes.Modify{Session: sale.Session, Minutes: 6, AfterClosing: true})
			require.NoError(t, err, "staff may")

			sale.Minutes, sale.AfterClosing = c.minutes+1, true
			change, err = c.on.Decide(at("17:30"), sale)
			require.NoError(t, err)
			require.True(t, lanes.Did("sam", at("17:30"), c.on, sale, change).AfterClosing)
		})
	}
	require.Equal(t, early.Hours, early.SaleHours(), "of a free lane its own: to whom it will be sold is not known")
}

// A session does not move to a lane that closes before its end, unless the lane that it leaves closes no later. Staff
// may move it all the same, on record.
func TestAMoveToALaneThatClosesEarlier(t *testing.T) {
	late, early, members := schedules()
	sell := func(on lanes.Lane, minutes int, group uuid.UUID) lanes.Lane {
		change, err := on.Decide(at("17:00"), lanes.Create{
			Session: uuid.UUID{9}, Group: group, Minutes: minutes,
			AutoStart: true, AfterClosing: true,
		})
		require.NoError(t, err)
		return change.Lane
	}
	to := func(lane lanes.Lane) lanes.Move { return lanes.Move{Session: uuid.UUID{9}, To: lane} }

	_, err := sell(late, 90, members).Decide(at("17:10"), to(early))
	closes, most := closing(t, err)
	require.Equal(t, at("18:00").Wall, closes)
	require.Equal(t, 50, most)
	_, err = sell(late, 90, members).Decide(at("17:30"), to(early))
	require.Error(t, err)
	_, err = sell(late, 60, members).Decide(at("17:10"), to(early))
	require.NoError(t, err, "it ends before")
	_, err = sell(early, 90, members).Decide(at("17:10"), to(late))
	require.NoError(t, err)
	_, err = sell(early, 90, members).Decide(at("17:10"), to(lanes.Lane{ID: uuid.UUID{3}, Terms: early.Terms}))
	require.NoError(t, err, "it would be closed there as here")
	_, err = sell(late, 300, members).Decide(at("20:30"), to(lanes.Lane{ID: uuid.UUID{3}, Terms: late.Terms}))
	require.NoError(t, err, "its group has no time any more, here nor there")
	_, err = sell(late, 240, uuid.UUID{8}).Decide(at("18:30"), to(early))
	closes, most = closing(t, err)
	require.Zero(t, closes, "it is closed")
	require.Zero(t, most)

	anyway := to(early)
	anyway.AfterClosing = true
	lane := sell(late, 90, members)
	change, err := lane.Decide(at("17:10"), anyway)
	require.NoError(t, err)
	require.True(t, lanes.Did("sam", at("17:10"), lane, anyway, change).AfterClosing)
	lane = sell(late, 30, members)
	change, err = lane.Decide(at("17:10"), anyway)
	require.NoError(t, err)
	require.False(t, lanes.Did("sam", at("17:10"), lane, anyway, change).AfterClosing, "it fits")
}

// The first lanes that fit are open for as long as they are wanted. Where none is, the refusal says when they close.
func TestReservationsKeepToTheHoursOfTheLane(t *testing.T) {
	late, early, members := schedules()
	all := []lanes.LaneStatus{
		{Place: lanes.Place{ID: early.ID}, Lane: early},
		{Place: lanes.Place{ID: late.ID}, Lane: late},
	}
	choose := func(when string, w lanes.Wanted) []uuid.UUID {
		chosen, err := w.Choose(all, at(when), lanes.Holds{}, nil)
		require.NoError(t, err)
		return chosen
	}
	require.Equal(t, []uuid.UUID{early.ID}, choose("17:00", lanes.Wanted{Count: 1, Minutes: 60}))
	require.Equal(t, []uuid.UUID{late.ID}, choose("17:00", lanes.Wanted{Count: 1, Minutes: 61}))
	require.Equal(t, []uuid.UUID{early.ID}, choose("17:00", lanes.Wanted{Count: 1}), "for how long is not known")
	require.Equal(t, []uuid.UUID{late.ID}, choose("18:00", lanes.Wanted{Count: 1}), "it is closed")
	require.Equal(t, []uuid.UUID{early.ID, late.ID}, choose("17:30", lanes.Wanted{Count: 2, Minutes: 60}),
		"Reserve says that one does not fit")

	reserve := func(lane lanes.Lane, r lanes.Reservation) (lanes.Lane, error) {
		r.Made, r.Term, r.Token = at("19:30"), 10*time.Minute, lanes.TokenDigest("token")
		change, err := lane.Decide(at("19:30"), lanes.Reserve{Reservation: &r})
		return change.Lane, err
	}
	_, err := reserve(early, lanes.Reservation{Minutes: 30})
	require.ErrorIs(t, err, lanes.ErrAfterClosing)
	_, err = reserve(late, lanes.Reservation{Minutes: 31, Group: members})
	_, most := closing(t, err)
	require.Equal(t, 30, most)

	sell := func(lane lanes.Lane, group uuid.UUID) error {
		_, err := lane.Decide(at("19:35"), lanes.Create{
			Session: uuid.UUID{9}, Group: group, Minutes: 30,
			Reservation: "token",
		})
		return err
	}
	promised, err := reserve(late, lanes.Reservation{Minutes: 30, Group: members})
	require.NoError(t, err)
	require.NoError(t, sell(promised, members), "it was promised")
	unnamed, err := reserve(late, lanes.Reservation{Minutes: 30})
	require.NoError(t, err)
	require.True(t, errors.Is(sell(unnamed, members), lanes.ErrAfterClosing), "not to this group")
	require.NoError(t, sell(unnamed, uuid.UUID{8}))
}

// A start is refused where a session would end after closing because of it, by the hours of its lane and its group.
// What would end after closing also if it began now was paid for: it is never refused.
func TestAStartThatIsTooLate(t *testing.T) {
	late, early, members := schedules()
	split := late
	split.Hours = &lanes.Hours{Zone: time.UTC}
	for day := range split.Hours.Week {
		split.Hours.Week[day] = []lanes.Opening{
			opening("9:00", "17:00"), opening("17:15", "18:00"),
			opening("19:00", "22:00"),
		}
	}
	for name, c := range map[string]struct {
		on      lanes.Lane
		group   uuid.UUID
		minutes int
		openEnd int
		now     string
		start   string
		closes  string // empty: it is not refused
	}{
		"it ends as the lane closes": {on: early, minutes: 30, now: "17:00", start: "17:30"},
		"a minute later":             {on: early, minutes: 30, now: "17:00", start: "17:31", closes: "18:00"},
		"a lane that closes later":   {on: late, minutes: 30, now: "17:00", start: "17:31"},
		"a group that leaves": {
			on: late, group: members, minutes: 60, now: "17:00", start: "19:01",
			closes: "20:00",
		},
		"the sooner of both": {
			on: early, group: members, minutes: 30, now: "17:00", start: "19:01",
			closes: "18:00",
		},
		"an open end, as the lane closes": {on: early, minutes: 15, openEnd: 30, now: "17:00", start: "17:30"},
		"an open end, a minute later": {
			on: early, minutes: 15, openEnd: 30, now: "17:00", start: "17:31",
			closes: "18:00",
		},
		"an open end that is late already": {on: early, minutes: 30, openEnd: 90, now: "17:00", start: "17:45"},
		"it would begin after closing":     {on: early, minutes: 30, now: "17:00", start: "18:30", closes: "18:00"},
		"the next morning":                 {on: early, minutes: 30, now: "17:00", start: "33:00"},
		"before the next morning":          {on: early, minutes: 30, now: "17:00", start: "32:59", closes: "18:00"},
		"it is late already, to tomorrow":  {on: early, minutes: 60, now: "17:59", start: "41:30"},
		"it is late already":               {on: early, minutes: 90, now: "17:00", start: "17:30"},
		"it was in time when it was sold":  {on: early, minutes: 60, now: "17:01", start: "17:30"},
		"it is closed":                     {on: early, minutes: 60, now: "18:30", start: "18:45"},
		"between two openings of a day":    {on: split, minutes: 30, now: "16:00", start: "17:05", closes: "17:00"},
		"in the second opening":            {on: split, minutes: 30, now: "16:00", start: "17:45", closes: "18:00"},
		"at an opening that is too short":  {on: split, minutes: 50, now: "16:00", start: "17:15", closes: "18:00"},
		"behind the second opening":        {on: split, minutes: 30, now: "16:00", start: "18:30", closes: "18:00"},
		"in the third opening":             {on: split, minutes: 60, now: "16:00", start: "19:00"},
		"a lane that is always open": {
			on: lanes.Lane{Accessible: true, Usable: true}, minutes: 480,
			now: "17:00", start: "41:00",
		},
		"now, a minute before it is closed": {on: early, minutes: 1, now: "17:59", start: "17:59"},
	} {
		t.Run(name, func(t *testing.T) {
			sale := lanes.Create{
				Session: uuid.UUID{9}, Group: c.group, Minutes: c.minutes, OpenEnd: c.openEnd,
				AfterClosing: true,
			}
			sold, err := c.on.Decide(at("16:00"), sale)
			require.NoError(t, err)
			schedule := lanes.Schedule{Session: sale.Session, Start: lanes.Start{ID: uuid.UUID{1}, At: at(c.start)}}
			change, err := sold.Lane.Decide(at(c.now), schedule)
			anyway := schedule
			anyway.AfterClosing = true
			byStaff, ofStaff := sold.Lane.Decide(at(c.now), anyway)
			require.NoError(t, ofStaff, "staff may")
			require.Equal(t, at(c.start), byStaff.Lane.Session.Start.At)
			require.Equal(t, c.closes != "", lanes.Did("sam", at(c.now), sold.Lane, anyway, byStaff).AfterClosing)
			if c.closes == "" {
				require.NoError(t, err)
				require.Equal(t, at(c.start), change.Lane.Session.Start.At)
				return
			}
			require.ErrorIs(t, err, lanes.ErrAfterClosing)
			var refusal *lanes.StartAfterClosing
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, at(c.closes).Wall, refusal.Closes)
			require.Equal(t, []uuid.UUID{sale.Session}, refusal.Sessions)
		})
	}
}

// The start of several sessions is refused once, for all of those that would end after closing.
func TestTheRefusalOfAStartNamesEverySession(t *testing.T) {
	first, second := uuid.UUID{1}, uuid.UUID{2}
	err := lanes.Refusals{
		nil,
		&lanes.StartAfterClosing{Closes: at("20:00").Wall, Sessions: []uuid.UUID{first}},
		lanes.ErrStartScheduled,
		&lanes.StartAfterClosing{Closes: at("18:00").Wall, Sessions: []uuid.UUID{second}},
	}.OfStart()
	require.Equal(t, &lanes.StartAfterClosing{Closes: at("18:00").Wall, Sessions: []uuid.UUID{first, second}}, err)
	other := lanes.Refusals{nil, lanes.ErrStartScheduled, &lanes.StartAfterClosing{Sessions: []uuid.UUID{second}}}
	require.Equal(t, lanes.ErrStartScheduled, other.OfStart())
}

// What a session may go on beyond its minutes, and what it is about to buy, takes of the room before closing.
// There is no more room than for what a session has at most.
func TestTheRoomOfASession(t *testing.T) {
	for name, c := range map[string]struct {
		closes                      string
		minutes, openEnd, buys, fit int
	}{
		"minutes alone":                      {"12:00", 60, 0, 0, 60},
		"what it is about to buy":            {"12:00", 60, 0, 20, 40},
		"an open end has room for minutes":   {"12:00", 60, 90, 0, 60},
		"and for what it is about to buy":    {"12:00", 60, 90, 20, 40},
		"which may need more than that room": {"12:00", 60, 70, 20, 40},
		"no more than a session has":         {"20:00", 400, 0, 0, 80},
		"less what it is about to buy":       {"20:00", 400, 0, 20, 60},
		"also with an open end":              {"20:00", 400, 430, 0, 80},
		"and with both":                      {"20:00", 400, 430, 20, 60},
	} {
		t.Run(name, func(t *testing.T) {
			lane := lanes.Lane{
				Accessible: true, Usable: true, Purchasing: true,
				Terms: lanes.Terms{Hours: daily("9:00", c.closes)},
			}
			decide := func(command lanes.Command) {
				change, err := lane.Decide(at("10:00"), command)
				require.NoError(t, err)
				lane = change.Lane
			}
			session := uuid.UUID{9}
			decide(lanes.Create{
				Session: session, Minutes: c.minutes, OpenEnd: c.openEnd, AutoStart: true, Purchasing: true,
			})
			if c.buys > 0 {
				decide(lanes.Buy{
					Session: session, Purchase: uuid.UUID{8}, Items: []lanes.Item{{ID: lanes.TimeItem, Qty: c.buys}},
				})
			}
			require.Equal(t, c.fit, lane.Room(at("10:00")))
		})
	}
}

// A sale that staff decide to make is on record as past closing if it ends a minute later, and not if it ends
// with it.
func TestTheRecordOfASalePastClosing(t *testing.T) {
	lane := lanes.Lane{Accessible: true, Usable: true, Terms: lanes.Terms{Hours: daily("9:00", "12:00")}}
	for minutes, past := range map[int]bool{120: false, 121: true} {
		sale := lanes.Create{
			Session: uuid.UUID{9}, Minutes: minutes, AutoStart: true, ByStaff: true, AfterClosing: true,
		}
		change, err := lane.Decide(at("10:00"), sale)
		require.NoError(t, err)
		require.Equal(t, past, lanes.Did("sam", at("10:00"), lane, sale, change).AfterClosing, minutes)
	}
}
