package actors

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/board"
	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/lanes"
)

// What an actor cannot take any more, because it panicked at the wrong moment or is being stopped: nobody
// waits for it in vain, and no idempotency key stays taken.

// createOnceAsync is createOnce in a goroutine.
func (f *fixture) createOnceAsync(key *lanes.Key) <-chan error {
	return f.runAsync(func() error {
		_, err := f.createOnce(key)
		return err
	})
}

// requireKeyAnswers requires that a request with the key is answered at once with the session that was sold with it.
func (f *fixture) requireKeyAnswers(key *lanes.Key) {
	f.Helper()
	err := f.answerOf(f.createOnceAsync(key), 0)
	require.Len(f, f.activeSessions(), 1)
	requireRepeat(f.T, err, f.activeSessions()[0])
}

// blockStop makes the i-th lane wait in the middle of a message, and again, once it is told to stop, until
// its connection has stopped: what is sent to it after this call is still in its mailbox when it has stopped.
// stop makes the range's actor panic, which stops it.
func (f *fixture) blockStop(i int) (stop func()) {
	unblock, connectionStopped := f.blockLane(i), make(chan struct{})
	f.sendToLane(i, &request{
		ctx: f.Context(), command: lanes.Modify{Minutes: 1},
		done: func(bool) { <-connectionStopped },
	})
	return func() {
		f.addresses.sendRoot((*toLane)(nil)) // a panic
		synctest.Wait()
		unblock()
		synctest.Wait()
		close(connectionStopped)
	}
}

// The range's actor panics while its lane is busy: what is in the lane's mailbox is answered, and its keys
// are free again.
func TestWhatALaneLeavesInItsMailboxIsRefused(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(1, 30)
		stop := f.blockStop(0)
		sale := f.createOnceAsync(keyed("k", "f"))
		moved := f.runAsync(func() error { return f.tryMove(session, 0) })
		stop()
		require.ErrorIs(t, f.answerOf(sale, 0), lanes.ErrStarting)
		require.ErrorIs(t, f.answerOf(moved, 0), lanes.ErrStarting)
		f.advance(time.Second)
		_, err := f.createOnce(keyed("k", "f"))
		require.NoError(t, err, "the key is free again")
		f.requireWholeTree(2)
	})
}

// The change is durable, and the message that says so is in the mailbox of a lane that stops with its tree.
func TestASaveWhoseLaneStopsBeforeItHearsOfItEndsItsKey(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		release := f.blockFlushes()
		sale := f.createOnceAsync(keyed("k", "f"))
		stop := f.blockStop(0)
		release()
		synctest.Wait()
		stop()
		require.ErrorIs(t, f.answerOf(sale, 0), lanes.ErrTimeout)
		f.advance(time.Second)
		f.requireKeyAnswers(keyed("k", "f"))
		f.requireWholeTree(2)
	})
}

// The library suspends the mailbox of a lane that has panicked until its restart. Here that does not come:
// the tree restarts.
func TestALaneThatStopsInsteadOfRestartingRefusesItsMailbox(t *testing.T) {
	driver := &blockingDriver{}
	runFixture(t, func(t *testing.T, f *fixture) {
		goOn := make(chan struct{})
		driver.newest().shut.Store(&goOn)
		f.panicLane(0) // the restart waits for the connection
		sale := f.createOnceAsync(keyed("k", "f"))
		f.addresses.sendRoot((*toLane)(nil)) // the range's actor restarts too
		synctest.Wait()
		close(goOn)
		require.ErrorIs(t, f.answerOf(sale, 0), lanes.ErrStarting)
		f.advance(time.Second)
		_, err := f.createOnce(keyed("k", "f"))
		require.NoError(t, err, "the key is free again")
		f.requireWholeTree(1)
	}, withDriver(driver), withLanes(1))
}

// The change is durable, and the lane panics as it puts it in force: the sale stands, and its client hears so.
func TestAPanicAfterTheSaveIsAnsweredAsSaved(t *testing.T) {
	var f *fixture
	var intact *board.Board
	log := logFunc(func(line string) {
		if strings.Contains(line, "an actor panicked") {
			f.board = intact
		}
	})
	runFixture(t, func(t *testing.T, started *fixture) {
		f, intact = started, started.board
		release := f.blockFlushes()
		sale := f.createOnceAsync(keyed("k", "f"))
		endTurn := f.keepBusy(0)
		release()
		synctest.Wait()
		f.board = nil // swap panics
		endTurn()
		require.NoError(t, f.answerOf(sale, 0))
		f.advance(time.Second)
		require.Equal(t, map[string]int{"lane": 1}, f.Health().Restarts)
		f.requireKeyAnswers(keyed("k", "f"))
		require.True(t, f.isOpen(0))
		f.requireWholeTree(2)
	}, withLog(zerolog.New(log)))
}

// supervisorRecorder records which children are restarted.
type supervisorRecorder struct {
	actor.Supervisor
	restarted []*actor.PID
}

func (s *supervisorRecorder) RestartChildren(children ...*actor.PID) {
	s.restarted = append(s.restarted, children...)
}

// The events actor panics just as the range stops. A restart behind its stop would bring it back to life.
func TestTheEventsActorIsNotRestartedWhileItStops(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		supervisor, parent := &supervisorRecorder{}, &rangeActor{r: f.Range}
		events := f.eventsActor()
		fail := func(child *actor.PID) {
			parent.ChildFailed(supervisor, child, errDefect, &poison{})
		}
		fail(events)
		require.Len(t, supervisor.restarted, 1)
		require.NoError(t, f.delivery.Close(f.requestContext(), time.Second))
		fail(events)
		require.Len(t, supervisor.restarted, 1)
		f.addresses.mu.RLock()
		lane := f.addresses.lanes[f.laneID(0)]
		f.addresses.mu.RUnlock()
		fail(lane)
		require.Equal(t, lane, supervisor.restarted[1], "lanes run on until the end")
	})
}

// The events actor panics on a message when its stop is in its mailbox already.
func TestAnEventsActorThatPanicsBeforeItsStopStops(t *testing.T) {
	var armed atomic.Bool
	goOn := make(chan struct{})
	log := logFunc(func(line string) {
		if strings.Contains(line, `"message":"event"`) && armed.CompareAndSwap(true, false) {
			<-goOn
			panic(errDefect)
		}
	})
	runFixture(t, func(t *testing.T, f *fixture) {
		goOn = make(chan struct{})
		armed.Store(true)
		f.create(0, 30) // without a webhook its events are only logged
		stopped := f.runAsync(func() error { return f.Range.stop(f.Context()) })
		close(goOn)
		f.advance(time.Minute)
		require.NoError(t, <-stopped)
		require.EqualValues(t, 1, f.metricValue("rangegate_actor_restarts_total", "events"))
		for kind, live := range f.Actors().Live {
			require.Zero(t, live, kind)
		}
	}, withLog(zerolog.New(log)))
}

// lockCheckingClock notes whether the gateway's lock was held when a committer read the clock that the
// gateway had called, which a committer does under its own lock. Whoever else reads it may do so while
// another goroutine has the gateway's.
type lockCheckingClock struct {
	clock.Clock
	gateway atomic.Pointer[Gateway]
	reads   atomic.Int64 // that were checked
	held    atomic.Bool
}

func (c *lockCheckingClock) Now() lanes.Instant {
	if g := c.gateway.Load(); g != nil && calledBy("commit.(*Committer).") && calledBy("actors.(*Gateway).") {
		c.reads.Add(1)
		if g.mu.TryLock() {
			g.mu.Unlock()
		} else {
			c.held.Store(true)
		}
	}
	return c.Clock.Now()
}

// calledBy reports whether a function of that name is among the callers on this goroutine.
func calledBy(name string) bool {
	counters := make([]uintptr, 64)
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters)])
	for {
		frame, more := frames.Next()
		if strings.Contains(frame.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// What a committer calls under its lock may take the gateway's: the other order would be a deadlock.
func TestTheLockOfTheGatewayIsNotHeldWhileACommitterSaves(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.create(1, 30)
		f.shutDown()
		f.openStore()
		checking := &lockCheckingClock{Clock: f.clock}
		f.registry = prometheus.NewRegistry()
		f.gateway = NewGateway(checking, f.store, metrics.New(f.registry), f.log)
		checking.gateway.Store(f.gateway)
		retired := f.settings
		retired.Layout.Lanes = makePlaces(1)
		retired.Retire = []uuid.UUID{f.laneID(0), f.laneID(1)} // two writes before the tree starts
		require.NoError(t, f.gateway.StartRange(f.Context(), retired))
		synctest.Wait()
		require.True(t, f.gateway.Ready(1))
		require.Positive(t, checking.reads.Load())
		require.False(t, checking.held.Load())
	})
}

// Whoever ends a claim first has ended it: a lane may panic after it did, and its next life ends what was
// under way again.
func TestAKeyIsSettledOnce(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		claim, err := f.keys.Claim(t.Context(), *keyed("k", "f"))
		require.NoError(t, err)
		kept := claim.Answer(&lanes.SessionView{ID: uuid.New(), Minutes: 30}, f.clock.Now())
		claim.Settle(kept)
		claim.Settle(nil)
		_, err = f.keys.Claim(t.Context(), *keyed("k", "f"))
		require.ErrorAs(t, err, new(*lanes.Repeat))
	})
}
