package actors

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// commanded is the latest commands of the i-th lane, each in short: who, what, how it ended; the newest first.
func (g *rig) commanded(i int) (short []string) {
	g.Helper()
	health, found := g.LaneActor(g.lane(i))
	require.True(g, found)
	for _, c := range health.Commands {
		short = append(short, strings.TrimSpace(fmt.Sprintf("%s %s", c.By, c.Who))+": "+c.Command+" "+c.Result)
	}
	return short
}

const aTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

// Whoever asks something of a lane is in its command log: a POS, staff, the hardware, the timer, whoever held the range.
func TestTheCommandsOfALane(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		require.Empty(t, g.commanded(0), "a link that came up is no command")
		asked := g.clock.Now().Wall
		sale := g.sale(30)
		_, err := g.Create(trace.With(g.request(), aTrace), g.lane(0), sale, nil)
		require.NoError(t, err)
		require.ErrorIs(t, g.tryCreate(0, 5), lanes.ErrLaneOccupied)
		_, err = g.StaffOn(g.request(), "sam", sale.Session, lanes.Pause{Session: sale.Session})
		require.NoError(t, err)
		_, err = g.Hold(g.request(), lanes.Scope{Kind: lanes.OverRange}, "operator")
		require.NoError(t, err)
		_, err = g.Lift(g.request(), lanes.Scope{Kind: lanes.OverRange}, "kim")
		require.NoError(t, err)
		g.resume(sale.Session)
		require.NoError(t, g.controller(0).Help())
		g.pass(30 * time.Minute)
		require.Equal(t, []string{
			"timer: expire ok", "lane: report help ok", "pos: resume ok", "staff kim: release ok", "staff operator: hold ok",
			"staff sam: pause ok", "pos: create lane_occupied", "pos: create ok",
		}, g.commanded(0))
		require.Equal(t, []string{"staff kim: release ok", "staff operator: hold ok"}, g.commanded(1))

		health, _ := g.LaneActor(g.lane(0))
		first := health.Commands[len(health.Commands)-1]
		require.Equal(t, lanes.Commanded{
			At: asked, By: lanes.ByPOS, Command: "create", Result: "ok", Session: sale.Session, Trace: aTrace,
		}, first)
		require.Equal(t, sale.Session, health.Commands[0].Session, "also of the one that ended it")
		require.Empty(t, health.Commands[0].Trace, "no request asked for it")
	})
}

// It remembers so many, and the latest of them, also when the lane has panicked in between.
func TestTheCommandLogOutlivesThePanicsOfItsLane(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 60)
		for range lanes.MaxCommands {
			g.pause(session)
			g.resume(session)
		}
		require.Len(t, g.commanded(0), lanes.MaxCommands)
		require.ErrorIs(t, g.tryNothing(session), lanes.ErrInternal)
		g.pass(time.Second)
		g.pause(session)
		short := g.commanded(0)
		require.Len(t, short, lanes.MaxCommands)
		require.Equal(t, []string{"pos: pause ok", "pos: none internal", "pos: resume ok", "pos: pause ok"}, short[:4])

		is := g.Actors()
		require.Equal(t, 1, is.RestartedLanes)
		restarted := is.Restarted[0]
		require.Equal(t, lanes.LaneRestarts{
			Lane: g.lane(0), Name: "Lane 1", Restarts: 1, Last: restarted.Last, Kind: "lane", Message: "none",
		}, restarted)
		require.Equal(t, restarted, must(t, g, 0).Restarts)
		require.Zero(t, must(t, g, 1).Restarts.Restarts)
	})
}

func must(t *testing.T, g *rig, i int) lanes.LaneHealth {
	t.Helper()
	health, found := g.LaneActor(g.lane(i))
	require.True(t, found)
	return health
}

// The lanes whose commands took longest of late are told, the longest first, and those of long ago no more.
func TestTheSlowestCommands(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		first, second := g.create(0, 60), g.create(1, 60)
		slow := func(session uuid.UUID, takes time.Duration) {
			release := g.holdFlushes()
			ended := g.begin(func() error { return g.tryModify(session, 1) })
			waits := g.begin(func() error { return g.tryModify(session, 2) })
			g.pass(takes)
			release()
			require.NoError(t, <-ended)
			require.NoError(t, <-waits)
			synctest.Wait()
		}
		slow(first, 300*time.Millisecond)
		slow(second, 700*time.Millisecond)
		g.modify(first, 1)
		slowest := g.Actors().Slowest
		require.Len(t, slowest, 2)
		require.Equal(t, []string{"Lane 2", "Lane 1"}, []string{slowest[0].Name, slowest[1].Name})
		require.Equal(t, 700*time.Millisecond, slowest[0].Took)
		require.Equal(t, "modify", slowest[0].Command)
		commands := must(t, g, 1).Commands
		require.Equal(t, 700*time.Millisecond, commands[0].Waited, "behind the one before it")
		require.Zero(t, commands[1].Waited, "for the store alone")

		g.pass(10*time.Minute + time.Second)
		require.Empty(t, g.Actors().Slowest)
		slow(first, 100*time.Millisecond)
		require.Equal(t, 100*time.Millisecond, g.Actors().Slowest[0].Took)
	})
}

// Whose state is not saved is told with since when.
func TestTheLanesThatAreNotSaved(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		first, second := g.create(0, 30), g.create(1, 30)
		require.Zero(t, g.Actors().NotSavedLanes)
		g.store.hook(outages["it refuses"])
		since := g.clock.Now().Wall
		require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryStop(first) }), time.Second), lanes.ErrNotSaved)
		require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryStop(second) }), time.Second), lanes.ErrNotSaved)
		g.pass(5 * time.Second)
		is := g.Actors()
		require.Equal(t, 2, is.NotSavedLanes)
		require.Equal(t, lanes.LaneUnsaved{Lane: g.lane(0), Name: "Lane 1", Since: since, Changes: 1}, is.NotSaved[0])
		require.Equal(t, is.NotSaved[0], must(t, g, 0).Unsaved)
		require.Equal(t, []string{"pos: stop not_saved", "pos: create ok"}, g.commanded(0))
		g.storeReturns()
		require.Zero(t, g.Actors().NotSavedLanes)
		require.Zero(t, must(t, g, 0).Unsaved.Changes)
		require.Equal(t, []string{"pos: stop ok", "pos: stop not_saved", "pos: create ok"}, g.commanded(0))
	})
}

// The tree is counted, through panics and links that come and go.
func TestTheActorsThatLive(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		whole := map[string]int{"range": 1, "events": 1, "lane": 3, "connection": 3}
		require.Equal(t, whole, g.Actors().Live)
		letBack := g.cutOff(1)
		g.pass(time.Second)
		g.crash(0)
		g.sendEvents((*announced)(nil))
		letBack()
		g.pass(time.Minute)
		require.Equal(t, whole, g.Actors().Live)
		require.NotEmpty(t, g.gateway.Waiting(), "each kind is there")
		for kind, waiting := range g.gateway.Waiting() {
			require.Zero(t, waiting, kind)
		}
		r := g.Range
		g.shutDown()
		for kind, left := range r.live.all() {
			require.Zero(t, left, kind)
		}
	}, withLanes(3))
}

// Nothing of it names a customer, or knows of a lane that is not the range's.
func TestTheHealthOfALane(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.controller(1).Cut(errors.New("no route"))
		g.pass(time.Minute)
		is := must(t, g, 0)
		require.Equal(t, session, is.Session)
		require.Equal(t, lanes.Running, is.Phase)
		require.Equal(t, 29*time.Minute, is.Remaining)
		require.NotContains(t, fmt.Sprintf("%+v %+v", is, g.Actors()), "Jo Smith")
		require.Equal(t, 1, must(t, g, 1).Link.Restarts)
		require.Equal(t, "no route", must(t, g, 1).Link.LastError)
		_, found := g.LaneActor(uuid.New())
		require.False(t, found)
	})
}
