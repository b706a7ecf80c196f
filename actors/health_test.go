package actors

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/actors/board"
	"rangegate/actors/clock"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

func TestARangeInGoodHealth(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		require.Equal(t, lanes.Health{
			Links: map[lanes.LinkState]int{lanes.LinkUp: 2, lanes.LinkDown: 0, lanes.LinkFaulty: 0}, Writable: true,
		}, g.Health())
	})
}

func TestTheHealthOfLinks(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.pass(time.Minute)
		broken := g.clock.Now().Wall
		letBack := g.cutOff(2)
		g.controller(1).Cut(errNoAnswer)
		g.pass(firstBackoff)
		g.controller(3).Pose(true)
		g.controller(3).Cut(errNoAnswer)
		g.pass(2 * lastBackoff)

		health := g.Health()
		require.Equal(t, map[lanes.LinkState]int{lanes.LinkUp: 2, lanes.LinkDown: 1, lanes.LinkFaulty: 1}, health.Links)
		var names []string
		for _, lane := range health.Lanes {
			names = append(names, lane.Name)
		}
		require.Equal(t, []string{"Lane 4", "Lane 3", "Lane 2"}, names, "the faulty, the one that is down, the one that was")
		faulty, down, up := health.Lanes[0], health.Lanes[1], health.Lanes[2]
		require.Equal(t, lanes.LinkFaulty, faulty.Link)
		require.Contains(t, faulty.LastError, "another lane's")
		require.Equal(t, lanes.LinkHealth{
			Lane: g.lane(2), Name: "Lane 3", Link: lanes.LinkDown, Since: broken, Restarts: down.Restarts,
			LastError: "the controller refuses connections",
		}, down)
		require.Greater(t, down.Restarts, 3)
		require.Equal(t, lanes.LinkHealth{
			Lane: g.lane(1), Name: "Lane 2", Link: lanes.LinkUp, Since: up.Since, Restarts: 1, LastError: errNoAnswer.Error(),
		}, up)

		g.controller(3).Pose(false)
		letBack()
		g.pass(lastFaultyBackoff)
		require.Len(t, g.Health().Lanes, 3, "shown for a while")
		require.GreaterOrEqual(t, g.Health().Lanes[0].Restarts, g.Health().Lanes[1].Restarts, "the one with the most first")
		g.pass(board.UnwellFor + time.Second)
		require.Empty(t, g.Health().Lanes)
	}, withLanes(4))
}

// What a link has been through is known although its lane's actor has started again.
func TestTheHealthOfALinkOutlivesItsActor(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.controller(0).Cut(fmt.Errorf("%w: %s", link.ErrFaulty, strings.Repeat("ü", 10_000)))
		g.pass(firstFaultyBackoff)
		g.crash(0)
		g.pass(time.Second)
		health := g.Health()
		require.Len(t, health.Lanes, 1)
		require.Equal(t, 1, health.Lanes[0].Restarts)
		require.Equal(t, lanes.LinkUp, health.Lanes[0].Link)
		require.Less(t, len(health.Lanes[0].LastError), 300, "as much as somebody reads")
		require.Equal(t, map[string]int{"lane": 1}, health.Restarts)
	})
}

// A switch that is dark: the list is as long as somebody reads, the count is of all.
func TestTheHealthOfManyLinks(t *testing.T) {
	s := &switchboard{answer: fails}
	inFakeTime(t, func(t *testing.T, g *rig) {
		health := g.Health()
		require.Equal(t, 300, health.Links[lanes.LinkDown])
		require.Len(t, health.Lanes, lanes.MaxUnwell)
		require.Equal(t, "Lane 1", health.Lanes[0].Name)
	}, withLanes(300), withDriver(s))
}

func TestTheHealthOfTheStore(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				first, second := g.create(0, 30), g.create(1, 30)
				g.store.hook(outage)
				require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryStop(first) }), time.Second), lanes.ErrNotSaved)
				require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryStop(second) }), time.Second), lanes.ErrNotSaved)
				health := g.Health()
				require.False(t, health.Writable)
				require.Equal(t, 2, health.Unsaved)
				g.storeReturns()
				health = g.Health()
				require.True(t, health.Writable)
				require.Zero(t, health.Unsaved)
			})
		})
	}
}

func TestTheHealthOfTheEventQueue(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		session := g.create(0, 30) // one is under way
		g.pause(session)
		require.Equal(t, 2, g.Health().Waiting)
		release()
		synctest.Wait()
		require.Zero(t, g.Health().Waiting)
	}, withWebhook(received))
}

// Of a hundred timers one may be late without anybody's being told; those of long ago are forgotten.
func TestTheHealthOfTimers(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		require.Zero(t, g.Health().LateP99)
		g.create(0, 1)
		g.clock.Suspend(time.Minute + 3*time.Second)
		g.pass(clock.WatchEvery)
		require.Equal(t, 3*time.Second+clock.WatchEvery, g.Health().LateP99)
		for i := range 99 {
			g.lateness.Add(g.clock.Now(), time.Duration(i)*time.Millisecond)
		}
		require.Equal(t, 98*time.Millisecond, g.Health().LateP99)
		g.lateness.Add(g.clock.Now(), time.Second)
		require.Equal(t, time.Second, g.Health().LateP99, "two of 101")
	})
}

// Of this life of the gateway.
func TestTheHealthOfActors(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.crash(0)
		g.crash(1)
		g.sendEvents((*announced)(nil))
		g.pass(time.Second)
		require.Equal(t, map[string]int{"lane": 2, "events": 1}, g.Health().Restarts)
		g.restart()
		require.Empty(t, g.Health().Restarts)
	})
}
