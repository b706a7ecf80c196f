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

	"rangegate/actors/board"
	"rangegate/actors/clock"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/trace"
)

func TestTheHealthOfARangeWithoutProblems(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		require.Equal(t, lanes.Health{
			Links: map[lanes.LinkState]int{lanes.LinkUp: 2, lanes.LinkDown: 0, lanes.LinkFaulty: 0}, Writable: true,
		}, f.Health())
	})
}

func TestTheHealthOfLinks(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.advance(time.Minute)
		broken := f.clock.Now().Wall
		restoreLink := f.cutLink(2)
		f.controller(1).Cut(errNoAnswer)
		f.advance(firstBackoff)
		f.controller(3).Pose(true)
		f.controller(3).Cut(errNoAnswer)
		f.advance(2 * lastBackoff)

		health := f.Health()
		require.Equal(t, map[lanes.LinkState]int{lanes.LinkUp: 2, lanes.LinkDown: 1, lanes.LinkFaulty: 1}, health.Links)
		var names []string
		for _, lane := range health.Lanes {
			names = append(names, lane.Name)
		}
		require.Equal(t, []string{"Lane 4", "Lane 3", "Lane 2"}, names,
			"the faulty link, the one that is down, the one that was down")
		faulty, down, up := health.Lanes[0], health.Lanes[1], health.Lanes[2]
		require.Equal(t, lanes.LinkFaulty, faulty.Link)
		require.Contains(t, faulty.LastError, "another lane's")
		require.Equal(t, lanes.LinkHealth{
			Lane: f.laneID(2), Name: "Lane 3", Link: lanes.LinkDown, Since: broken, Restarts: down.Restarts,
			LastError: "the controller refuses connections",
		}, down)
		require.Greater(t, down.Restarts, 3)
		require.Equal(t, lanes.LinkHealth{
			Lane: f.laneID(1), Name: "Lane 2", Link: lanes.LinkUp, Since: up.Since, Restarts: 1,
			LastError: errNoAnswer.Error(),
		}, up)

		f.controller(3).Pose(false)
		restoreLink()
		f.advance(lastFaultyBackoff)
		require.Len(t, f.Health().Lanes, 3, "shown for a while")
		require.GreaterOrEqual(t, f.Health().Lanes[0].Restarts, f.Health().Lanes[1].Restarts,
			"the link with the most restarts first")
		f.advance(board.UnwellFor + time.Second)
		require.Empty(t, f.Health().Lanes)
	}, withLanes(4))
}

// The failures of a link are known although its lane's actor was restarted.
func TestTheHealthOfALinkSurvivesItsActor(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.controller(0).Cut(fmt.Errorf("%w: %s", link.ErrFaulty, strings.Repeat("ü", 10_000)))
		f.advance(firstFaultyBackoff)
		f.panicLane(0)
		f.advance(time.Second)
		health := f.Health()
		require.Len(t, health.Lanes, 1)
		require.Equal(t, 1, health.Lanes[0].Restarts)
		require.Equal(t, lanes.LinkUp, health.Lanes[0].Link)
		require.Less(t, len(health.Lanes[0].LastError), 300, "the text is bounded")
		require.Equal(t, map[string]int{"lane": 1}, health.Restarts)
	})
}

// A whole network switch is down: the list is bounded, the count is of all lanes.
func TestTheHealthOfManyLinks(t *testing.T) {
	driver := &fakeDriver{dialResult: failDial}
	runFixture(t, func(t *testing.T, f *fixture) {
		health := f.Health()
		require.Equal(t, 300, health.Links[lanes.LinkDown])
		require.Len(t, health.Lanes, lanes.MaxUnwell)
		require.Equal(t, "Lane 1", health.Lanes[0].Name)
	}, withLanes(300), withDriver(driver))
}

func TestTheHealthOfTheStore(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				first, second := f.create(0, 30), f.create(1, 30)
				f.store.setHook(outage)
				require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryStop(first) }), time.Second),
					lanes.ErrNotSaved)
				require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryStop(second) }), time.Second),
					lanes.ErrNotSaved)
				health := f.Health()
				require.False(t, health.Writable)
				require.Equal(t, 2, health.Unsaved)
				f.storeReturns()
				health = f.Health()
				require.True(t, health.Writable)
				require.Zero(t, health.Unsaved)
			})
		})
	}
}

func TestTheHealthOfTheEventQueue(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		session := f.create(0, 30) // one is under way
		f.pause(session)
		require.Equal(t, 2, f.Health().Waiting)
		release()
		synctest.Wait()
		require.Zero(t, f.Health().Waiting)
	}, withWebhook(webhook))
}

// Of a hundred timers one may be late without effect on the p99; old ones are forgotten.
func TestTheHealthOfTimers(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		require.Zero(t, f.Health().LateP99)
		f.create(0, 1)
		f.clock.Suspend(time.Minute + 3*time.Second)
		f.advance(clock.WatchEvery)
		require.Equal(t, 3*time.Second+clock.WatchEvery, f.Health().LateP99)
		for i := range 99 {
			f.lateness.Add(f.clock.Now(), time.Duration(i)*time.Millisecond)
		}
		require.Equal(t, 98*time.Millisecond, f.Health().LateP99)
		f.lateness.Add(f.clock.Now(), time.Second)
		require.Equal(t, time.Second, f.Health().LateP99, "two of 101 timers were late")
	})
}

// A session that ended while no gateway ran is stopped at the start: that says nothing about the timers.
func TestAnEndInADowntimeIsNoLateTimer(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 1)
		f.shutDown()
		f.advance(time.Hour)
		f.start()
		stops := &lateStops{}
		f.metrics.LateStops = stops
		require.Equal(t, lanes.Expired, f.endedSession(session).Reason)
		require.Zero(t, f.Health().LateP99)
		require.Zero(t, f.timersMeasured())
		require.Empty(t, stops.lanes)

		f.create(0, 1)
		f.advance(time.Minute)
		require.Equal(t, uint64(1), f.timersMeasured(), "one that ended in this process")
		require.Equal(t, []uuid.UUID{f.laneID(0)}, stops.lanes)
	})
}

// lateStops are the lanes whose stops it was told of.
type lateStops struct{ lanes []uuid.UUID }

func (s *lateStops) Late(lane uuid.UUID, _ time.Duration) { s.lanes = append(s.lanes, lane) }

// timersMeasured is how many timers were measured.
func (f *fixture) timersMeasured() (count uint64) {
	families, err := f.registry.Gather()
	require.NoError(f, err)
	for _, family := range families {
		if family.GetName() == "rangegate_timer_lateness_seconds" {
			count += family.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	return count
}

// commandSummaries returns the latest commands of the i-th lane, newest first: who, what, how it ended.
func (f *fixture) commandSummaries(i int) (summaries []string) {
	f.Helper()
	health, found := f.LaneActor(f.laneID(i))
	require.True(f, found)
	for _, c := range health.Commands {
		summaries = append(summaries, strings.TrimSpace(fmt.Sprintf("%s %s", c.By, c.Who))+": "+c.Command+" "+c.Result)
	}
	return summaries
}

// The command log of a lane has every request: of the POS, staff, the hardware, the timer, and of holds.
func TestTheCommandLogOfALane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		require.Empty(t, f.commandSummaries(0), "the inspection after a link came up is not listed")
		asked := f.clock.Now().Wall
		sale := f.newSale(30)
		_, err := f.Create(trace.With(f.requestContext(), firstTrace), f.laneID(0), sale, nil)
		require.NoError(t, err)
		require.ErrorIs(t, f.tryCreate(0, 5), lanes.ErrLaneOccupied)
		_, err = f.StaffOn(f.requestContext(), "sam", sale.Session, lanes.Pause{Session: sale.Session})
		require.NoError(t, err)
		_, err = f.Hold(f.requestContext(), lanes.Scope{Kind: lanes.OverRange}, "operator")
		require.NoError(t, err)
		_, err = f.Lift(f.requestContext(), lanes.Scope{Kind: lanes.OverRange}, uuid.Nil, "kim")
		require.NoError(t, err)
		f.resume(sale.Session)
		require.NoError(t, f.controller(0).Help())
		f.advance(30 * time.Minute)
		require.Equal(t, []string{
			"timer: expire ok", "lane: report help ok", "pos: resume ok", "staff kim: release ok",
			"staff operator: hold ok",
			"staff sam: pause ok", "pos: create lane_occupied", "pos: create ok",
		}, f.commandSummaries(0))
		require.Equal(t, []string{"staff kim: release ok", "staff operator: hold ok"}, f.commandSummaries(1))

		health, _ := f.LaneActor(f.laneID(0))
		first := health.Commands[len(health.Commands)-1]
		require.Equal(t, lanes.Commanded{
			At: asked, By: lanes.ByPOS, Command: "create", Result: "ok", Session: sale.Session, Trace: firstTrace,
		}, first)
		require.Equal(t, sale.Session, health.Commands[0].Session, "also for the command that ended it")
		require.Empty(t, health.Commands[0].Trace, "no request caused it")
	})
}

// The log keeps a bounded number of the latest commands, also through panics of the lane.
func TestTheCommandLogSurvivesPanicsOfItsLane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 60)
		for range lanes.MaxCommands {
			f.pause(session)
			f.resume(session)
		}
		require.Len(t, f.commandSummaries(0), lanes.MaxCommands)
		require.ErrorIs(t, f.tryNilCommand(session), lanes.ErrInternal)
		f.advance(time.Second)
		f.pause(session)
		summaries := f.commandSummaries(0)
		require.Len(t, summaries, lanes.MaxCommands)
		require.Equal(t, []string{"pos: pause ok", "pos: none internal", "pos: resume ok", "pos: pause ok"},
			summaries[:4])

		health := f.Actors()
		require.Equal(t, 1, health.RestartedLanes)
		restarted := health.Restarted[0]
		require.Equal(t, lanes.LaneRestarts{
			Lane: f.laneID(0), Name: "Lane 1", Restarts: 1, Last: restarted.Last, Kind: "lane", Message: "none",
		}, restarted)
		require.Equal(t, restarted, laneHealth(t, f, 0).Restarts)
		require.Zero(t, laneHealth(t, f, 1).Restarts.Restarts)
	})
}

// The lanes with the slowest recent commands are listed, slowest first; old commands are forgotten.
func TestTheSlowestCommandsAreListed(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(0, 60), f.create(1, 60)
		slow := func(session uuid.UUID, takes time.Duration) {
			release := f.blockFlushes()
			ended := f.runAsync(func() error { return f.tryModify(session, 1) })
			waits := f.runAsync(func() error { return f.tryModify(session, 2) })
			f.advance(takes)
			release()
			require.NoError(t, <-ended)
			require.NoError(t, <-waits)
			synctest.Wait()
		}
		slow(first, 300*time.Millisecond)
		slow(second, 700*time.Millisecond)
		f.modify(first, 1)
		slowest := f.Actors().Slowest
		require.Len(t, slowest, 2)
		require.Equal(t, []string{"Lane 2", "Lane 1"}, []string{slowest[0].Name, slowest[1].Name})
		require.Equal(t, 700*time.Millisecond, slowest[0].Took)
		require.Equal(t, "modify", slowest[0].Command)
		commands := laneHealth(t, f, 1).Commands
		require.Equal(t, 700*time.Millisecond, commands[0].Waited, "behind the command before it")
		require.Zero(t, commands[1].Waited, "it waited for the store only")

		f.advance(10*time.Minute + time.Second)
		require.Empty(t, f.Actors().Slowest)
		slow(first, 100*time.Millisecond)
		require.Equal(t, 100*time.Millisecond, f.Actors().Slowest[0].Took)
	})
}

// Each lane with unsaved changes is listed with the time since when.
func TestUnsavedLanesAreListed(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(0, 30), f.create(1, 30)
		require.Zero(t, f.Actors().NotSavedLanes)
		f.store.setHook(outages["it refuses"])
		since := f.clock.Now().Wall
		require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryStop(first) }), time.Second),
			lanes.ErrNotSaved)
		require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryStop(second) }), time.Second),
			lanes.ErrNotSaved)
		f.advance(5 * time.Second)
		health := f.Actors()
		require.Equal(t, 2, health.NotSavedLanes)
		require.Equal(t, lanes.LaneUnsaved{Lane: f.laneID(0), Name: "Lane 1", Since: since, Changes: 1},
			health.NotSaved[0])
		require.Equal(t, health.NotSaved[0], laneHealth(t, f, 0).Unsaved)
		require.Equal(t, []string{"pos: stop not_saved", "pos: create ok"}, f.commandSummaries(0))
		f.storeReturns()
		require.Zero(t, f.Actors().NotSavedLanes)
		require.Zero(t, laneHealth(t, f, 0).Unsaved.Changes)
		require.Equal(t, []string{"pos: stop ok", "pos: stop not_saved", "pos: create ok"}, f.commandSummaries(0))
	})
}

// It names no customer, and there is none for a lane of another range.
func TestTheHealthOfALane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.controller(1).Cut(errors.New("no route"))
		f.advance(time.Minute)
		health := laneHealth(t, f, 0)
		require.Equal(t, session, health.Session)
		require.Equal(t, lanes.Running, health.Phase)
		require.Equal(t, 29*time.Minute, health.Remaining)
		require.NotContains(t, fmt.Sprintf("%+v %+v", health, f.Actors()), "Jo Smith")
		require.Equal(t, 1, laneHealth(t, f, 1).Link.Restarts)
		require.Equal(t, "no route", laneHealth(t, f, 1).Link.LastError)
		_, found := f.LaneActor(uuid.New())
		require.False(t, found)
	})
}
