package lanes_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// The steps of a story about reservations. A sale names its token with reservation=.
//
//	reserve token=a for=3m     under its own id; minutes= of what is to be sold
//	end-reservation token=a    by whoever knows its id

// reservationCommand is the command of a step about reservations, nil for another step.
func (s *story) reservationCommand(t *testing.T, d *datadriven.TestData) lanes.Command {
	token, minutes := word(t, d, "token"), 0
	d.MaybeScanArgs(t, "minutes", &minutes)
	switch id := uuid.NewSHA1(uuid.Nil, []byte(token)); d.Cmd {
	case "reserve":
		return lanes.Reserve{Reservation: &lanes.Reservation{
			ID: id, Token: lanes.TokenDigest(token), By: "north till", Made: s.now, Term: s.duration(t, d, "for"),
			Minutes: minutes,
		}}
	case "end-reservation":
		return lanes.EndReservation{Reservation: id}
	}
	return nil
}

// For any commands in any order, with any time between them, crashes and any setting of the wall clock: a lane that
// is reserved is sold to nobody but the holder of the token, who always gets it, and is not reserved twice.
func TestAReservedLaneIsTheHoldersAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &reservationModel{now: lanes.Instant{
			Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC),
			Mono: 100 * time.Hour,
		}, boot: "boot"}
		for i := range m.lanes {
			m.lanes[i] = lanes.Lane{
				ID: uuid.New(), Accessible: true, Usable: true,
				Terms: lanes.Terms{ClearAfter: clearAfter, ClearFirst: true},
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				i, token := m.lane(t), rapid.StringMatching(`[ab]`).Draw(t, "token")
				r := &lanes.Reservation{
					ID: uuid.New(), Token: lanes.TokenDigest(token), Made: m.now,
					Term: time.Duration(rapid.Int64Range(int64(lanes.MinReserved),
						int64(lanes.MaxReserved)).Draw(t, "term")),
				}
				sellable := m.lanes[i].Session == nil && m.lanes[i].ForSale() && m.lanes[i].Usable &&
					m.lanes[i].ToClear(m.now) == 0
				err := m.decide(t, i, lanes.Reserve{Reservation: r})
				require.Equal(t, sellable && m.left[i] <= 0, err == nil, "%v", err)
				if err == nil {
					m.id[i], m.token[i], m.left[i] = r.ID, token, r.Term
				}
			},
			"create": func(t *rapid.T) {
				i, token := m.lane(t), rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "token")
				staff := rapid.Bool().Draw(t, "by staff")
				lane := m.lanes[i]
				err := m.decide(t, i, lanes.Create{Session: uuid.New(), Minutes: 1, AutoStart: true, ByStaff: staff &&
					token == "", Reservation: token})
				switch reserved := m.left[i] > 0; {
				case lane.Session != nil:
					require.ErrorIs(t, err, lanes.ErrLaneOccupied)
				case reserved && token != m.token[i]:
					var refusal *lanes.ReservedError
					require.ErrorAs(t, err, &refusal)
					require.Equal(t, m.now.Wall.Add(m.left[i]).UTC(), refusal.Until)
				case reserved && !lane.ForSale():
					require.ErrorIs(t, err, lanes.ErrLaneNotAccessible, "staff have decided so")
				case reserved:
					require.NoError(t, err, "whatever has become of the hardware")
				case token != "" && token != m.token[i]:
					require.ErrorIs(t, err, lanes.ErrReservationOver)
				default: // as if it had not been reserved
					staff = staff && token == ""
					sold := lane.Usable && (staff || lane.ForSale() && lane.ToClear(m.now) == 0)
					require.Equal(t, sold, err == nil, "%v", err)
				}
				if err == nil {
					m.forget(i)
				}
			},
			"move": func(t *rapid.T) {
				i := m.lane(t)
				to, err := m.lanes[1-i].AwaitMove(m.now, lanes.ByStaff)
				if m.left[1-i] > 0 && m.lanes[1-i].Session == nil {
					require.ErrorIs(t, err, lanes.ErrLaneReserved)
				}
				if s := m.lanes[i].Session; err == nil && s != nil &&
					m.decide(t, i, lanes.Move{Session: s.ID, To: to}) == nil {
					m.forget(1 - i)
				}
			},
			"end": func(t *rapid.T) {
				i, id := m.lane(t), uuid.New()
				if rapid.Bool().Draw(t, "its own") {
					id = m.id[i]
				}
				require.NoError(t, m.decide(t, i, lanes.EndReservation{Reservation: id}))
				if id == m.id[i] {
					m.forget(i)
				}
			},
			"offer": func(t *rapid.T) {
				require.NoError(t, m.decide(t, m.lane(t),
					lanes.Offer{Sale: rapid.SampledFrom([]lanes.Sale{lanes.OnSale, lanes.OffSale}).Draw(t, "sale")}))
			},
			"hold":    func(t *rapid.T) { require.NoError(t, m.decide(t, m.lane(t), lanes.Hold{})) },
			"release": func(t *rapid.T) { require.NoError(t, m.decide(t, m.lane(t), lanes.Release{})) },
			"stop": func(t *rapid.T) {
				if i := m.lane(t); m.lanes[i].Session != nil {
					require.NoError(t, m.decide(t, i, lanes.Stop{Session: m.lanes[i].Session.ID, By: lanes.ByPOS}))
				}
			},
			"hardware": func(t *rapid.T) { m.lanes[m.lane(t)].Usable = rapid.Bool().Draw(t, "usable") },
			"time goes by": func(t *rapid.T) {
				passed := time.Duration(rapid.Int64Range(0, int64(5*time.Minute)).Draw(t, "for"))
				m.now = m.now.Add(passed)
				for i := range m.left {
					m.left[i] = max(0, m.left[i]-passed)
					m.expire(t, i)
				}
			},
			"wall clock is set": func(t *rapid.T) {
				m.now.Wall = m.now.Wall.Add(time.Duration(rapid.Int64Range(-1e13, 1e13).Draw(t, "by")))
			},
			"crash": func(t *rapid.T) { m.crash(t) },
			"": func(t *rapid.T) {
				for i, lane := range m.lanes {
					require.Equal(t, m.left[i], lane.ReservedFor(m.now))
					require.Equal(t, m.left[i] > 0, lane.IsReservedBy(m.id[i], m.now))
				}
			},
		})
	})
}

// reservationModel is two lanes, and what their reservations are as counted from outside.
type reservationModel struct {
	now   lanes.Instant
	boot  string
	lanes [2]lanes.Lane

	id    [2]uuid.UUID
	token [2]string        // that the lane takes; empty: none
	left  [2]time.Duration // of the reservation
}

func (m *reservationModel) lane(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "lane") }

func (m *reservationModel) forget(i int) { m.id[i], m.token[i], m.left[i] = uuid.Nil, "", 0 }

// expire ends the session on the lane if its time is used up.
func (m *reservationModel) expire(t *rapid.T, i int) {
	if m.lanes[i].Due(m.now) {
		require.NoError(t, m.decide(t, i, lanes.Expire{}))
	}
}

func (m *reservationModel) decide(t *rapid.T, i int, command lanes.Command) error {
	change, err := m.lanes[i].Decide(m.now, command)
	if err != nil {
		return err
	}
	if change.Lane.Reservation != m.lanes[i].Reservation {
		require.True(t, change.Changes(m.lanes[i]), "it is saved")
	}
	m.lanes[i] = change.Lane
	if change.Other != nil {
		m.lanes[1-i] = *change.Other
	}
	return nil
}

// crash restores both lanes from what is saved, at once: on the same boot of the machine, or another.
func (m *reservationModel) crash(t *rapid.T) {
	before := lanes.Checkpoint{At: m.now, Boot: m.boot}
	if rapid.Bool().Draw(t, "rebooted") {
		m.boot += "+"
		m.now.Mono = time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "up"))
	}
	for i := range m.lanes {
		saved, err := json.Marshal(lanes.Snapshot{Lane: m.lanes[i], Boot: before.Boot})
		require.NoError(t, err)
		var snapshot lanes.Snapshot
		require.NoError(t, json.Unmarshal(saved, &snapshot))
		m.lanes[i] = snapshot.Restore(lanes.Checkpoint{At: m.now, Boot: m.boot}, before).WithUnsaved(m.lanes[i])
	}
}

// The lanes of a range of two bays, as letters: bays change at the stroke, and what is in capitals can be sold.
func TestTheFirstLanesThatFitAreChosen(t *testing.T) {
	for _, story := range []struct {
		lanes    string
		count    int
		adjacent bool
		bay      int // 0: any
		chosen   string
	}{
		{"ABCD/EF", 2, false, 0, "AB"},
		{"aBcD/EF", 2, false, 0, "BD"},
		{"aBcD/EF", 3, false, 0, "BDE"},
		{"aBcD/EF", 2, true, 0, "EF"},
		{"aBCD/EF", 2, true, 0, "BC"},
		{"abcD/Ef", 2, true, 0, ""},
		{"ABCD/EF", 2, false, 2, "EF"},
		{"ABCD/EF", 3, false, 2, ""},
		{"ABCD/EF", 1, true, 2, "E"},
		{"abcd/ef", 1, false, 0, ""},
	} {
		all, now := layoutOf(story.lanes)
		wanted := lanes.Wanted{Count: story.count, Adjacent: story.adjacent}
		if story.bay > 0 {
			wanted.Bay = uuid.UUID{15: byte(story.bay)}
		}
		chosen, err := wanted.Choose(all, now, lanes.Holds{}, nil)
		require.Equal(t, story.chosen, letters(chosen), "%+v", story)
		require.Equal(t, story.chosen == "", errors.Is(err, lanes.ErrNoLanesFit), "%+v", story)
	}
}

// A lane that has refused, and one that staff hold by itself, are passed over.
func TestLanesThatAreNotChosen(t *testing.T) {
	all, now := layoutOf("ABCD")
	held := lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverLane, ID: all[1].ID}, "sam", now.Wall).
		Set(lanes.Scope{Kind: lanes.OverRange}, "sam", now.Wall)
	chosen, err := lanes.Wanted{Count: 2}.Choose(all, now, held, map[uuid.UUID]bool{all[0].ID: true})
	require.NoError(t, err)
	require.Equal(t, "CD", letters(chosen))
}

// Named lanes are all taken, or the first that refuses is named.
func TestNamedLanes(t *testing.T) {
	all, now := layoutOf("AbC")
	chosen, err := lanes.Wanted{Lanes: []uuid.UUID{all[2].ID, all[0].ID}}.Choose(all, now, lanes.Holds{}, nil)
	require.NoError(t, err)
	require.Equal(t, "AC", letters(chosen), "in display order")
	var refused *lanes.OnLane
	_, err = lanes.Wanted{Lanes: []uuid.UUID{all[0].ID, all[1].ID}}.Choose(all, now, lanes.Holds{}, nil)
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, lanes.ErrLaneNotAccessible)
	require.Equal(t, all[1].ID, refused.LaneID())
	stranger := uuid.New()
	_, err = lanes.Wanted{Lanes: []uuid.UUID{all[0].ID, stranger}}.Choose(all, now, lanes.Holds{}, nil)
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, lanes.ErrLaneNotFound)
	require.Equal(t, stranger, refused.LaneID())
}

// Half of the lanes of a range are left for everybody else; the only lane of a range may be reserved.
func TestHowManyLanesATokenReserves(t *testing.T) {
	require.Equal(t, []int{1, 1, 2, 5, 50}, []int{
		lanes.MostReserved(1), lanes.MostReserved(2), lanes.MostReserved(3), lanes.MostReserved(10),
		lanes.MostReserved(100),
	})
}

// layoutOf returns a range's lanes: capitals can be sold, others are closed for sale.
func layoutOf(text string) (all []lanes.LaneStatus, now lanes.Instant) {
	bay := byte(1)
	for _, name := range text {
		if name == '/' {
			bay++
			continue
		}
		open := name < 'a'
		id := uuid.UUID{15: byte(name)}
		all = append(all, lanes.LaneStatus{
			Place: lanes.Place{ID: id, Bay: uuid.UUID{15: bay}},
			Lane:  lanes.Lane{ID: id, Accessible: open, Usable: true},
		})
	}
	return all, lanes.Instant{Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)}
}

func letters(chosen []uuid.UUID) (text string) {
	for _, id := range chosen {
		text += string(rune(id[15]))
	}
	return text
}

// The token of a reservation that is over promises nothing: what has become of the lane's hardware counts as for
// anybody.
func TestAReservationThatIsOverPromisesNothing(t *testing.T) {
	lane := lanes.Lane{ID: uuid.New(), Accessible: true, Reservation: &lanes.Reservation{
		ID: uuid.New(), Token: lanes.TokenDigest("a"), Made: at("12:00"), Term: time.Minute,
	}}
	sale := lanes.Create{Session: uuid.New(), Minutes: 30, Reservation: "a"}
	_, err := lane.Decide(lanes.Instant{Wall: at("12:01").Wall.Add(-1), Mono: at("12:01").Mono - 1}, sale)
	require.NoError(t, err)
	_, err = lane.Decide(at("12:01"), sale)
	require.ErrorIs(t, err, lanes.ErrLaneNotUsable)
}
