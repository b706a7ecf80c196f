package actors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func TestASessionEndsAtItsExactDeadline(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		f.advance(2 * time.Minute)
		require.False(t, f.isOpen(0), "nobody has entered")
		f.enter(0)
		entered := f.clock.Now()
		require.True(t, f.isOpen(0))

		f.advance(10 * time.Minute)
		f.pause(session)
		require.False(t, f.isOpen(0), "paused")
		f.advance(90 * time.Second)
		f.modify(session, 5)
		f.advance(90 * time.Second)
		f.resume(session)
		require.True(t, f.isOpen(0), "resumed")
		f.advance(7*time.Minute + 1500*time.Microsecond)
		f.modify(session, -2)
		f.pause(session)
		f.advance(time.Second)
		f.resume(session)

		const sold, paused = 33 * time.Minute, 3*time.Minute + time.Second
		require.Equal(t, 16*time.Minute-1500*time.Microsecond, f.remaining(session))
		f.advance(f.remaining(session) - time.Millisecond)
		require.True(t, f.isOpen(0), "a millisecond before its end")
		require.Equal(t, time.Millisecond, f.remaining(session))
		f.advance(time.Millisecond)
		require.False(t, f.isOpen(0), "at its end")
		require.Equal(t, uuid.Nil, f.controller(0).Shown().Session, "the gateway has cleared the hardware")
		_, err := f.Session(f.requestContext(), session)
		require.ErrorIs(t, err, lanes.ErrSessionEnded)

		ended := f.endedSession(session)
		assert.Equal(t, lanes.Expired, ended.Reason)
		assert.Equal(t, entered.Add(sold+paused).Wall, ended.At)
		assert.Equal(t, sold, ended.Used)
		assert.Equal(t, paused, ended.Paused)
		assert.Zero(t, ended.Session.Left)
		assert.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionModified,
			lanes.SessionResumed, lanes.SessionModified, lanes.SessionPaused, lanes.SessionResumed,
			lanes.SessionStopped,
		}, f.eventKinds(session))
	})
}

func TestTheTimerFollowsTheDeadline(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 10)
		requireActive := func(d time.Duration, why string) {
			t.Helper()
			f.advance(d)
			require.Contains(t, f.activeSessions(), session, why)
		}
		f.modify(session, -5)
		f.modify(session, 7)
		requireActive(5*time.Minute, "at the deadline that it had before the second change")
		requireActive(5*time.Minute, "at its first deadline")
		f.pause(session)
		requireActive(10*time.Minute, "paused")
		f.resume(session)
		requireActive(2*time.Minute-time.Millisecond, "a millisecond before its end")
		f.advance(time.Millisecond)
		require.Empty(t, f.activeSessions())
		require.Equal(t, 12*time.Minute, f.endedSession(session).Used)
	})
}

func TestAStaleTimerDoesNothing(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 10)
		for generation := range uint64(10) {
			f.sendToLane(0, &timeUp{generation})
		}
		require.Equal(t, 10*time.Minute, f.remaining(session))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, f.eventKinds(session))
		require.True(t, f.isOpen(0))
	})
}

// The scheduler's clock and the boot clock are two clocks.
func TestAnEarlyTimerIsArmedAgain(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 10)
		f.clock.Suspend(-50 * time.Millisecond)
		f.advance(10 * time.Minute)
		require.Equal(t, 50*time.Millisecond, f.remaining(session))
		f.advance(50 * time.Millisecond)
		require.Empty(t, f.activeSessions())
	})
}

// Between the arrival of a message and the arming of the timer the machine did other work.
func TestASessionOfABusyMachineEndsAtItsExactDeadline(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 10)
		f.clock.Stall(30 * time.Millisecond)
		f.sendToLane(0, &rearm{})
		f.advance(f.remaining(session))
		require.Empty(t, f.activeSessions())
	})
}

// The hold ended before the deadline, and its release is decided after it.
func TestAReleaseThatIsDecidedAfterTheDeadlineLetsTheSessionExpire(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 1)
		f.advance(time.Minute - 100*time.Millisecond)
		release := f.blockFlushes()
		require.NoError(t, f.controller(0).Help())
		synctest.Wait()
		released := f.runAsync(func() error {
			_, err := f.On(f.requestContext(), session, lanes.Release{}, nil)
			return err
		})
		f.advance(500 * time.Millisecond)
		release()
		require.NoError(t, <-released)
		synctest.Wait()
		require.Equal(t, time.Minute, f.endedSession(session).Used)
	})
}

// A stop counts from its arrival, however long the change before it takes to be saved.
func TestAStopCountsFromWhenItArrived(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 10)
		f.advance(4 * time.Minute)
		release := f.blockFlushes()
		modified := f.runAsync(func() error { return f.tryModify(session, 1) })
		stopped := f.runAsync(func() error {
			_, err := f.On(f.requestContext(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
			return err
		})
		require.False(t, f.isOpen(0), "closed before the change under way is saved")
		f.advance(500 * time.Millisecond)
		release()
		require.NoError(t, <-modified)
		require.NoError(t, <-stopped)
		require.Equal(t, 4*time.Minute, f.endedSession(session).Used)
		require.False(t, f.isOpen(0))
	})
}

func TestOneOfManyConcurrentCreatesSucceeds(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		sales := make([]lanes.Create, 50)
		creates := make([]func() error, len(sales))
		for i := range sales {
			sales[i] = f.newSale(30)
			creates[i] = func() error {
				_, err := f.Create(f.requestContext(), f.laneID(0), sales[i], nil)
				return err
			}
		}
		var winners []lanes.Create
		for i, err := range runTogether(creates...) {
			if err == nil {
				winners = append(winners, sales[i])
			} else {
				require.ErrorIs(t, err, lanes.ErrLaneOccupied)
			}
		}
		require.Len(t, winners, 1)
		require.Equal(t, winners[0].Session, f.activeSessions()[0])
		require.Len(t, f.activeSessions(), 1)
		require.Equal(t, 30*time.Minute, f.remaining(winners[0].Session))
	})
}

func TestABoundedNumberOfClientsMayWaitForALane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		first := f.runAsync(func() error { return f.tryModify(session, 1) })
		var waiting []<-chan error
		for range maxWaiting {
			waiting = append(waiting, f.runAsync(func() error { return f.tryModify(session, 1) }))
		}
		require.ErrorIs(t, f.tryModify(session, 1), lanes.ErrOverloaded)
		created := f.runAsync(func() error { return f.tryCreate(1, 30) })
		paused := f.runAsync(func() error {
			_, err := f.On(f.requestContext(), session, lanes.Pause{Session: session}, nil)
			return err
		})
		require.False(t, f.isOpen(0), "a closing request is never refused as overloaded")
		release()
		require.NoError(t, <-first)
		require.NoError(t, <-paused)
		require.NoError(t, <-created, "another lane is not affected")
		for _, answer := range waiting {
			require.NoError(t, <-answer)
		}
		require.Equal(t, (30+1+maxWaiting)*time.Minute, f.remaining(session))
		f.modify(session, 1)
	})
}

func TestARequestWhoseClientGaveUpIsSkipped(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		f.runAsync(func() error { return f.tryModify(session, 1) })
		clientContext, giveUp := context.WithCancel(t.Context())
		modified := f.runAsync(func() error {
			_, err := f.On(clientContext, session, lanes.Modify{Session: session, Minutes: 10}, keyed("k", "modify"))
			return err
		})
		giveUp()
		require.ErrorIs(t, <-modified, lanes.ErrTimeout)
		release()
		synctest.Wait()
		require.Equal(t, 31*time.Minute, f.remaining(session))
		_, err := f.On(f.requestContext(), session, lanes.Modify{Session: session, Minutes: 10}, keyed("k", "modify"))
		require.NoError(t, err, "the key is free")
		require.Equal(t, 41*time.Minute, f.remaining(session))
	})
}

func TestAStopIsDoneAlthoughItsClientGaveUp(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		f.runAsync(func() error { return f.tryModify(session, 1) })
		clientContext, giveUp := context.WithCancel(t.Context())
		stopped := f.runAsync(func() error {
			_, err := f.On(clientContext, session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
			return err
		})
		giveUp()
		require.ErrorIs(t, <-stopped, lanes.ErrTimeout)
		release()
		synctest.Wait()
		require.Empty(t, f.activeSessions())
		require.Equal(t, lanes.EndReason(lanes.ByPOS), f.endedSession(session).Reason)
	})
}

// Twenty clients use each of a hundred lanes concurrently. Their answers must be explained by a lane that
// does one command after the other, each between its call and its return. No time passes meanwhile.
func TestEveryLaneIsLinearizable(t *testing.T) {
	const clients, together, commands = 20, 8, 6
	runFixture(t, func(t *testing.T, f *fixture) {
		var order atomic.Int64
		var all sync.WaitGroup
		clientsOfLanes := make([]*laneClients, len(f.settings.Layout.Lanes))
		for i := range clientsOfLanes {
			clientsOfLanes[i] = &laneClients{fixture: f, lane: i, order: &order, turns: make(chan struct{}, together)}
			for client := range clients {
				all.Go(func() { clientsOfLanes[i].run(client, commands) })
			}
		}
		all.Wait()
		heard := map[string]int{}
		for i, group := range clientsOfLanes {
			require.Len(t, group.history, clients*commands)
			require.True(t, porcupine.CheckOperations(laneModel, group.history), "the history of lane %d", i)
			for _, did := range group.history {
				heard[did.Input.(laneCall).kind+" "+did.Output.(laneReply).code]++
			}
		}
		for _, answer := range []string{
			"create ok", "create lane_occupied", "get ok", "get session_ended", "enter ok",
			"enter not_waiting", "modify ok",
			"modify session_ended", "modify duration_out_of_range", "pause ok", "pause not_running", "resume ok",
			"resume not_paused", "stop ok", "stop session_ended",
		} {
			require.NotZero(t, heard[answer], answer)
		}
	}, withLanes(100))
}

// laneCall and laneReply are a request of a client and its answer.
type (
	laneCall struct {
		kind    string
		session uuid.UUID
		minutes int
	}
	laneReply struct {
		code    string
		phase   lanes.Phase
		minutes int
	}
)

// laneClients are the clients of one lane. They know the newest session once it has been created.
type laneClients struct {
	*fixture
	lane   int
	order  *atomic.Int64
	turns  chan struct{}
	newest atomic.Pointer[uuid.UUID]

	mu      sync.Mutex
	history []porcupine.Operation
}

func (c *laneClients) run(client, commands int) {
	random := rand.New(rand.NewPCG(uint64(c.lane), uint64(client)))
	for range commands {
		c.turns <- struct{}{}
		op := c.choose(random)
		called := c.order.Add(1)
		answer := c.call(op)
		returned := c.order.Add(1)
		<-c.turns
		c.mu.Lock()
		c.history = append(c.history, porcupine.Operation{
			ClientId: client, Input: op, Call: called, Output: answer, Return: returned,
		})
		c.mu.Unlock()
	}
}

func (c *laneClients) choose(random *rand.Rand) laneCall {
	newest := c.newest.Load()
	kinds := []string{"create", "create", "modify", "modify", "pause", "resume", "enter", "get", "get", "stop"}
	kind := kinds[random.IntN(len(kinds))]
	switch {
	case newest == nil || kind == "create":
		return laneCall{"create", uuid.New(), 60 + random.IntN(60)}
	case kind == "modify":
		return laneCall{kind, *newest, random.IntN(600) - 200}
	}
	return laneCall{kind, *newest, 0}
}

func (c *laneClients) call(op laneCall) laneReply {
	ctx := c.Context()
	var view *lanes.SessionView
	var err error
	switch op.kind {
	case "create":
		sale := lanes.Create{
			Session: op.session, Group: c.group, Customer: "Jo", Minutes: op.minutes,
			AutoStart: op.minutes%2 == 0,
		}
		if view, err = c.Create(ctx, c.laneID(c.lane), sale, nil); err == nil {
			c.newest.Store(&op.session)
		}
	case "modify":
		view, err = c.On(ctx, op.session, lanes.Modify{Session: op.session, Minutes: op.minutes}, nil)
	case "pause":
		view, err = c.On(ctx, op.session, lanes.Pause{Session: op.session}, nil)
	case "resume":
		view, err = c.On(ctx, op.session, lanes.Resume{Session: op.session}, nil)
	case "enter":
		view, err = c.On(ctx, op.session, lanes.Enter{Session: op.session}, nil)
	case "stop":
		view, err = c.On(ctx, op.session, lanes.Stop{Session: op.session, By: lanes.ByPOS}, nil)
	case "get":
		view, err = c.Session(ctx, op.session)
	}
	if err != nil {
		return laneReply{code: code(err)}
	}
	return laneReply{"ok", view.Phase, view.Minutes}
}

// laneModel is a lane that does one command after the other: its state, and its answers.
var laneModel = porcupine.Model{
	Init: func() any { return laneState{} },
	Step: func(state, input, output any) (bool, any) {
		next, answer := state.(laneState).apply(input.(laneCall))
		return answer == output.(laneReply), next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

type laneState struct {
	session uuid.UUID
	phase   lanes.Phase
	minutes int
}

func (l laneState) apply(op laneCall) (laneState, laneReply) {
	refused := func(err *lanes.Error) (laneState, laneReply) { return l, laneReply{code: err.Code()} }
	next := l
	switch {
	case op.kind == "create" && l.session != uuid.Nil:
		return refused(lanes.ErrLaneOccupied)
	case op.kind == "create":
		next = laneState{op.session, lanes.Waiting, op.minutes}
		if op.minutes%2 == 0 {
			next.phase = lanes.Running
		}
	case op.session != l.session: // the session was created before, or no client would know its id
		return refused(lanes.ErrSessionEnded)
	case op.kind == "modify" && (l.minutes+op.minutes < lanes.MinMinutes || l.minutes+op.minutes > lanes.MaxMinutes):
		return refused(lanes.ErrDurationOutOfRange)
	case op.kind == "modify":
		next.minutes += op.minutes
	case op.kind == "enter" && l.phase != lanes.Waiting:
		return refused(lanes.ErrNotWaiting)
	case op.kind == "pause" && l.phase != lanes.Running:
		return refused(lanes.ErrNotRunning)
	case op.kind == "resume" && l.phase != lanes.Paused:
		return refused(lanes.ErrNotPaused)
	case op.kind == "enter", op.kind == "resume":
		next.phase = lanes.Running
	case op.kind == "pause":
		next.phase = lanes.Paused
	case op.kind == "stop":
		return laneState{}, laneReply{"ok", l.phase, l.minutes}
	}
	return next, laneReply{"ok", next.phase, next.minutes}
}

// Whoever reads an event can read its session as the event left it, however long the lane's actor takes for
// its next turn.
func TestWhoReadsAnEventCanReadItsSession(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		// whileBusy saves what action changes, while the lane is kept in a turn that does not end.
		whileBusy := func(action func() error, read func()) {
			release := f.blockFlushesFrom(func(b store.Batch) bool { return len(b.Events) > 0 })
			ended := f.runAsync(action)
			defer func() { require.NoError(t, <-ended) }()
			defer f.keepBusy(0)()
			release()
			synctest.Wait()
			read()
		}
		newest := func() lanes.Event {
			events, err := f.Events(f.requestContext(), 0, 100)
			require.NoError(t, err)
			return events[len(events)-1].Event
		}
		var session uuid.UUID
		whileBusy(func() error { f.create(0, 30); return nil }, func() {
			event := newest()
			require.Equal(t, lanes.SessionStarted, event.Kind)
			session = event.Session
			view, err := f.Session(f.requestContext(), session)
			require.NoError(t, err)
			require.NotNil(t, view.Began)
		})
		whileBusy(func() error { f.stop(session); return nil }, func() {
			event := newest()
			require.Equal(t, lanes.SessionStopped, event.Kind)
			_, err := f.Session(f.requestContext(), session)
			require.ErrorIs(t, err, lanes.ErrSessionEnded)
			require.Empty(t, f.Sessions())
		})
	})
}
