package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What the hardware is told: the newest state that is wanted, whatever happens to the link meanwhile.

// cutOff breaks the link of the i-th lane until it is let back.
func (g *rig) cutOff(i int) (letBack func()) {
	g.controller(i).Refuse(true)
	g.controller(i).Cut(errNoAnswer)
	synctest.Wait()
	return func() {
		g.controller(i).Refuse(false)
		g.pass(lastBackoff)
	}
}

func TestAStopGivenWhileTheLaneIsOfflineIsEnforcedOnItsReturn(t *testing.T) {
	var hardware witness
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		letBack := g.cutOff(0)
		g.pass(10 * time.Second)
		g.modify(session, 10)
		g.pause(session)
		g.resume(session)
		g.stop(session)
		require.True(t, g.open(0), "it cannot know")
		offline := time.Now()
		letBack()
		require.Equal(t, uuid.Nil, g.controller(0).Shown().Session)
		told := hardware.told(g.lane(0), offline)
		require.NotEmpty(t, told)
		for _, state := range told {
			require.Nil(t, state.state.Session, "only the newest counts")
		}
	}, watchedBy(&hardware))
}

func TestHardwareThatLostItsPowerIsToldAgain(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(10 * time.Minute)
		g.controller(0).PowerCut(true)
		require.False(t, g.open(0))
		g.pass(time.Second)
		require.True(t, g.open(0))
		require.Equal(t, g.left(session), g.controller(0).Shown().Remaining)
	})
}

func TestARestartOfTheGatewayDisturbsNoFireLine(t *testing.T) {
	var hardware witness
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(10 * time.Minute)
		restarted := time.Now()
		for range 3 {
			g.restart()
			g.pass(time.Second)
			require.Equal(t, session, g.controller(0).Shown().Session)
		}
		for _, told := range hardware.told(g.lane(0), restarted) {
			require.True(t, told.open)
			require.Equal(t, session, told.state.Session.ID)
		}
	}, watchedBy(&hardware))
}

func TestHardwareIsLeftAloneUntilTheLaneKnowsWhatItIs(t *testing.T) {
	var hardware witness
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(time.Minute)
		release := g.holdFlushes()
		modified := g.begin(func() error { return g.tryModify(session, 10) })
		began := time.Now()
		g.crash(0) // what it was last is not known before the flush has ended
		g.pass(800 * time.Millisecond)
		require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
		require.Empty(t, hardware.told(g.lane(0), began))
		require.True(t, g.open(0))
		release()
		g.answerOf(modified, 0)
		require.Equal(t, 39*time.Minute-800*time.Millisecond, g.controller(0).Shown().Remaining)
		require.True(t, g.open(0))
	}, watchedBy(&hardware))
}

// A defect of the driver costs the connection, and nothing of the lane, however often.
func TestADriverThatPanicsIsToldOnItsNextConnection(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		for range 2 * maxPanics {
			before := s.newest()
			before.fails()
			g.modify(session, 1)
			g.pass(2 * lastBackoff)
			require.True(t, before.isClosed())
			require.NotSame(t, before, s.newest())
			told := s.newest().told()
			require.EqualValues(t, 1, told[0].Revision, "counts from 1 in each connection")
			require.Equal(t, session, told[len(told)-1].Session.ID)
			require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
		}
		s.newest().fails()
		g.stop(session)
		g.pass(2 * lastBackoff)
		require.NotEmpty(t, s.newest().told())
		for _, state := range s.newest().told() {
			require.Nil(t, state.Session, "what was wanted before is not said")
		}
		require.Equal(t, map[string]int{"connection": 2*maxPanics + 1}, g.Health().Restarts)
	})
}

// One that panics as a connection is closed takes nobody with it who waits for the lane.
func TestADriverThatPanicsAsItHangsUp(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		s.newest().failsToClose()
		s.newest().breaks()
		g.pass(lastBackoff)
		require.Equal(t, map[string]int{"connection": 1}, g.Health().Restarts)
		told := s.newest().told()
		require.Equal(t, session, told[len(told)-1].Session.ID)

		release := g.holdFlushes()
		modified := g.begin(func() error { return g.tryModify(session, 5) })
		waited := g.begin(func() error { return g.tryStopOnce(session, keyed("k", "f")) })
		s.newest().failsToClose()
		g.crash(0)
		require.ErrorIs(t, g.answerOf(modified, 0), lanes.ErrTimeout, "nobody knows yet")
		require.ErrorIs(t, g.answerOf(waited, 0), lanes.ErrInternal)
		release()
		g.pass(lastBackoff)
		require.NoError(t, g.tryStopOnce(session, keyed("k", "f")), "the key is free again")
		synctest.Wait()
		require.Nil(t, s.newest().told()[len(s.newest().told())-1].Session)
		s.newest().failsToClose()
		g.shutDown()
	})
}
