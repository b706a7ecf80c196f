package actors

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
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
		g.pass(lastBackOff)
	}
}

// actorOf finds the newest actor of that kind below the i-th lane.
func (g *rig) actorOf(i int, kind string) *actor.PID {
	var found *actor.PID
	for _, shard := range g.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		for _, id := range shard.Keys() {
			path := strings.Split(id, "/")
			if strings.HasPrefix(path[len(path)-1], kind) && strings.Contains(id, "lane-"+g.lane(i).String()) {
				found = g.system.NewLocalPID(id)
			}
		}
	}
	require.NotNil(g, found)
	return found
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

func TestAConnectionThatPanicsDoesNotSayWhatWasWantedBefore(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		s.newest().breaks()
		g.pass(time.Second) // the next connection was made while the session ran
		g.stop(session)
		first := s.newest()
		g.send(g.actorOf(0, "connection"), (*want)(nil))
		g.pass(lastBackOff)
		require.True(t, first.isClosed())
		require.NotSame(t, first, s.newest())
		require.NotEmpty(t, s.newest().told())
		for _, state := range s.newest().told() {
			require.Nil(t, state.Session)
		}
	})
}

func TestALinkThatPanicsKnowsWhatIsWanted(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.send(g.actorOf(0, "link"), (*want)(nil))
		g.pass(time.Second)
		g.controller(0).PowerCut(true)
		g.pass(time.Second)
		require.True(t, g.open(0), "told again")
		require.Equal(t, session, g.controller(0).Shown().Session)

		for range 2 * maxRestarts {
			g.send(g.actorOf(0, "link"), (*want)(nil))
			synctest.Wait()
		}
		g.pass(restartsWithin)
		g.stop(session)
		g.pass(time.Second)
		require.Equal(t, uuid.Nil, g.controller(0).Shown().Session)
		require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
	})
}
