package actors

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rangegate/actors/commit"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

func TestStoppingTheGatewaySavesPendingChanges(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		modified := f.runAsync(func() error { return f.tryModify(session, 5) })
		stopping := f.gateway
		f.gateway = nil
		stopped := f.runAsync(func() error { return stopping.Stop(t.Context()) })
		require.Empty(t, stopped, "it waits")
		release()
		require.NoError(t, <-stopped)
		require.Contains(t, []error{nil, lanes.ErrTimeout}, <-modified,
			"the client is not told that nothing was changed")
		require.Error(t, f.tryModify(session, 1), "the gateway has stopped")
		require.NoError(t, f.store.Close())
		f.start()
		require.Equal(t, 35*time.Minute, f.remaining(session))
	})
}

// checkAlive asks the gateway whether it is alive and waits that long.
func (f *fixture) checkAlive(within time.Duration) error {
	ctx, cancel := context.WithTimeout(f.Context(), within)
	defer cancel()
	return f.gateway.Alive(ctx)
}

func TestAGatewayThatWorksIsAlive(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := time.Now()
		for range 3 {
			require.NoError(t, f.checkAlive(time.Second))
		}
		require.Zero(t, time.Since(begun))
		f.gateway.drop(f.Range)
		synctest.Wait()
		require.NoError(t, f.checkAlive(time.Second), "a range that another process owns is not asked")
	}, withLanes(50))
}

// blockingCommand is a command whose name blocks its lane until the gate is closed.
type blockingCommand struct {
	lanes.Command
	gate chan struct{}
}

func (e blockingCommand) Name() string {
	<-e.gate
	return e.Command.Name()
}

// A deadlock: one lane of fifty waits for a lock that nobody releases. Later probes stay unanswered too,
// until the lock is free.
func TestAGatewayWithABlockedLaneIsNotAlive(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		gate := make(chan struct{})
		f.sendToLane(7, &request{ctx: f.Context(), command: blockingCommand{lanes.Pause{}, gate}})
		synctest.Wait()
		for range 2 {
			require.ErrorContains(t, f.checkAlive(time.Second), "1 of 1 ranges have actors that do not answer, "+
				f.settings.Layout.Range.String())
		}
		close(gate)
		require.NoError(t, f.checkAlive(time.Second))
	}, withLanes(50))
}

// stopWithin stops the gateway, which must return within that time.
func (f *fixture) stopWithin(d time.Duration) error {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	begun := time.Now()
	err := f.gateway.Stop(ctx)
	require.LessOrEqual(f, time.Since(begun), d)
	synctest.Wait()
	return err
}

func TestTheGatewayStopsInTimeAlthoughTheStoreIsDown(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.store.setHook(outage)
				require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryStop(session) }), time.Second),
					lanes.ErrNotSaved)
				require.ErrorIs(t, f.stopWithin(3*time.Second), context.DeadlineExceeded,
					"it could not save everything")
				made, closed := recorder.connections()
				require.Equal(t, made, closed, "every link is closed")
				require.False(t, f.isOpen(0))

				f.advance(commit.FlushTimeout)
				require.NoError(t, f.store.Close())
				f.store.setHook(nil)
				f.start()
				require.Contains(t, f.activeSessions(), session, "the stop was answered as not saved")
			}, withRecorder(&recorder))
		})
	}
}

func TestTheGatewayStopsInTimeAlthoughADriverHangs(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		blocked := make(chan struct{})
		driver.newest().fail()
		driver.setDialResult(func(context.Context) error {
			<-blocked
			return errNoAnswer
		})
		f.advance(lastBackoff)
		require.Error(t, f.stopWithin(3*time.Second))
		close(blocked)
		synctest.Wait()
		require.NoError(t, f.store.Close())
		driver.setDialResult(nil)
		f.start()
	})
}

func TestTheGatewayStopsInTimeAlthoughAReceiverHangs(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		blocked := make(chan struct{})
		webhook.setReply(func(_ context.Context, event lanes.Event) lanes.Attempt {
			<-blocked
			return lanes.Attempt{At: event.At, Status: 200}
		})
		f.create(0, 30)
		require.Error(t, f.stopWithin(3*time.Second))
		close(blocked)
		synctest.Wait()
		require.NoError(t, f.store.Close())
		f.start()
		require.Equal(t, lanes.Interrupted, f.eventLog()[0].Attempt.Error)
	}, withWebhook(webhook))
}

// requireNotOwner requires that every request is refused at once.
func (f *fixture) requireNotOwner(session uuid.UUID) {
	f.Helper()
	asked := time.Now()
	for name, err := range map[string]error{
		"create": f.tryCreate(1, 30),
		"modify": f.tryModify(session, 5),
		"stop":   f.tryStop(session),
		"move":   f.tryMove(session, 1),
		"repeat": f.tryStopOnce(session, keyed("k", "f")),
	} {
		require.ErrorIs(f, err, lanes.ErrNotOwner, name)
	}
	require.Equal(f, asked, time.Now())
	_, err := f.gateway.Range(f.settings.Layout.Range)
	require.Equal(f, lanes.ErrNotOwner, err, "nothing can be read from it either")
	require.False(f, f.gateway.Ready(1))
}

func TestARangeThatAnotherProcessClaimedIsStopped(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(time.Minute)
		f.claimElsewhere()
		claimed := time.Now()
		require.ErrorIs(t, f.tryModify(session, 5), lanes.ErrNotOwner)
		synctest.Wait()
		made, closed := recorder.connections()
		require.Equal(t, made, closed, "every link is closed")
		require.Empty(t, recorder.sent(f.laneID(0), claimed))
		require.True(t, f.isOpen(0), "its new owner has not closed it")
		f.requireNotOwner(session)
		f.advance(time.Hour)
		again, _ := recorder.connections()
		require.Equal(t, made, again, "no link is made again")
	}, withRecorder(&recorder))
}

func TestACheckpointNoticesTheClaim(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.claimElsewhere()
		f.advance(checkpointEvery)
		f.requireNotOwner(session)
	})
}

func TestWaitingClientsAreAnsweredWhenAnotherProcessClaimsTheRange(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var sessions []uuid.UUID
		for i := range 4 {
			sessions = append(sessions, f.create(i, 30))
		}
		release := f.blockFlushes()
		var waiting []<-chan error
		for range 3 {
			for _, session := range sessions {
				waiting = append(waiting, f.runAsync(func() error { return f.tryModify(session, 1) }))
			}
		}
		waiting = append(waiting, f.runAsync(func() error { return f.tryMove(sessions[0], 4) }))
		f.claimElsewhere()
		release()
		for _, asked := range waiting {
			require.ErrorIs(t, f.answerOf(asked, 0), lanes.ErrNotOwner)
		}
	}, withLanes(5))
}

// The tree may stop before it has read every request.
func TestNoRequestWaitsForAStoppedTree(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		require.NoError(t, f.tree.Stop(t.Context(), f.addresses.root.Load()))
		modified := f.runAsync(func() error { return f.tryModify(session, 1) })
		moved := f.runAsync(func() error { return f.tryMove(session, 1) })
		f.gateway.drop(f.Range)
		require.ErrorIs(t, f.answerOf(modified, 0), lanes.ErrNotOwner)
		require.ErrorIs(t, f.answerOf(moved, 0), lanes.ErrNotOwner)
	})
}

// A change that was sent to the store without an answer may have been saved before the range was claimed.
func TestAnUnknownOutcomeIsNotAnsweredAsUnchanged(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.store.setHook(flushAndLoseReply)
		modified := f.runAsync(func() error { return f.tryModify(session, 5) })
		f.claimElsewhere()
		f.store.setHook(nil)
		require.ErrorIs(t, f.answerOf(modified, time.Second), lanes.ErrTimeout)
		f.requireNotOwner(session)
		f.restart()
		f.advance(lastBackoff)
		require.Equal(t, 35, f.Sessions()[0].Minutes)
	})
}

func TestTheNewOwnerOfARangeRunsUndisturbed(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(10 * time.Minute)
		newer := NewGateway(f.clock, f.store, metrics.New(prometheus.NewRegistry()), f.log)
		require.NoError(t, newer.StartRange(t.Context(), f.settings))
		defer func() { require.NoError(t, newer.Stop(context.Background())) }()
		synctest.Wait()
		require.True(t, newer.Ready(1))
		owner, err := newer.Range(f.settings.Layout.Range)

		f.advance(time.Minute)
		f.requireNotOwner(session)
		require.True(t, f.isOpen(0))
		require.NoError(t, err)
		_, err = owner.On(t.Context(), session, lanes.Modify{Session: session, Minutes: 5}, nil)
		require.NoError(t, err)
		f.advance(24*time.Minute - time.Millisecond)
		require.True(t, f.isOpen(0))
		for _, lane := range owner.Lanes() {
			require.Equal(t, lanes.LinkUp, lane.Link)
		}
		_, err = owner.On(t.Context(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, uuid.Nil, f.controller(0).Shown().Session)
		require.Equal(t, 35*time.Minute-time.Millisecond, f.endedSession(session).Used)
	})
}

// Two gateways start at the same time: the first is fenced while it still starts its lanes.
func TestARangeClaimedElsewhereWhileItStarts(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		for range 10 {
			f.shutDown()
			f.clock.Reboot() // so that recovery saves the sessions
			f.store.setHook(func(context.Context, store.Batch, func() error) error { return store.ErrFenced })
			if err := f.tryStart(); err != nil {
				require.ErrorIs(t, err, lanes.ErrNotOwner)
			} else {
				synctest.Wait()
				f.requireNotOwner(session)
			}
			f.store.setHook(nil)
		}
		f.restart()
		require.Equal(t, []uuid.UUID{session}, f.activeSessions())
	})
}

// The change was saved, and another process claimed the range before its lane knew. The client must not be
// told that nothing was changed.
func TestASavedChangeIsNotAnsweredAsUnchanged(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		modified := f.runAsync(func() error { return f.tryModify(session, 5) })

		// The lane's queue is full: it refuses the next request, and blocks in that.
		blocked, unblock := make(chan struct{}), make(chan struct{})
		for range maxWaiting {
			f.sendToLane(0, &request{ctx: t.Context(), command: lanes.Modify{Session: session, Minutes: 1}})
		}
		f.sendToLane(0, &request{
			ctx: t.Context(), command: lanes.Modify{Session: session, Minutes: 1},
			done: func(bool) {
				close(blocked)
				<-unblock
			},
		})
		unblockLane := sync.OnceFunc(func() { close(unblock) })
		defer unblockLane()
		<-blocked
		release()
		synctest.Wait()
		f.claimElsewhere()
		require.ErrorIs(t, f.tryCreate(1, 30), lanes.ErrNotOwner)
		require.ErrorIs(t, f.answerOf(modified, time.Second), lanes.ErrTimeout)
		unblockLane()
		synctest.Wait()
		f.restart()
		f.advance(lastBackoff)
		require.Equal(t, 35, f.Sessions()[0].Minutes)
	})
}

func TestAStoppedRangeLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	runFixture(t, func(t *testing.T, f *fixture) {
		for i := range 10 {
			f.create(i, 30)
		}
		f.restart()
		require.Len(t, f.activeSessions(), 10)
		f.shutDown()
		f.advance(libraryTimer)
		goleak.VerifyNone(t, append(synctestGoroutines, before)...)
	}, withLanes(1000))
	goleak.VerifyNone(t, before)
}

// synctestGoroutines are those of a synctest bubble itself.
var synctestGoroutines = []goleak.Option{
	goleak.IgnoreTopFunction("internal/synctest.Run"), goleak.IgnoreTopFunction("testing/synctest.testingSynctestTest"),
}

// A bound, not a measurement: an idle lane is a few actors, a link and a line on the board.
func TestAnIdleLaneTakesLittleMemory(t *testing.T) {
	const count, bound = 2_000, 16 << 10
	runFixture(t, func(t *testing.T, f *fixture) {
		f.shutDown()
		f.settings.Layout.Lanes = makePlaces(count)
		before := memoryInUse()
		f.start()
		taken := memoryInUse() - before
		t.Logf("%d bytes a lane", taken/count)
		require.Less(t, taken, uint64(count*bound))
		f.create(count-1, 30)
		require.True(t, f.isOpen(count-1))
	})
}

// memoryInUse returns the bytes in use, heap and stacks.
func memoryInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}
