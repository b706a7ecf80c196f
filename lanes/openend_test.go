package lanes_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// openEndModel is what ran of the session on the lane, counted from outside: what of it cannot be proven, and
// what was beyond what was sold.
type openEndModel struct {
	unproven time.Duration // it ran beyond what was sold, and nobody saw whether the line was open
	session  uuid.UUID
	beyond   lanes.Beyond
}

// charged returns how much of the time that goes by a running session is charged.
func (m *model) charged(ran time.Duration, s lanes.Session, d time.Duration) time.Duration {
	bound := max(s.Sold, s.OpenEnd) - ran - m.openEnds.unproven
	d = min(d, bound) // nobody gets more than was sold, or than the bound
	if m.lane.Unproven == nil || !s.HasOpenEnd() {
		return d
	}
	proven := max(0, min(d, s.Sold-ran))
	m.openEnds.unproven += d - proven
	return proven
}

// chargedLate is that of a session that has just begun, some time ago.
func (m *model) chargedLate(s lanes.Session) time.Duration {
	ran := min(m.now.Since(*s.Began), max(s.Sold, s.OpenEnd))
	if m.lane.Unproven == nil || !s.HasOpenEnd() {
		return ran
	}
	proven := min(ran, max(s.Sold, m.lane.Unproven.Since(*s.Began)))
	m.openEnds.unproven = ran - proven
	return proven
}

func (m *model) loseLink(t *rapid.T) {
	if since := m.now; m.lane.Unproven == nil {
		m.lane.Unproven = &since
		if m.lane.Session != nil && m.lane.Due(m.now) {
			m.decide(t, lanes.Expire{})
		}
		if rapid.Bool().Draw(t, "it is put on record") {
			m.decide(t, lanes.LinkLost{})
		}
	}
}

// linkUp is the hello of the hardware, which proves that the line was open for all of the time, or some of it, or
// nothing.
func (m *model) linkUp(t *rapid.T) {
	if m.lane.Unproven == nil {
		return
	}
	if m.lane.Due(m.now) {
		m.decide(t, lanes.Expire{})
	}
	proof := lanes.Proof{
		OpenEnd: rapid.Bool().Draw(t, "can"), Open: rapid.Bool().Draw(t, "open"),
		Session: m.session(t),
	}
	stoodStill := time.Duration(rapid.SampledFrom([]int64{
		0, int64(time.Second), int64(time.Second) + 1,
		int64(20 * time.Minute),
	}).Draw(t, "stood still for"))
	if s := m.lane.Session; s != nil {
		proof.RunsFor = s.RunsFor(m.now) + stoodStill
		if proof.OpenEnd && proof.Open && proof.Session == s.ID {
			if stoodStill <= time.Second {
				stoodStill = 0
			}
			m.ran += m.openEnds.unproven - min(m.openEnds.unproven, stoodStill)
		}
	}
	m.openEnds.unproven = 0
	m.decide(t, lanes.Inspect{Proof: proof})
	if m.lane.Unproven = nil; !proof.OpenEnd {
		since := m.now
		m.lane.Unproven = &since
	}
}

// forgo leaves out what cannot be proven: the clock has stopped, or more was sold.
func (o *openEndModel) forgo() { o.unproven = 0 }

func (o *openEndModel) follow(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command,
	now lanes.Instant,
) {
	s, after := before.Session, change.Lane.Session
	if after == nil || after.Phase != lanes.Running || s != nil && after.Sold != s.Sold {
		o.forgo()
	}
	for _, event := range change.Events {
		require.Equal(t, event.Kind == lanes.SessionStopped && s.HasOpenEnd(), event.Beyond != nil)
		if event.Kind == lanes.SessionBeyond {
			require.False(t, s.GoneBeyond, "it is told once")
			advance, _ := command.(lanes.Advance)
			require.LessOrEqual(t, s.Remaining(now), advance.By, "and then the sold minutes are used up")
		}
	}
	if e := change.Ended; e != nil {
		require.True(t, e.Beyond == 0 || e.Session.GoneBeyond || e.Session.Left > 0 || e.Session.Settled == e.Beyond,
			"that it goes beyond is told before its end")
		require.GreaterOrEqual(t, e.Beyond, o.beyond.Used)
	}
}

// check checks that what is beyond is what ran and was not sold, and never becomes less.
func (o *openEndModel) check(t *rapid.T, s lanes.Session, ran time.Duration, now lanes.Instant) {
	beyond := s.Beyond(now)
	if o.session != s.ID {
		o.session, o.beyond = s.ID, lanes.Beyond{}
	}
	require.Equal(t, max(0, ran-s.Sold), beyond.Owed(), "what ran and was not sold is owed")
	require.GreaterOrEqual(t, beyond.Used, o.beyond.Used, "what was used beyond never becomes less")
	require.GreaterOrEqual(t, beyond.Settled, o.beyond.Settled, "nor what was settled")
	require.GreaterOrEqual(t, beyond.Owed(), time.Duration(0))
	require.LessOrEqual(t, s.Used(now)+beyond.Owed(), max(s.Sold, s.OpenEnd), "nobody gets more than the bound")
	if !s.HasOpenEnd() {
		require.Zero(t, beyond)
	}
	o.beyond = beyond
}

// A jump of a session that goes on beyond its end tells of no time left, although nobody has told of it before.
func TestAJumpBeyondTheEndWarnsOfNothing(t *testing.T) {
	lane, session := openEnded(t)
	jumped, err := lane.Decide(at("12:31"), lanes.Advance{Session: session, By: time.Minute})
	require.NoError(t, err)
	for _, event := range jumped.Events {
		require.NotEqual(t, lanes.SessionEnding, event.Kind)
	}
}

// openEnded is a lane with a session of 30 minutes that goes on up to two hours, sold at 12:00.
func openEnded(t *testing.T) (lane lanes.Lane, session uuid.UUID) {
	t.Helper()
	session = uuid.New()
	sold, err := (lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true}).Decide(at("12:00"), lanes.Create{
		Session: session, Minutes: 30, OpenEnd: 120, AutoStart: true, WarnAt: []time.Duration{time.Minute},
	})
	require.NoError(t, err)
	return sold.Lane, session
}

// awaySince is the lane when its hardware has not been reached since then.
func awaySince(t *testing.T, lane lanes.Lane, since lanes.Instant) lanes.Lane {
	t.Helper()
	lane.Unproven = &since
	lost, err := lane.Decide(since, lanes.LinkLost{})
	require.NoError(t, err)
	return lost.Lane
}

// back is the lane when its hardware is reached again at now, and says how long its line stays open.
func back(t *testing.T, lane lanes.Lane, now lanes.Instant, proof lanes.Proof) lanes.Change {
	t.Helper()
	if proof.OpenEnd {
		lane.Unproven = nil
	}
	change, err := lane.Decide(now, lanes.Inspect{Proof: proof})
	require.NoError(t, err)
	return change
}

// What ran beyond what was sold while nobody saw whether the line was open is not owed: minutes that are sold
// then are all there.
func TestNobodyOwesWhatCannotBeProven(t *testing.T) {
	lane, session := openEnded(t)
	lane = awaySince(t, lane, at("12:20"))
	sold, err := lane.Decide(at("12:50"), lanes.Modify{Session: session, Minutes: 10})
	require.NoError(t, err)
	require.Equal(t, 10*time.Minute, sold.Lane.Session.Remaining(at("12:50")))
	require.Zero(t, sold.Lane.Session.Beyond(at("12:50")))

	owes := lanes.Beyond{Used: 25 * time.Minute, Settled: 10 * time.Minute}
	require.Equal(t, 15*time.Minute, owes.Owed())
}

// A session that moves to a lane whose hardware is reached is proven from then on.
func TestAMoveToHardwareThatIsReached(t *testing.T) {
	lane, session := openEnded(t)
	lane = awaySince(t, lane, at("12:20"))
	to, err := (lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true}).AwaitMove(at("12:50"), lanes.ByPOS)
	require.NoError(t, err)
	moved, err := lane.Decide(at("12:50"), lanes.Move{Session: session, To: to})
	require.NoError(t, err)
	arrived := moved.Other.Session
	require.Nil(t, arrived.Unproven)
	require.Equal(t, 10*time.Minute, arrived.Beyond(at("13:00")).Used, "what ran before the move is not owed")
}

// What the hardware says of its line when it is back counts: for so much longer as it stays open, it was
// closed. What is not counted for that adds up until an event tells it. A second is the clocks' own difference.
func TestWhatTheHardwareProvesOfItsLine(t *testing.T) {
	lane, session := openEnded(t)
	lane = awaySince(t, lane, at("12:20"))
	open := func(now lanes.Instant, longer time.Duration) lanes.Proof {
		return lanes.Proof{OpenEnd: true, Session: session, Open: true, RunsFor: lane.Session.RunsFor(now) + longer}
	}
	exactly := back(t, lane, at("12:50"), open(at("12:50"), time.Second)).Lane.Session
	require.Zero(t, exactly.Uncharged)
	require.Equal(t, 20*time.Minute, exactly.Beyond(at("12:50")).Used)

	lane = back(t, lane, at("12:50"), open(at("12:50"), 5*time.Minute)).Lane
	require.Equal(t, 5*time.Minute, lane.Session.Uncharged)
	require.Equal(t, 15*time.Minute, lane.Session.Beyond(at("12:50")).Used)
	lane = awaySince(t, lane, at("12:50"))
	lane = back(t, lane, at("13:00"), open(at("13:00"), 3*time.Minute)).Lane
	require.Equal(t, 8*time.Minute, lane.Session.Uncharged)
	require.Equal(t, 22*time.Minute, lane.Session.Beyond(at("13:00")).Used)
}

// What the hardware has said counts alike, whether it is saved at once or waits for the store while the session's clock
// is stopped and started, and minutes are added.
func TestWhatWaitsForTheStoreCountsAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		session, now := uuid.UUID{1}, at("12:00")
		sold, err := (lanes.Lane{ID: uuid.UUID{2}, Accessible: true, Usable: true}).Decide(now, lanes.Create{
			Session: session, Minutes: 30, OpenEnd: lanes.MaxMinutes, AutoStart: true,
		})
		require.NoError(t, err)
		saves, waits, linked := sold.Lane, sold.Lane, true
		decide := func(lane lanes.Lane, now lanes.Instant, command lanes.Command) lanes.Change {
			change, err := lane.Decide(now, command)
			require.NoError(t, err)
			return change
		}
		both := func(command lanes.Command) {
			if _, err := saves.Decide(now, command); err == nil {
				saves, waits = decide(saves, now, command).Lane, decide(waits, now, command).Lane
			}
		}
		saveFirst := func(*rapid.T) {
			if len(waits.Heard) > 0 {
				first, rest := waits.Heard[0], waits.Heard[1:]
				waits = decide(waits, first.At, lanes.Inspect{Proof: first.Proof}).Lane
				waits.Unproven, waits.Heard = first.Lost, rest
			}
		}
		pass := func(t *rapid.T, most time.Duration) {
			now = now.Add(time.Duration(rapid.Int64Range(1, int64(most)).Draw(t, "time goes by")))
		}
		pass(t, time.Hour)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			pass(t, 10*time.Minute)
			steps := []func(*rapid.T){
				func(*rapid.T) { both(lanes.Pause{Session: session}) },
				func(*rapid.T) { both(lanes.Resume{Session: session}) },
				func(*rapid.T) { both(lanes.Hold{}) },
				func(*rapid.T) { both(lanes.Release{}) },
				func(*rapid.T) { both(lanes.CallHelp{}) },
				func(*rapid.T) { both(lanes.GoBeyond{}) },
				func(*rapid.T) { both(lanes.Modify{Session: session, Minutes: 5}) },
				func(*rapid.T) { both(lanes.LinkLost{}) },
				saveFirst,
				func(*rapid.T) { // the link is lost
					since := now
					if newest := len(waits.Heard) - 1; linked && newest >= 0 {
						waits.Heard = slices.Clone(waits.Heard)
						waits.Heard[newest].Lost = &since
					} else if linked {
						waits.Unproven = &since
					}
					if linked {
						saves.Unproven, linked = &since, false
					}
				},
				func(t *rapid.T) { // it is back
					if linked {
						return
					}
					said := lanes.Proof{OpenEnd: true, Session: session, Open: rapid.Bool().Draw(t, "open")}
					said.RunsFor = saves.Session.RunsFor(now) +
						time.Duration(rapid.Int64Range(0, int64(5*time.Minute)).Draw(t, "stood still"))
					saves = decide(saves, now, lanes.Inspect{Proof: said}).Lane
					saves.Unproven, linked = nil, true
					waits.Heard = append(slices.Clone(waits.Heard), lanes.Heard{At: now, Proof: said})
				},
			}
			steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")](t)
		}
		if rapid.Bool().Draw(t, "it is saved in the end") {
			for len(waits.Heard) > 0 {
				saveFirst(t)
			}
			both(lanes.LinkLost{})
			require.Equal(t, saves.View(now), waits.View(now))
		}
		stop := lanes.Stop{Session: session, By: lanes.ByPOS}
		require.Equal(t, decide(saves, now, stop).Answer, decide(waits, now, stop).Answer)
	})
}

// A session is stopped before what its hardware has said is saved: the time that it proves counts, and no other.
func TestWhatIsHeardCountsBeforeItIsSaved(t *testing.T) {
	lane, session := openEnded(t)
	lane = awaySince(t, lane, at("12:35"))
	open := func(said string) lanes.Heard {
		runsFor := lane.Session.RunsFor(at(said))
		proof := lanes.Proof{OpenEnd: true, Session: session, Open: true, RunsFor: runsFor}
		return lanes.Heard{At: at(said), Proof: proof}
	}
	closed := func(said string) lanes.Heard { return lanes.Heard{At: at(said), Proof: lanes.Arrived} }
	untilLost := func(heard lanes.Heard, lost string) lanes.Heard {
		heard.Lost = new(at(lost))
		return heard
	}
	briefly := untilLost(open("12:36"), "12:40")
	for name, test := range map[string]struct {
		heard []lanes.Heard
		want  time.Duration
	}{
		"nothing":                       {nil, 5 * time.Minute},
		"its line was open":             {[]lanes.Heard{open("12:40")}, 20 * time.Minute},
		"its line was closed":           {[]lanes.Heard{closed("12:40")}, 15 * time.Minute},
		"it was open, and lost again":   {[]lanes.Heard{untilLost(open("12:40"), "12:45")}, 15 * time.Minute},
		"it is said behind what closes": {[]lanes.Heard{open("12:55")}, 5 * time.Minute},
		"it is said at what closes":     {[]lanes.Heard{open("12:50")}, 20 * time.Minute},
		"open, lost, and open":          {[]lanes.Heard{briefly, open("12:45")}, 20 * time.Minute},
		"open, lost, and closed":        {[]lanes.Heard{briefly, closed("12:45")}, 15 * time.Minute},
	} {
		lane.Heard = test.heard
		change, err := lane.Decide(at("12:50"), lanes.Stop{Session: session, By: lanes.ByPOS})
		require.NoError(t, err, name)
		require.Equal(t, test.want, change.Ended.Beyond, name)
	}
}

// What was heard means nothing to a session that is paused, or has no open end.
func TestWhatIsHeardIsForWhatRunsBeyond(t *testing.T) {
	paused, session := openEnded(t)
	change, err := paused.Decide(at("12:35"), lanes.Pause{Session: session})
	require.NoError(t, err)
	paused = awaySince(t, change.Lane, at("12:36"))
	sold, err := (lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true}).Decide(at("12:00"), lanes.Create{
		Session: session, Minutes: 60, AutoStart: true,
	})
	require.NoError(t, err)
	for name, lane := range map[string]lanes.Lane{"paused": paused, "without": awaySince(t, sold.Lane, at("12:36"))} {
		stop := func(lane lanes.Lane) lanes.Change {
			change, err := lane.Decide(at("12:50"), lanes.Stop{Session: session, By: lanes.ByPOS})
			require.NoError(t, err)
			return change
		}
		silent := stop(lane)
		lane.Heard = []lanes.Heard{{At: at("12:40"), Proof: lanes.Arrived}}
		heard := stop(lane)
		require.Equal(t, silent.Ended, heard.Ended, name)
		require.Equal(t, silent.Events, heard.Events, name)
	}
}

// Hardware that cannot keep a line open beyond what was sold proves nothing: while nothing is to be given back
// the lane stays as it was, and that the session goes beyond is told once.
func TestHardwareThatProvesNothing(t *testing.T) {
	lane, session := openEnded(t)
	lane = awaySince(t, lane, at("12:20"))
	early := back(t, lane, at("12:25"), lanes.Proof{Session: session, Open: true}).Lane.Session
	require.Equal(t, at("12:20"), *early.Unproven)

	change := back(t, lane, at("12:30"), lanes.Proof{Session: session, Open: true})
	require.Equal(t, lanes.SessionBeyond, change.Events[0].Kind)
	require.True(t, change.Lane.Session.GoneBeyond)
}

// A session that goes beyond what was sold is not warned that its time will end, however late somebody looks.
func TestNoWarningBeyondTheEnd(t *testing.T) {
	lane, _ := openEnded(t)
	require.True(t, lane.WarningDue(at("12:29")))
	require.False(t, lane.WarningDue(at("12:30")))
}

// The open end of a session that goes on is what of it was not used, up to the minute; one that was sold whole
// is none.
func TestASessionWithAnOpenEndIsReopened(t *testing.T) {
	for name, test := range map[string]struct {
		added   int
		stop    string
		openEnd time.Duration
	}{
		"up to the minute":     {0, "12:10", 110 * time.Minute},
		"all of it is sold":    {90, "12:10", 0},
		"a part of it is sold": {30, "12:10", 110 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			lane, session := openEnded(t)
			if test.added > 0 {
				sold, err := lane.Decide(at("12:01"), lanes.Modify{Session: session, Minutes: test.added})
				require.NoError(t, err)
				lane = sold.Lane
			}
			stopped, err := lane.Decide(at(test.stop), lanes.Stop{Session: session, By: lanes.ByPOS})
			require.NoError(t, err)
			reopened, err := stopped.Lane.Decide(at(test.stop), lanes.Reopen{Ended: *stopped.Ended})
			require.NoError(t, err)
			require.Equal(t, test.openEnd, reopened.Lane.Session.OpenEnd)
		})
	}
}

// The longest session may have an open end up to the longest that there is.
func TestTheLongestOpenEnd(t *testing.T) {
	sale := lanes.Create{Session: uuid.New(), Minutes: 60, OpenEnd: lanes.MaxMinutes, AutoStart: true}
	_, err := (lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true}).Decide(at("12:00"), sale)
	require.NoError(t, err)
}
