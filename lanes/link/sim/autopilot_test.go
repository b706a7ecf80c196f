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

// flown tells a story of an autopilot in a bubble: one that leaves a goroutine waiting fails.
func flown(t *testing.T, name string, story func(*testing.T, *sim.Autopilot, func() *rig)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			now := clock()
			driver := sim.New(now)
			autopilot := sim.NewAutopilot(driver, 42)
			t.Cleanup(autopilot.Close)
			story(t, autopilot, func() *rig { return newRig(t, driver, now) })
		})
	})
}

func sold(left time.Duration) lanes.Session { return lanes.Session{ID: uuid.New(), Left: left} }

func TestAutopilotEnters(t *testing.T) {
	flown(t, "once, after 3 to 10 seconds", func(t *testing.T, _ *sim.Autopilot, lane func() *rig) {
		for range 50 {
			one := lane()
			one.want(sold(time.Hour), lanes.Waiting, false)
			<-time.After(3*time.Second - 1)
			synctest.Wait()
			assert.Zero(t, one.Unacked())
			<-time.After(7*time.Second + 1)
			synctest.Wait()
			assert.Equal(t, 1, one.Unacked())
			<-time.After(time.Hour)
			assert.Equal(t, 1, one.Unacked())
		}
	})

	flown(t, "although the waiting session is changed all the time", func(t *testing.T, _ *sim.Autopilot, lane func() *rig) {
		one, session := lane(), sold(time.Hour)
		for range 11 {
			one.want(session, lanes.Waiting, false)
			<-time.After(time.Second)
		}
		assert.Equal(t, 1, one.Unacked())
	})

	flown(t, "not when the session is gone or was begun by somebody else", func(t *testing.T, _ *sim.Autopilot, lane func() *rig) {
		gone, begun, session := lane(), lane(), sold(time.Hour)
		gone.want(session, lanes.Waiting, false)
		begun.want(session, lanes.Waiting, false)
		<-time.After(time.Second)
		gone.free()
		begun.want(session, lanes.Paused, false)
		<-time.After(time.Hour)
		assert.Zero(t, gone.Unacked())
		assert.Zero(t, begun.Unacked())
	})

	flown(t, "once more when a power cut took the session and its entry", func(t *testing.T, _ *sim.Autopilot, lane func() *rig) {
		one, session := lane(), sold(time.Hour)
		one.want(session, lanes.Waiting, false)
		<-time.After(time.Minute)
		one.PowerCut(true)
		assert.Zero(t, one.Unacked())
		one.connect(t)
		one.want(session, lanes.Waiting, false)
		<-time.After(time.Minute)
		assert.Equal(t, 1, one.Unacked())
	})
}

func TestAutopilotHasMishaps(t *testing.T) {
	flown(t, "of two kinds, each about every ten minutes of open time", func(t *testing.T, _ *sim.Autopilot, lane func() *rig) {
		const hours = 100
		steady, paused := lane(), lane()
		steady.want(sold(hours*time.Hour), lanes.Running, false)
		session := sold(hours * time.Hour)
		for range hours * 12 { // a pause of five minutes after every five
			paused.want(session, lanes.Running, false)
			<-time.After(5 * time.Minute)
			paused.want(session, lanes.Paused, false)
			<-time.After(5 * time.Minute)
		}
		assert.InDelta(t, hours*6*2, steady.Unacked(), hours*6*2*0.2)
		assert.InDelta(t, hours*6*2, paused.Unacked(), hours*6*2*0.2, "they become no rarer by pauses")
	})

	flown(t, "and buys time where that can be bought, about as often", func(t *testing.T, _ *sim.Autopilot, lane func() *rig) {
		const hours = 100
		shop, none := lane(), lane()
		session := sold(hours * time.Hour)
		session.Purchasing = true
		shop.want(session, lanes.Running, false)
		none.want(sold(hours*time.Hour), lanes.Running, false)
		<-time.After(hours * time.Hour)
		assert.InDelta(t, hours*6*3, shop.Unacked(), hours*6*3*0.2)
		assert.InDelta(t, hours*6*2, none.Unacked(), hours*6*2*0.2)
	})

	flown(t, "only while the line is open", func(t *testing.T, _ *sim.Autopilot, lane func() *rig) {
		over, paused, held := lane(), lane(), lane()
		over.want(sold(time.Nanosecond), lanes.Running, false)
		paused.want(sold(time.Hour), lanes.Paused, false)
		held.want(sold(time.Hour), lanes.Running, true)
		<-time.After(100 * time.Hour)
		for _, lane := range []*rig{over, paused, held} {
			assert.Zero(t, lane.Unacked())
		}
	})
}

func TestAutopilotCloses(t *testing.T) {
	flown(t, "and nothing fires afterwards", func(t *testing.T, autopilot *sim.Autopilot, lane func() *rig) {
		waiting, running := lane(), lane()
		waiting.want(sold(time.Hour), lanes.Waiting, false)
		running.want(sold(100*time.Hour), lanes.Running, false)
		<-time.After(2 * time.Second)
		autopilot.Close()
		before := running.Unacked()
		autopilot.Close()
		waiting.want(sold(time.Hour), lanes.Waiting, false)
		<-time.After(99 * time.Hour)
		assert.Zero(t, waiting.Unacked())
		assert.Equal(t, before, running.Unacked())
	})
}

// The entry and the close fall on the same instant, in either order.
func TestAutopilotClosesWhileAnEntryFallsDue(t *testing.T) {
	session := sold(time.Hour)
	closeAfter := func(wait time.Duration) (entered bool) {
		synctest.Test(t, func(t *testing.T) {
			now := clock()
			driver := sim.New(now)
			lane, autopilot := newRig(t, driver, now), sim.NewAutopilot(driver, 42)
			lane.want(session, lanes.Waiting, false)
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

func TestAutopilotFindsSessionsThatAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock()
		driver := sim.New(now)
		lane := newRig(t, driver, now)
		lane.want(sold(time.Hour), lanes.Waiting, false)
		earlier := sim.NewAutopilot(driver, 1)
		autopilot := sim.NewAutopilot(driver, 1)
		<-time.After(time.Minute)
		assert.Equal(t, 1, lane.Unacked(), "the later autopilot takes the earlier one's place")
		earlier.Close()
		lane.want(sold(time.Hour), lanes.Waiting, false)
		<-time.After(time.Minute)
		assert.Equal(t, 2, lane.Unacked())
		autopilot.Close()
	})
}

func TestAutopilotOfTheSameSeedDoesTheSame(t *testing.T) {
	session := sold(100 * time.Hour)
	fly := func(seed uint64) (counts []int) {
		synctest.Test(t, func(t *testing.T) {
			now := clock()
			driver := sim.New(now)
			defer sim.NewAutopilot(driver, seed).Close()
			lane := newRig(t, driver, now)
			lane.want(session, lanes.Running, false)
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
