package lanes_test

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// For any commands in any order, with any time between them and any setting of the wall clock: no paid time
// is lost or made, and every purchase ends once. The model beside the lane counts the time that ran from the
// phases alone.
func TestPaidTimeIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		actions := map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				m.decide(t, lanes.Create{
					Session: uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "session")), Customer: "Jo",
					Minutes: rapid.IntRange(-1, 500).Draw(t, "minutes"), AutoStart: rapid.Bool().Draw(t, "auto-start"),
					Purchasing: rapid.IntRange(0, 4).Draw(t, "purchasing") > 0,
					ByStaff:    rapid.Bool().Draw(t, "by staff"),
					Grace:      rapid.Bool().Draw(t, "grace"),
					OpenEnd:    rapid.SampledFrom([]int{0, 0, 120, 480, 481}).Draw(t, "open end"),
					WarnAt: rapid.SampledFrom([][]time.Duration{
						nil, nil,
						{},
						{7 * time.Minute},
						{3 * time.Hour, time.Minute},
					}).Draw(t, "warn at"),
				})
			},
			"enter": func(t *rapid.T) {
				m.decide(t, lanes.Enter{Session: m.session(t), Age: m.age(t)})
			},
			"pause":   func(t *rapid.T) { m.decide(t, lanes.Pause{Session: m.session(t)}) },
			"resume":  func(t *rapid.T) { m.decide(t, lanes.Resume{Session: m.session(t)}) },
			"hold":    func(t *rapid.T) { m.decide(t, lanes.Hold{}) },
			"release": func(t *rapid.T) { m.decide(t, lanes.Release{}) },
			"modify": func(t *rapid.T) {
				m.decide(t, lanes.Modify{Session: m.session(t), Minutes: rapid.IntRange(-490, 490).Draw(t, "minutes")})
			},
			"set duration": func(t *rapid.T) {
				m.decide(t, lanes.SetDuration{
					Session: m.session(t),
					Minutes: rapid.IntRange(0, 490).Draw(t, "minutes"),
				})
			},
			"stop": func(t *rapid.T) { m.decide(t, lanes.Stop{Session: m.session(t), By: lanes.ByStaff}) },
			"another grace": func(t *rapid.T) {
				m.lane.Grace = rapid.SampledFrom([]time.Duration{0, 2 * time.Minute, time.Hour}).
					Draw(t, "grace of the range")
				m.lane.GraceForAll = rapid.Bool().Draw(t, "grace for all")
				m.spare.Terms = m.lane.Terms
			},
			"expire":    func(t *rapid.T) { m.decide(t, lanes.Expire{}) },
			"warn":      func(t *rapid.T) { m.decide(t, lanes.Warn{}) },
			"go beyond": func(t *rapid.T) { m.decide(t, lanes.GoBeyond{}) },
			"link lost": func(t *rapid.T) { m.loseLink(t) },
			"link up":   func(t *rapid.T) { m.linkUp(t) },
			"schedule": func(t *rapid.T) {
				m.decide(t, lanes.Schedule{
					Session: m.session(t),
					Start:   lanes.Start{ID: m.start(t), At: m.now.Add(m.age(t))},
				})
			},
			"unschedule": func(t *rapid.T) { m.decide(t, lanes.Unschedule{Session: m.session(t), Start: m.start(t)}) },
			"begin":      func(t *rapid.T) { m.decide(t, lanes.Begin{}) },
			"advance": func(t *rapid.T) {
				if m.lane.Unproven != nil { // a playground's hardware is reached
					return
				}
				m.decide(t, lanes.Advance{
					Session: m.session(t),
					By:      time.Duration(rapid.Int64Range(1, int64(9*time.Hour)).Draw(t, "by")),
				})
			},
			"report": func(t *rapid.T) {
				m.decide(t, lanes.Report{
					Log: lanes.Log{
						ID:  rapid.SampledFrom([]string{"a", "b"}).Draw(t, "log"),
						Seq: rapid.Uint64Range(1, 20).Draw(t, "seq"),
					},
					Kind: rapid.SampledFrom([]string{"entered", "help", "carrier_hit", "cleared", "?"}).
						Draw(t, "kind"),
					Session: m.session(t), Age: m.age(t),
				})
			},
			"offer": func(t *rapid.T) {
				m.decide(t, lanes.Offer{Sale: rapid.SampledFrom([]lanes.Sale{
					lanes.OnSale, lanes.OffSale,
					lanes.AsConfigured,
				}).Draw(t, "sale")})
			},
			"call help":   func(t *rapid.T) { m.decide(t, lanes.CallHelp{}) },
			"help coming": func(t *rapid.T) { m.decide(t, lanes.HelpComing{}) },
			"help done":   func(t *rapid.T) { m.decide(t, lanes.HelpDone{}) },
			"cleared":     func(t *rapid.T) { m.decide(t, lanes.Cleared{}) },
			"hit noted":   func(t *rapid.T) { m.decide(t, lanes.HitNoted{}) },
			"make up": func(t *rapid.T) {
				m.decide(t,
					lanes.MakeUp{Session: m.session(t), Give: rapid.Bool().Draw(t, "give")})
			},
			"opened late": func(t *rapid.T) { m.openedLate(t) },
			"move":        func(t *rapid.T) { m.move(t) },
			"its time is used up, or its grace": func(t *rapid.T) {
				if expiry, found := m.lane.NextExpiry(); found && m.now.Before(expiry) {
					m.pass(expiry.Since(m.now) + time.Duration(rapid.Int64Range(0, int64(6*time.Minute)).Draw(t,
						"and so long ago")))
					m.decide(t, lanes.Expire{})
				}
			},
			"a little time goes by": func(t *rapid.T) {
				m.pass(time.Duration(rapid.Int64Range(0, int64(3*time.Minute)).Draw(t, "for a little")))
			},
			"time goes by": func(t *rapid.T) {
				m.pass(time.Duration(rapid.Int64Range(0,
					int64(3*time.Hour)).Draw(t, "for")))
			},
			"wall clock is set": func(t *rapid.T) {
				m.now.Wall = m.now.Wall.Add(time.Duration(rapid.Int64Range(-1e13, 1e13).Draw(t, "by")))
			},
			"crash and recovery": func(t *rapid.T) { m.crash(t) },
			"":                   m.check,
		}
		maps.Copy(actions, m.purchaseActions())
		t.Repeat(actions)
	})
}

// model is two lanes, and the time that ran for the sessions on them as counted from outside.
type model struct {
	now       lanes.Instant
	lane      lanes.Lane // takes the commands
	spare     lanes.Lane
	ran       time.Duration // for the session on lane
	other     time.Duration // for the session on spare
	ended     map[uuid.UUID]int
	facts     map[uuid.UUID][]lanes.Kind
	events    map[uuid.UUID]bool // ids
	purchases *purchaseModel
	warnings  warningModel
	graces    graceModel
	openEnds  openEndModel
}

func newModel() *model {
	lane := func() lanes.Lane {
		return lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true, Purchasing: true, Terms: lanes.Terms{
			ClearAfter: clearAfter, ClearFirst: true, Warnings: []time.Duration{
				time.Minute, time.Hour,
				10 * time.Minute,
			}, TellsExpired: true,
			Grace: 5 * time.Minute,
		}}
	}
	return &model{
		now:  lanes.Instant{Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Mono: 100 * time.Hour},
		lane: lane(), spare: lane(), ended: map[uuid.UUID]int{}, facts: map[uuid.UUID][]lanes.Kind{},
		events:    map[uuid.UUID]bool{},
		purchases: newPurchaseModel(),
		warnings:  warningModel{},
		graces:    graceModel{},
		openEnds:  openEndModel{},
	}
}

func (m *model) session(t *rapid.T) uuid.UUID {
	switch another := rapid.IntRange(0, 20).Draw(t, "another"); {
	case another == 1:
		return uuid.Nil
	case another == 0, m.lane.Session == nil:
		return uuid.Max
	}
	return m.lane.Session.ID
}

func (m *model) start(t *rapid.T) uuid.UUID {
	return rapid.SampledFrom([]uuid.UUID{{1}, {2}}).Draw(t, "start")
}

func (m *model) age(t *rapid.T) time.Duration {
	return time.Duration(rapid.Int64Range(-1e9, int64(time.Hour)).Draw(t, "age"))
}

// pass lets time go by.
func (m *model) pass(d time.Duration) {
	m.now = m.now.Add(d)
	m.run(&m.ran, m.lane, d)
	m.run(&m.other, m.spare, d)
}

func (m *model) run(ran *time.Duration, lane lanes.Lane, d time.Duration) {
	if lane.Session != nil && lane.Session.Phase == lanes.Running {
		*ran += m.charged(*ran, *lane.Session, d)
	}
}

// decide gives the lane the command, and lets the session expire first where it is due.
func (m *model) decide(t *rapid.T, command lanes.Command) {
	before := m.lane
	change, err := m.lane.Decide(m.now, command)
	if errors.Is(err, lanes.ErrDue) {
		require.True(t, before.Due(m.now))
		m.decide(t, lanes.Expire{})
		m.decide(t, command)
		return
	}
	require.Equal(t, before, m.lane, "a decision changes nothing by itself")
	if err != nil {
		return
	}
	m.follow(t, before, change, command)
}

func (m *model) follow(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command) {
	requireChanges(t, before, change, command)
	m.purchases.follow(t, before, change, command)
	for _, event := range change.Events {
		require.False(t, m.events[event.ID], "every event has an id of its own")
		m.events[event.ID] = true
		m.facts[event.Session] = append(m.facts[event.Session], event.Kind)
	}
	m.warnings.follow(t, before, change, command, m.now)
	m.graces.follow(t, before, change, command, m.now)
	m.lane = change.Lane
	after := change.Lane.Session
	if before.Session == nil && after != nil {
		m.ran = 0
	}
	if after != nil && after.Began != nil && (before.Session == nil || before.Session.Began == nil) && !m.lane.Held {
		m.ran = m.chargedLate(*after) // entered late: it has been running since
	}
	if advance, ok := command.(lanes.Advance); ok {
		m.ran = min(m.ran+advance.By, max(before.Session.Sold, before.Session.OpenEnd))
	}
	m.openEnds.follow(t, before, change, command, m.now)
	if change.Ended != nil {
		m.ended[change.Ended.Session.ID]++
		require.Equal(t, change.Ended.Session.Sold, change.Ended.Used+change.Ended.Session.Left, "used + left = sold")
		require.Equal(t, min(m.ran, change.Ended.Session.Sold), change.Ended.Used,
			"used = the time that ran, of what was sold")
		require.Equal(t, max(0, m.ran-change.Ended.Session.Sold), change.Ended.Beyond-change.Ended.Session.Settled,
			"the rest is owed")
		require.GreaterOrEqual(t, change.Ended.Paused, time.Duration(0))
		m.ran = 0
	}
	m.byCeasefire(t, before, command)
	m.clearing(t, before, change, command)
}

// clearAfter is when the lanes of the model count as clear.
const clearAfter = 20 * time.Minute

// clearing checks that the end of the time, and nothing else, leaves a lane to be cleared, and who may say
// that it is clear, or sell it.
func (m *model) clearing(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command) {
	last := m.lane.Uncleared
	switch cmd := command.(type) {
	case lanes.Cleared:
		require.Nil(t, last)
	case lanes.Create:
		require.True(t, cmd.ByStaff || before.ToClear(m.now) == 0, "the POS sells no lane that is not clear")
	case lanes.Report:
		if before.Uncleared != nil && last == nil {
			require.Equal(t, lanes.ReportCleared, cmd.Kind)
			require.Contains(t, []uuid.UUID{uuid.Nil, before.Uncleared.Session}, cmd.Session)
			require.LessOrEqual(t, cmd.Age, m.now.Since(before.Uncleared.Since), "it is about what came after the end")
		}
	default:
		require.True(t, before.Uncleared == nil || last == before.Uncleared,
			"%s is nobody's word that the lane is clear", command.Name())
	}
	if e := change.Ended; e != nil {
		timeUp := e.Reason == lanes.Expired || e.Reason == lanes.Simulated
		require.Equal(t, timeUp, last != nil)
		if timeUp {
			require.Equal(t, e.Session.ID, last.Session)
			require.Equal(t, max(0, clearAfter-m.now.Since(last.Since)), m.lane.ToClear(m.now))
		}
	}
}

// byCeasefire checks that the end of a hold resumes what the hold paused, and nothing else.
func (m *model) byCeasefire(t *rapid.T, before lanes.Lane, command lanes.Command) {
	if _, released := command.(lanes.Release); !released || before.Session == nil {
		return
	}
	resumed := before.Session.Phase == lanes.Paused && m.lane.Session.Phase == lanes.Running
	require.Equal(t, before.Held && before.Session.Phase == lanes.Paused && before.Session.ByHold, resumed)
}

// openedLate gives time back that was counted while the line was locked.
func (m *model) openedLate(t *rapid.T) {
	s := m.lane.Session
	if s == nil || s.Remaining(m.now) == 0 {
		return
	}
	locked := m.lane.LockedFor(m.now.Add(-m.age(t)), m.now)
	if locked == 0 || locked > s.Used(m.now)-s.RanOn { // no time is given back twice
		return
	}
	m.ran -= locked
	m.decide(t, lanes.OpenedLate{Session: s.ID, Locked: locked})
}

func (m *model) move(t *rapid.T) {
	to, err := m.spare.AwaitMove(m.now, lanes.ByStaff)
	if err != nil || m.lane.Session == nil || m.lane.Due(m.now) {
		return
	}
	change, err := m.lane.Decide(m.now, lanes.Move{Session: m.lane.Session.ID, To: to})
	if to.Unproven != nil && m.lane.Session.HasOpenEnd() {
		require.ErrorIs(t, err, lanes.ErrNoOpenEnd)
		return
	}
	require.NoError(t, err)
	require.Nil(t, change.Lane.Session)
	for _, event := range change.Events {
		m.facts[event.Session] = append(m.facts[event.Session], event.Kind)
	}
	m.lane, m.spare = *change.Other, change.Lane
	m.other = 0
	m.openEnds.forgo()
}

// crash saves the lane and restores it on the same boot. The time that ran while it was down is used, and
// recorded for staff.
func (m *model) crash(t *rapid.T) {
	saved, err := json.Marshal(lanes.Snapshot{Lane: m.lane, Boot: "boot"})
	require.NoError(t, err)
	checkpoint := lanes.Checkpoint{At: m.now, Boot: "boot"}
	if since := m.now; m.lane.Unproven == nil { // nobody sees the hardware any more
		m.lane.Unproven = &since
	}
	down := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "down"))
	m.pass(down)
	var snapshot lanes.Snapshot
	require.NoError(t, json.Unmarshal(saved, &snapshot))
	now := lanes.Checkpoint{At: m.now, Boot: "boot"}
	lane := snapshot.Restore(now, checkpoint).RanOn(checkpoint.Down(now), m.now).Unseen(checkpoint.Down(now), m.now)
	if s := m.lane.Session; s != nil && s.Phase == lanes.Running && s.Remaining(m.now) > 0 && down > time.Minute {
		require.Equal(t, s.RanOn+down, lane.Session.RanOn)
	} else if s != nil {
		require.Equal(t, s.RanOn, lane.Session.RanOn)
	}
	require.Equal(t, m.lane.Uncleared, lane.Uncleared, "who has to leave the lane is not forgotten")
	lane = lane.WithUnsaved(m.lane)
	m.lane = lane
}

// check checks what holds at every instant.
func (m *model) check(t *rapid.T) {
	m.purchases.check(t, m.lane, m.spare)
	m.warnings.check(t, m.lane, m.now)
	m.graces.check(t, m.lane)
	_, deadline := m.lane.Deadline()
	s := m.lane.UnprovenSince(m.lane.Unproven).Session // as every command has it
	require.Equal(t, s != nil && s.Phase == lanes.Running, deadline, "a deadline exactly while running")
	require.True(t, s == nil || m.lane.Uncleared == nil, "a lane that is sold is not to be cleared")
	if s != nil {
		require.LessOrEqual(t, s.RanOn, s.Used(m.now), "nothing ran on that did not run")
		require.GreaterOrEqual(t, s.Remaining(m.now), time.Duration(0), "left is never negative")
		require.Equal(t, s.Sold, s.Used(m.now)+s.Remaining(m.now), "used + left = sold")
		require.Equal(t, min(m.ran, s.Sold), s.Used(m.now), "used = the time that ran, of what was sold")
		m.openEnds.check(t, *s, m.ran, m.now)
		require.False(t, m.lane.Held && s.Phase == lanes.Running, "nothing runs under a hold")
		require.GreaterOrEqual(t, s.Sold, time.Minute)
		require.LessOrEqual(t, s.Sold, 480*time.Minute)
	}
	for id, kinds := range m.facts {
		onLane := s != nil && s.ID == id
		stopped := count(kinds, lanes.SessionStopped)
		require.Equal(t, m.graces[id].reached, count(kinds, lanes.SessionExpired),
			"the end of its time is told once, with its grace or its end")
		require.Equal(t, 1, count(kinds, lanes.SessionCreated))
		require.LessOrEqual(t, count(kinds, lanes.SessionStarted), 1)
		require.Equal(t, m.ended[id], stopped, "one sessionStopped for each end")
		require.True(t, onLane && stopped == 0 || !onLane && stopped == 1, "it is on the lane or has stopped")
		require.Equal(t, lanes.SessionCreated, kinds[0])
		if stopped == 1 {
			require.Equal(t, lanes.SessionStopped, kinds[len(kinds)-1])
		}
	}
}

func count(kinds []lanes.Kind, kind lanes.Kind) (n int) {
	for _, k := range kinds {
		if k == kind {
			n++
		}
	}
	return n
}
