package lanes_test

import (
	"encoding/binary"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

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
				Session: uuid.New(), Group: uuid.New(), Customer: "Jo", Minutes: 45, Purchasing: tc.asked, AutoStart: true,
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

// An event's id is made of its number in the session. A gateway that takes over a record with three events goes on with the
// fourth: an integrator who drops repeats by id drops none of the next.
func TestEventsAreNumberedFromWhereTheRecordStopped(t *testing.T) {
	session := uuid.New()
	saved, err := json.Marshal(map[string]any{
		"session": map[string]any{
			"session_id": session, "sold_ns": time.Hour, "left_ns": time.Hour, "phase": lanes.Running, "facts": 3,
		},
	})
	require.NoError(t, err)
	var lane lanes.Lane
	require.NoError(t, json.Unmarshal(saved, &lane))
	for number := uint64(4); number < 7; number++ {
		change, err := lane.Decide(lanes.Instant{}, lanes.Modify{Session: session, Minutes: 1})
		require.NoError(t, err)
		require.Len(t, change.Events, 1)
		require.Equal(t, uuid.NewSHA1(session, binary.BigEndian.AppendUint64(nil, number)), change.Events[0].ID)
		lane = change.Lane
	}
}

// Two sessions may have bought under the same id, which a lane screen makes up.
func TestAPurchaseIsFoundByItsSessionAndItsID(t *testing.T) {
	one, another := uuid.New(), uuid.New()
	first := &lanes.Purchase{ID: uuid.New(), Session: one, Phase: lanes.Unresolved}
	second := &lanes.Purchase{ID: uuid.New(), Session: another, Phase: lanes.Unresolved}
	again := &lanes.Purchase{ID: first.ID, Session: another, Phase: lanes.Unresolved}
	lane := lanes.Lane{Open: []*lanes.Purchase{first, second, again}}
	require.Same(t, first, lane.Holding(one, first.ID))
	require.Same(t, second, lane.Holding(another, second.ID))
	require.Same(t, again, lane.Holding(another, first.ID))
	require.Nil(t, lane.Holding(one, second.ID))
	require.Nil(t, lane.Holding(uuid.New(), first.ID))
}

// Staff and the gateway see to what is open: what the lane keeps, and what its session is buying just now.
func TestTheOpenPurchasesOfALane(t *testing.T) {
	kept := &lanes.Purchase{ID: uuid.New(), Phase: lanes.Unresolved}
	pending := &lanes.Purchase{ID: uuid.New(), Phase: lanes.Pending}
	accepted := &lanes.Purchase{ID: uuid.New(), Phase: lanes.Accepted}
	for name, tc := range map[string]struct {
		session *lanes.Session
		want    []*lanes.Purchase
	}{
		"free":                      {nil, []*lanes.Purchase{kept}},
		"nothing bought":            {&lanes.Session{}, []*lanes.Purchase{kept}},
		"a purchase under way":      {&lanes.Session{Purchase: pending}, []*lanes.Purchase{kept, pending}},
		"a purchase that has ended": {&lanes.Session{Purchase: accepted}, []*lanes.Purchase{kept}},
	} {
		lane := lanes.Lane{Session: tc.session, Open: []*lanes.Purchase{kept}}
		require.Equal(t, tc.want, lane.Purchases(), name)
	}
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

func TestAnyStatusIsAnAnswer(t *testing.T) {
	require.True(t, lanes.Attempt{Status: 204}.Answered())
	require.True(t, lanes.Attempt{Status: 500, Error: lanes.Refused}.Answered())
	require.False(t, lanes.Attempt{Error: lanes.TimedOut}.Answered())
	require.False(t, lanes.Attempt{Error: lanes.NoWebhook}.Answered())
}
