package actors

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func TestSettingTheWallClockMovesNoDeadline(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				begun := g.clock.Now()
				session := g.create(0, 30)
				g.pass(10 * time.Minute)
				g.clock.Step(step)
				g.pass(5 * time.Minute)
				require.Equal(t, 15*time.Minute, g.left(session), "set while the gateway runs")

				g.shutDown()
				g.clock.Step(step)
				g.pass(time.Minute)
				g.start()
				require.Equal(t, 14*time.Minute, g.left(session), "set while the gateway is down")

				g.pass(14*time.Minute - time.Millisecond)
				require.True(t, g.open(0), "a millisecond before its end")
				g.pass(time.Millisecond)
				require.Equal(t, uuid.Nil, g.controller(0).Shown().Session, "at its end")
				ended := g.ended(session)
				require.Equal(t, lanes.Expired, ended.Reason)
				require.Equal(t, 30*time.Minute, ended.Used)
				require.Equal(t, begun.Wall.Add(30*time.Minute), ended.At)
			})
		})
	}
}

func TestASuspendCountsAsTime(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		begun := g.clock.Now()
		long, short, resting := g.create(0, 30), g.create(1, 3), g.create(2, 10)
		g.pause(resting)
		g.pass(time.Minute)
		g.clock.Suspend(5 * time.Minute)
		require.Equal(t, 24*time.Minute, g.left(long))
		require.Zero(t, g.left(short))

		g.pass(2 * time.Second)
		require.Equal(t, uuid.Nil, g.controller(1).Shown().Session, "what ended meanwhile is stopped as soon as it is noticed")
		require.Equal(t, lanes.Expired, g.ended(short).Reason)
		require.Equal(t, begun.Wall.Add(3*time.Minute), g.ended(short).At)
		require.Equal(t, 3*time.Minute, g.ended(short).Used)

		g.pass(24*time.Minute - 2*time.Second - time.Millisecond)
		require.True(t, g.open(0), "a millisecond before its end")
		g.pass(time.Millisecond)
		require.Equal(t, uuid.Nil, g.controller(0).Shown().Session, "the timer was armed anew")
		require.Equal(t, 10*time.Minute, g.left(resting), "a paused session kept its time")
	}, withLanes(3))
}

func TestAnotherBootCountsByTheWallClock(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		running, resting := g.create(0, 30), g.create(1, 30)
		g.pass(5 * time.Minute)
		g.pause(resting)
		g.pass(5 * time.Minute)
		g.shutDown()
		g.clock.Reboot()
		g.pass(2 * time.Minute)
		g.start()
		require.Equal(t, 18*time.Minute, g.left(running))
		require.Equal(t, 25*time.Minute, g.left(resting))

		g.pass(time.Minute)
		g.clock.Step(time.Hour)
		g.restart()
		require.Equal(t, 17*time.Minute, g.left(running), "it was carried over, and belongs to this boot now")
		g.resume(resting)
		g.pass(17 * time.Minute)
		require.Equal(t, lanes.Expired, g.ended(running).Reason)
		require.Equal(t, 30*time.Minute, g.ended(running).Used)
		g.stop(resting)
		require.Equal(t, 22*time.Minute, g.ended(resting).Used)
		require.Equal(t, 8*time.Minute, g.ended(resting).Paused)
	})
}

func TestAnotherBootWithAWrongClockCountsUpToTheLastCheckpoint(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(10*time.Minute + 5*time.Second)
		g.kill()
		g.clock.Reboot()
		g.clock.Step(-time.Hour)
		g.pass(2 * time.Minute)
		g.start()
		require.Equal(t, 20*time.Minute, g.left(session))
		g.pass(20 * time.Minute)
		require.Equal(t, lanes.Expired, g.ended(session).Reason)
	})
}

func TestAStopLeavesACheckpoint(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(10*time.Minute + 5*time.Second)
		g.shutDown()
		g.clock.Reboot()
		g.clock.Step(-time.Hour)
		g.start()
		require.Equal(t, 20*time.Minute-5*time.Second, g.left(session), "and not only one every 10 s")
	})
}
