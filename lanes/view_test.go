package lanes_test

import (
	"encoding/binary"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// The POS reads the same of a session in the answer to a command, on the lane, and in the record of its end.
func TestAnAnswerShowsTheSession(t *testing.T) {
	for name, tc := range map[string]struct{ asked, offered, buys bool }{
		"asked for and offered":         {true, true, true},
		"asked for where none is":       {true, false, false},
		"not asked for":                 {false, true, false},
		"neither asked for nor offered": {false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			lane := lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true, Purchasing: tc.offered}
			sale := lanes.Create{
				Session: uuid.New(), Group: uuid.New(), Customer: "Jo", Minutes: 45, Purchasing: tc.asked,
				AutoStart: true,
			}
			begin := lanes.Instant{Wall: noon, Mono: time.Hour}
			later := begin.Add(10 * time.Minute)
			want := lanes.SessionView{
				ID: sale.Session, Lane: lane.ID, Group: sale.Group, Customer: "Jo", Phase: lanes.Running, Minutes: 45,
				Remaining: 45 * time.Minute, Created: noon, Began: &begin.Wall, Purchasing: tc.buys,
			}
			change, err := lane.Decide(begin, sale)
			require.NoError(t, err)
			require.Equal(t, want, *change.Answer)

			want.Remaining = 35 * time.Minute
			require.Equal(t, want, *change.Lane.View(later))

			change, err = change.Lane.Decide(later, lanes.Stop{Session: sale.Session, By: lanes.ByPOS})
			require.NoError(t, err)
			require.Equal(t, want, *change.Answer)
			require.Equal(t, want, *change.Ended.View())
			require.Nil(t, change.Lane.View(later))
		})
	}
}

// An event's id is the UUID of version 5 of its number in the session. A gateway that takes over a record
// goes on with the next number, so that an integrator who drops repeats by id drops no new event.
func TestEventsAreNumberedFromWhereTheRecordStopped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		session := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "session"))
		number := rapid.Uint64().Draw(t, "number of events so far")
		saved, err := json.Marshal(map[string]any{
			"session": map[string]any{
				"session_id": session, "sold_ns": time.Hour, "left_ns": time.Hour, "phase": lanes.Running,
				"facts": number,
			},
		})
		require.NoError(t, err)
		var lane lanes.Lane
		require.NoError(t, json.Unmarshal(saved, &lane))
		for range 3 {
			number++
			change, err := lane.Decide(lanes.Instant{}, lanes.Modify{Session: session, Minutes: 1})
			require.NoError(t, err)
			require.Len(t, change.Events, 1)
			require.Equal(t, uuid.NewSHA1(session, binary.BigEndian.AppendUint64(nil, number)), change.Events[0].ID)
			lane = change.Lane
		}
	})
}

func TestARangeKnowsItsGroups(t *testing.T) {
	members, juniors := uuid.New(), uuid.New()
	layout := lanes.Layout{Groups: []lanes.Group{{ID: members, Name: "Members"}, {ID: juniors, Name: "Juniors"}}}
	require.True(t, layout.HasGroup(members))
	require.True(t, layout.HasGroup(juniors))
	require.False(t, layout.HasGroup(uuid.New()))
	require.False(t, lanes.Layout{}.HasGroup(members))
	one := lanes.Layout{Groups: layout.Groups[:1]}
	require.False(t, one.HasGroup(juniors), "the group of another range")
}

// A reload reaches each lane if it changes a rule for what is sold there, and no lane otherwise.
func TestWhichLayoutsSellAlike(t *testing.T) {
	hours := &lanes.Hours{Zone: time.UTC}
	place := lanes.Place{ID: uuid.UUID{1}, Bay: uuid.UUID{2}}
	layout := lanes.Layout{
		Name: "Hall 1", Purchasing: true,
		Terms: lanes.Terms{ClearAfter: 5 * time.Minute, ClearFirst: true},
	}
	layout.Bays = []lanes.Bay{{ID: place.Bay}, {ID: uuid.UUID{3}}}
	for name, c := range map[string]struct {
		change func(*lanes.Layout)
		alike  bool
	}{
		"the same":           {func(*lanes.Layout) {}, true},
		"another name":       {func(l *lanes.Layout) { l.Name = "Hall 2" }, true},
		"another currency":   {func(l *lanes.Layout) { l.Currency = "CHF" }, true},
		"without purchasing": {func(l *lanes.Layout) { l.Purchasing = false }, false},
		"clear later":        {func(l *lanes.Layout) { l.ClearAfter++ }, false},
		"hours of its " +
			"bay": {func(l *lanes.Layout) { l.Bays = []lanes.Bay{{ID: place.Bay, Hours: hours}} }, false},
		"hours of another " +
			"bay": {func(l *lanes.Layout) { l.Bays = []lanes.Bay{{ID: uuid.UUID{3}, Hours: hours}} }, true},
		"hours of a group": {
			func(l *lanes.Layout) { l.GroupHours = map[uuid.UUID]*lanes.Hours{{4}: hours} },
			false,
		},
		"another grace":           {func(l *lanes.Layout) { l.Grace++ }, false},
		"sold before it is clear": {func(l *lanes.Layout) { l.ClearFirst = false }, false},
		"all of these": {func(l *lanes.Layout) {
			l.Purchasing, l.ClearAfter, l.ClearFirst = false,
				0, false
		}, false},
		"all but how long clearing lasts": {func(l *lanes.Layout) { l.Purchasing, l.ClearFirst = false, false }, false},
	} {
		other := layout
		c.change(&other)
		require.Equal(t, c.alike, layout.SellsAs(other, place), name)
		require.Equal(t, c.alike, other.SellsAs(layout, place), name)
	}
}

// A session that the POS gave nothing to know it by has no external id.
func TestTheExternalIDOfASession(t *testing.T) {
	var none *lanes.Correlation
	require.Empty(t, none.IDOrNone())
	require.Empty(t, (&lanes.Correlation{Metadata: map[string]string{"till": "2"}}).IDOrNone())
	require.Equal(t, "A-17", (&lanes.Correlation{ExternalID: "A-17"}).IDOrNone())
}

// An answer whose body was left to the store, and is not there either, is lost. An answer may have no body.
func TestWhichAnswersAreLost(t *testing.T) {
	for name, c := range map[string]struct {
		kept lanes.KeptAnswer
		lost bool
	}{
		"it is there":            {lanes.KeptAnswer{Status: 201, Body: "{}"}, false},
		"it was left to a store": {lanes.KeptAnswer{Status: 201, Body: "{}"}.Shed(), true},
		"it has no body":         {lanes.KeptAnswer{Status: 204}, false},
		"it had none to leave":   {lanes.KeptAnswer{Status: 204}.Shed(), false},
	} {
		require.Equal(t, c.lost, c.kept.IsLost(), name)
	}
}

func TestAnyStatusIsAnAnswer(t *testing.T) {
	require.True(t, lanes.Attempt{Status: 204}.Answered())
	require.True(t, lanes.Attempt{Status: 500, Error: lanes.Refused}.Answered())
	require.False(t, lanes.Attempt{Error: lanes.TimedOut}.Answered())
	require.False(t, lanes.Attempt{Error: lanes.NoWebhook}.Answered())
}
