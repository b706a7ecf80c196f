package sim_test

import (
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"rangegate/lanes"
	"rangegate/lanes/link/sim"
)

// runAutopilot runs a test of an autopilot in a synctest bubble: a goroutine that remains is a failure.
func runAutopilot(t *testing.T, name string, test func(*testing.T, *sim.Autopilot, func() *fixture)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			now := clock()
			driver := sim.New(now)
			autopilot := sim.NewAutopilot(driver, 42)
			t.Cleanup(autopilot.Close)
			test(t, autopilot, func() *fixture { return newFixture(t, driver, now) })
		})
	})
}

func sold(left time.Duration) lanes.Session { return lanes.Session{ID: uuid.New(), Left: left} }

func TestAutopilotEnters(t *testing.T) {
	runAutopilot(t, "once, after 3 to 10 seconds", func(t *testing.T, _ *sim.Autopilot, lane func() *fixture) {
		for range 50 {
			waiting := lane()
			waiting.send(sold(time.Hour), lanes.Waiting, false)
			<-time.After(3*time.Second - 1)
			synctest.Wait()
			assert.Zero(t, waiting.Unacked())
			<-time.After(7*time.Second + 1)
			synctest.Wait()
			assert.Equal(t, 1, waiting.Unacked())
			<-time.After(time.Hour)
			assert.Equal(t, 1, waiting.Unacked())
		}
	})

	runAutopilot(t, "although the waiting session is changed all the time",
		func(t *testing.T, _ *sim.Autopilot, lane func() *fixture) {
			waiting, session := lane(), sold(time.Hour)
			for range 11 {
				waiting.send(session, lanes.Waiting, false)
				<-time.After(time.Second)
			}
			assert.Equal(t, 1, waiting.Unacked())
		})

	runAutopilot(t, "not when the session is gone or was begun by somebody else",
		func(t *testing.T, _ *sim.Autopilot, lane func() *fixture) {
			gone, begun, session := lane(), lane(), sold(time.Hour)
			gone.send(session, lanes.Waiting, false)
			begun.send(session, lanes.Waiting, false)
			<-time.After(time.Second)
			gone.free()
			begun.send(session, lanes.Paused, false)
			<-time.After(time.Hour)
			assert.Zero(t, gone.Unacked())
			assert.Zero(t, begun.Unacked())
		})

	runAutopilot(t, "once more when a power cut took the session and its entry",
		func(t *testing.T, _ *sim.Autopilot, lane func() *fixture) {
			waiting, session := lane(), sold(time.Hour)
			waiting.send(session, lanes.Waiting, false)
			<-time.After(time.Minute)
			waiting.PowerCut(true)
			assert.Zero(t, waiting.Unacked())
			waiting.connect(t)
			waiting.send(session, lanes.Waiting, false)
			<-time.After(time.Minute)
			assert.Equal(t, 1, waiting.Unacked())
		})
}

func TestAutopilotReportsWhileShooting(t *testing.T) {
	runAutopilot(t, "of two kinds, each about every ten minutes of open time",
		func(t *testing.T, _ *sim.Autopilot, lane func() *fixture) {
			const hours = 100
			steady, paused := lane(), lane()
			steady.send(sold(hours*time.Hour), lanes.Running, false)
			session := sold(hours * time.Hour)
			for range hours * 12 { // a pause of five minutes after every five
				paused.send(session, lanes.Running, false)
				<-time.After(5 * time.Minute)
				paused.send(session, lanes.Paused, false)
				<-time.After(5 * time.Minute)
			}
			assert.InDelta(t, hours*6*2, steady.Unacked(), hours*6*2*0.2)
			assert.InDelta(t, hours*6*2, paused.Unacked(), hours*6*2*0.2, "they become no rarer by pauses")
		})

	runAutopilot(t, "and buys time where that can be bought, about as often",
		func(t *testing.T, _ *sim.Autopilot, lane func() *fixture) {
			const hours = 100
			shop, none := lane(), lane()
			session := sold(hours * time.Hour)
			session.Purchasing = true
			shop.send(session, lanes.Running, false)
			none.send(sold(hours*time.Hour), lanes.Running, false)
			<-time.After(hours * time.Hour)
			assert.InDelta(t, hours*6*3, shop.Unacked(), hours*6*3*0.2)
			assert.InDelta(t, hours*6*2, none.Unacked(), hours*6*2*0.2)
		})

	runAutopilot(t, "only while the line is open", func(t *testing.T, _ *sim.Autopilot, lane func() *fixture) {
		ended, paused, held := lane(), lane(), lane()
		ended.send(sold(time.Nanosecond), lanes.Running, false)
		paused.send(sold(time.Hour), lanes.Paused, false)
		held.send(sold(time.Hour), lanes.Running, true)
		<-time.After(100 * time.Hour)
		for _, lane := range []*fixture{ended, paused, held} {
			assert.Zero(t, lane.Unacked())
		}
	})
}

func TestAutopilotCloses(t *testing.T) {
	runAutopilot(t, "and nothing fires afterwards", func(t *testing.T, autopilot *sim.Autopilot, lane func() *fixture) {
		waiting, running := lane(), lane()
		waiting.send(sold(time.Hour), lanes.Waiting, false)
		running.send(sold(100*time.Hour), lanes.Running, false)
		<-time.After(2 * time.Second)
		autopilot.Close()
		before := running.Unacked()
		autopilot.Close()
		waiting.send(sold(time.Hour), lanes.Waiting, false)
		<-time.After(99 * time.Hour)
		assert.Zero(t, waiting.Unacked())
		assert.Equal(t, before, running.Unacked())
	})
}

// The entry and the close are at the same instant, in either order.
func TestAutopilotClosesWhileAnEntryFallsDue(t *testing.T) {
	session := sold(time.Hour)
	closeAfter := func(wait time.Duration) (entered bool) {
		synctest.Test(t, func(t *testing.T) {
			now := clock()
			driver := sim.New(now)
			lane, autopilot := newFixture(t, driver, now), sim.NewAutopilot(driver, 42)
			lane.send(session, lanes.Waiting, false)
			<-time.After(wait)
			autopilot.Close()
			before := lane.Unacked()
			synctest.Wait()
			assert.Equal(t, before, lane.Unacked(), "entered after the autopilot was closed")
			entered = before > 0
		})
		return entered
	}
	due := sort.Search(int(10*time.Second), func(wait int) bool { return closeAfter(time.Duration(wait)) })
	for range 200 {
		closeAfter(time.Duration(due))
	}
}

func TestAutopilotFindsExistingSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock()
		driver := sim.New(now)
		lane := newFixture(t, driver, now)
		lane.send(sold(time.Hour), lanes.Waiting, false)
		earlier := sim.NewAutopilot(driver, 1)
		autopilot := sim.NewAutopilot(driver, 1)
		<-time.After(time.Minute)
		assert.Equal(t, 1, lane.Unacked(), "the later autopilot takes the earlier one's place")
		earlier.Close()
		lane.send(sold(time.Hour), lanes.Waiting, false)
		<-time.After(time.Minute)
		assert.Equal(t, 2, lane.Unacked())
		autopilot.Close()
	})
}

func TestAutopilotsWithTheSameSeedActAlike(t *testing.T) {
	session := sold(100 * time.Hour)
	fly := func(seed uint64) (counts []int) {
		synctest.Test(t, func(t *testing.T) {
			now := clock()
			driver := sim.New(now)
			defer sim.NewAutopilot(driver, seed).Close()
			lane := newFixture(t, driver, now)
			lane.send(session, lanes.Running, false)
			for range 100 {
				<-time.After(time.Minute)
				counts = append(counts, lane.Unacked())
			}
		})
		return counts
	}
	assert.Equal(t, fly(1), fly(1))
	assert.NotEqual(t, fly(1), fly(2))
}
