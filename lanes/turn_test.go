package lanes_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// For any commands on two lanes in any order, over restarts, reboots and settings of the wall clock: a session
// that begins has on record, to the nanosecond, for how long its lane was free or waiting for a customer since
// the session before it, less what was under a hold or not for sale. The model beside the lanes adds up the
// time as it goes by.
func TestTurnTimeIsWhatALaneHasWaited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newTurnModel()
		which := func(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "lane") }
		age := func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "ago"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				m.decide(t, which(t), lanes.Create{
					Session: uuid.New(), Minutes: rapid.IntRange(1, 60).Draw(t, "minutes"),
					AutoStart: rapid.Bool().Draw(t, "auto-start"), ByStaff: rapid.Bool().Draw(t, "by staff"),
					Grace: rapid.Bool().Draw(t, "grace"),
				})
			},
			"enter": func(t *rapid.T) {
				i := which(t)
				m.decide(t, i, lanes.Enter{Session: m.session(i), Age: min(age(t), m.waits[i].known)})
			},
			"pause": func(t *rapid.T) { i := which(t); m.decide(t, i, lanes.Pause{Session: m.session(i)}) },
			"stop": func(t *rapid.T) {
				i := which(t)
				m.decide(t, i,
					lanes.Stop{Session: m.session(i), By: lanes.ByPOS})
			},
			"expire":  func(t *rapid.T) { m.decide(t, which(t), lanes.Expire{}) },
			"reopen":  func(t *rapid.T) { i := which(t); m.decide(t, i, lanes.Reopen{Ended: m.waits[i].ended}) },
			"hold":    func(t *rapid.T) { m.decide(t, which(t), lanes.Hold{}) },
			"release": func(t *rapid.T) { m.decide(t, which(t), lanes.Release{}) },
			"offer": func(t *rapid.T) {
				m.decide(t, which(t), lanes.Offer{Sale: rapid.SampledFrom([]lanes.Sale{
					lanes.OnSale, lanes.OffSale,
					lanes.AsConfigured,
				}).Draw(t, "sale")})
			},
			"reload": func(t *rapid.T) {
				i := which(t)
				m.lanes[i].Accessible = rapid.Bool().Draw(t, "accessible")
				m.decide(t, i, lanes.CountTurn{})
			},
			"move": func(t *rapid.T) { m.move(t, which(t)) },
			"time goes by": func(t *rapid.T) {
				m.pass(time.Duration(rapid.Int64Range(0,
					int64(2*time.Hour)).Draw(t, "for")))
			},
			"wall clock is set": func(t *rapid.T) {
				m.now.Wall = m.now.Wall.Add(time.Duration(rapid.Int64Range(-1e13, 1e13).Draw(t, "by")))
			},
			"restart": func(t *rapid.T) { m.restart(t, rapid.Bool().Draw(t, "rebooted")) },
			"":        m.check,
		})
	})
}

// turnModel is two lanes and what each has waited, as counted from outside.
type turnModel struct {
	now   lanes.Instant
	boot  string
	lanes [2]lanes.Lane
	waits [2]waited
}

// waited is what a lane has waited since its last session.
type waited struct {
	underWay bool
	ended    lanes.Ended // the last session
	after    uuid.UUID   // the session that the lane has waited since
	spans    []span      // newest last
	// known is for how long the session has been on the lane: no controller tells of it what was before that.
	known time.Duration
}

// span is time that went by.
type span struct {
	length time.Duration
	counts bool
}

func newTurnModel() *turnModel {
	m := &turnModel{
		now:  lanes.Instant{Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Mono: 100 * time.Hour},
		boot: "a",
	}
	for i := range m.lanes {
		m.lanes[i] = lanes.Lane{
			ID: uuid.New(), Accessible: true, Usable: true,
			Terms: lanes.Terms{Grace: 20 * time.Minute},
		}
	}
	return m
}

func (m *turnModel) session(lane int) uuid.UUID {
	if s := m.lanes[lane].Session; s != nil {
		return s.ID
	}
	return uuid.Max
}

// sellable reports whether a lane could be sold, or waits for its customer.
func sellable(l lanes.Lane) bool { return !l.Held && (l.ForSale() || l.Session != nil) }

// pass lets time go by.
func (m *turnModel) pass(d time.Duration) {
	m.now = m.now.Add(d)
	for i, lane := range m.lanes {
		m.waits[i].spans = append(m.waits[i].spans, span{d, sellable(lane)})
		m.waits[i].known += d
	}
}

// total is what has counted until so long ago.
func (w waited) total(ago time.Duration) (sum time.Duration) {
	for i := len(w.spans) - 1; i >= 0; i-- {
		before := max(0, w.spans[i].length-ago)
		ago = max(0, ago-w.spans[i].length)
		if w.spans[i].counts {
			sum += before
		}
	}
	return sum
}

// decide gives a lane the command, and lets its session expire first where it is due.
func (m *turnModel) decide(t *rapid.T, i int, command lanes.Command) {
	before := m.lanes[i]
	change, err := before.Decide(m.now, command)
	if errors.Is(err, lanes.ErrDue) {
		m.decide(t, i, lanes.Expire{})
		m.decide(t, i, command)
		return
	}
	if err != nil {
		return
	}
	m.lanes[i] = change.Lane
	w := &m.waits[i]
	if reopen, ok := command.(lanes.Reopen); ok && w.after == reopen.Ended.Session.ID {
		w.underWay = false
	}
	if s := change.Lane.Session; s != nil && s.Began != nil && (before.Session == nil || before.Session.Began == nil) {
		m.began(t, i, change)
	}
	if change.Ended == nil {
		return
	}
	w.ended = *change.Ended
	if change.Ended.Session.Began != nil {
		ago := time.Duration(0)
		if expiry, found := before.NextExpiry(); found {
			if deadline, running := before.Deadline(); running && before.Session.Grace {
				expiry = deadline.Add(before.Grace)
			}
			ago = max(0, m.now.Since(expiry))
		}
		*w = waited{
			underWay: true, ended: *change.Ended, after: change.Ended.Session.ID,
			spans: []span{{ago, sellable(change.Lane)}},
		}
	}
}

// began compares what the session that has begun has on record with what its lane has waited.
func (m *turnModel) began(t *rapid.T, i int, change lanes.Change) {
	w, s := &m.waits[i], change.Lane.Session
	if !w.underWay {
		require.Nil(t, change.Turn)
		require.Nil(t, s.Turn)
		return
	}
	w.underWay = false
	turn := w.total(m.now.Since(*s.Began))
	require.Equal(t, turn, *change.Turn)
	require.Equal(t, turn, *s.Turn)
	require.Equal(t, lanes.TurnTime{At: s.Began.Wall, Took: turn}, *change.Lane.LastTurn)
}

// move takes the session of a lane to the other one.
func (m *turnModel) move(t *rapid.T, i int) {
	to, err := m.lanes[1-i].AwaitMove(m.now, lanes.ByStaff)
	if err != nil || m.lanes[i].Due(m.now) {
		return
	}
	change, err := m.lanes[i].Decide(m.now, lanes.Move{Session: m.session(i), To: to})
	if err != nil {
		return
	}
	m.lanes[i], m.lanes[1-i] = change.Lane, *change.Other
	require.Nil(t, change.Turn)
	m.waits[1-i].known = 0
	if s := change.Other.Session; s.Began != nil {
		m.waits[i].underWay, m.waits[i].after, m.waits[i].spans = true, s.ID, nil
		m.waits[1-i].underWay = false
	}
}

// restart saves both lanes and restores them a minute later.
func (m *turnModel) restart(t *rapid.T, rebooted bool) {
	last := lanes.Checkpoint{At: m.now, Boot: m.boot}
	boot, before := m.boot, m.lanes
	m.pass(time.Minute)
	if rebooted {
		m.boot += "+"
		m.now.Mono = 100*time.Hour + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "up for"))
	}
	for i, lane := range before {
		saved, err := json.Marshal(lanes.Snapshot{Lane: lane, Boot: boot})
		require.NoError(t, err)
		var snapshot lanes.Snapshot
		require.NoError(t, json.Unmarshal(saved, &snapshot))
		m.lanes[i] = snapshot.Restore(lanes.Checkpoint{At: m.now, Boot: m.boot}, last).WithUnsaved(lane)
	}
}

func (m *turnModel) check(t *rapid.T) {
	for i, lane := range m.lanes {
		require.False(t, lane.TurnStale())
		require.Equal(t, m.waits[i].underWay, lane.Turn != nil)
		if lane.Turn != nil {
			require.Equal(t, m.waits[i].after, lane.Turn.After)
			require.Equal(t, m.waits[i].total(0), lane.Turn.Time(m.now, nil))
		}
	}
}

// The figures are of today: what lanes wait now, and their newest turns of the last twelve hours.
func TestTurnFiguresOfARange(t *testing.T) {
	now := lanes.Instant{Wall: time.Date(2026, 5, 1, 22, 0, 0, 0, time.UTC), Mono: 100 * time.Hour}
	lane := func(waits, took, ago time.Duration, counts bool) lanes.Lane {
		l := lanes.Lane{LastTurn: &lanes.TurnTime{At: now.Wall.Add(-ago), Took: took}}
		if waits > 0 {
			l.Turn = &lanes.Turn{Counted: waits, Since: now, Counts: counts}
		}
		return l
	}
	var none, all lanes.TurnTimes
	require.Zero(t, none.Figures())
	for _, l := range []lanes.Lane{
		{},
		lane(4*time.Minute, 3*time.Minute, time.Minute, true),
		lane(9*time.Minute, 11*time.Minute, 12*time.Hour, true),
		lane(8*time.Hour, 5*time.Minute, time.Hour, false),
		lane(0, time.Second, 12*time.Hour+1, true),
	} {
		all.Add(l, now)
	}
	require.Equal(t, lanes.TurnFigures{Waiting: 2, Longest: 9 * time.Minute, Turns: 3, Median: 5 * time.Minute},
		all.Figures())
}

// A lane does not wait while its range is closed, and needs nobody to tell it so.
func TestTurnTimeDoesNotCountWhileTheRangeIsClosed(t *testing.T) {
	noon := lanes.Instant{Wall: time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC), Mono: 100 * time.Hour}
	lane := lanes.Lane{Accessible: true, Usable: true}
	for day := range 7 {
		if lane.Hours == nil {
			lane.Hours = &lanes.Hours{Zone: time.UTC}
		}
		lane.Hours.Week[day] = []lanes.Opening{opening("9:00", "22:00")}
	}
	decide := func(at lanes.Instant, command lanes.Command) lanes.Change {
		change, err := lane.Decide(at, command)
		require.NoError(t, err)
		lane = change.Lane
		return change
	}
	decide(noon, lanes.Create{Session: uuid.New(), Minutes: 60, AutoStart: true})
	decide(noon.Add(8*time.Hour), lanes.Expire{}) // it ended at 13:00
	waiting := func(at lanes.Instant) (int, time.Duration) {
		var times lanes.TurnTimes
		times.Add(lane, at)
		figures := times.Figures()
		return figures.Waiting, figures.Longest
	}
	for _, c := range []struct {
		hour    int
		waiting int
		longest time.Duration
	}{{21, 1, 8 * time.Hour}, {23, 0, 9 * time.Hour}, {24 + 8, 0, 9 * time.Hour}, {24 + 10, 1, 10 * time.Hour}} {
		count, longest := waiting(noon.Add(time.Duration(c.hour-12) * time.Hour))
		require.Equal(t, c.waiting, count, c.hour)
		require.Equal(t, c.longest, longest, c.hour)
	}
	change := decide(noon.Add(22*time.Hour), lanes.Create{Session: uuid.New(), Minutes: 60, AutoStart: true})
	require.Equal(t, 10*time.Hour, *change.Turn)
}
