package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What a lane waits between two sessions is measured once, when the next one begins, and on record with it.
// It goes on over a crash; nothing of it is in memory alone.
func TestTheTurnTimeOfALane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.advance(time.Hour)
		f.stop(f.create(0, 30))
		count, _ := f.histogram("lane_turn_seconds")
		require.Zero(t, count, "the first session of a lane has no turn")

		f.advance(2 * time.Minute)
		f.kill()
		f.start()
		f.advance(time.Minute)
		require.Equal(t, lanes.TurnFigures{Waiting: 1, Longest: 3 * time.Minute}, f.Health().Turns)
		require.Equal(t, 3*time.Minute, *laneHealth(t, f, 0).Turn)
		require.True(t, laneHealth(t, f, 0).TurnCounts)
		session := f.createWaiting(0, 30)
		f.advance(time.Minute)
		f.enter(0)
		synctest.Wait()
		count, sum := f.histogram("lane_turn_seconds")
		require.EqualValues(t, 1, count)
		require.Equal(t, 4*time.Minute, sum)
		require.Equal(t, lanes.TurnFigures{Turns: 1, Median: 4 * time.Minute}, f.Health().Turns)
		require.Nil(t, laneHealth(t, f, 0).Turn)
		require.Equal(t, 4*time.Minute, laneHealth(t, f, 0).LastTurn.Took)

		f.advance(time.Minute)
		f.restart()
		f.stop(session)
		require.Equal(t, 4*time.Minute, *f.endedSession(session).Session.Turn)
		require.Equal(t, 1, f.Health().Turns.Turns)
	})
}

// A hold, staff and the configuration close a lane: none of that counts, whether the gateway runs meanwhile or
// not.
func TestALaneThatIsClosedDoesNotWait(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		turn := func() time.Duration { return *laneHealth(t, f, 0).Turn }
		forSale := func(open bool) func(s *Settings) {
			return func(s *Settings) { s.Layout.Lanes[0].Accessible = open }
		}
		f.stop(f.create(0, 30))
		f.advance(time.Minute)
		f.setHold(rangeScope)
		f.advance(time.Hour)
		f.liftHold(rangeScope)
		f.staffLaneCommand(0, lanes.Offer{Sale: lanes.OffSale})
		f.advance(10 * time.Hour)
		f.staffLaneCommand(0, lanes.Offer{Sale: lanes.AsConfigured})
		f.advance(time.Minute)
		require.Equal(t, 2*time.Minute, turn())

		require.NoError(t, f.reload(false, forSale(false)))
		synctest.Wait()
		require.False(t, laneHealth(t, f, 0).TurnCounts)
		f.advance(time.Hour)
		f.kill()
		f.start()
		f.advance(time.Hour)
		require.Equal(t, 2*time.Minute, turn())

		f.shutDown()
		forSale(true)(&f.settings)
		f.start()
		synctest.Wait()
		f.advance(time.Minute)
		require.Equal(t, 3*time.Minute, turn(), "it is open since the start")
	})
}
