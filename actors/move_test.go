package actors

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func TestAMoveKeepsTheTimeLeft(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(10 * time.Minute)
		var together []bool
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if len(batch.Lanes) > 0 {
				together = append(together, len(batch.Lanes) == 2 && batch.Lanes[0].Session == nil &&
					batch.Lanes[1].Session.ID == session)
			}
			return flush()
		})
		f.move(session, 1)
		f.store.setHook(nil)
		require.Equal(t, []bool{true}, together, "both lanes change in one write")
		require.False(t, f.isOpen(0))
		require.True(t, f.isOpen(1))
		require.Equal(t, 20*time.Minute, f.remaining(session))
		require.Equal(t, f.laneID(1), f.Sessions()[0].Lane)

		f.pause(session)
		f.advance(time.Minute)
		f.move(session, 0)
		require.False(t, f.isOpen(0), "it stays paused")
		f.resume(session)
		f.restart()
		require.True(t, f.isOpen(0))
		f.advance(20*time.Minute - time.Millisecond)
		require.True(t, f.isOpen(0), "a millisecond before its end")
		f.advance(time.Millisecond)
		require.Equal(t, uuid.Nil, f.controller(0).Shown().Session)
		ended := f.endedSession(session)
		require.Equal(t, f.laneID(0), ended.Lane)
		require.Equal(t, 30*time.Minute, ended.Used)
		require.Equal(t, time.Minute, ended.Paused)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionPaused,
			lanes.SessionModified, lanes.SessionResumed, lanes.SessionStopped,
		}, f.eventKinds(session))
	})
}

// Whoever follows a session is woken when it moves, and finds it on the other lane; after its end it is known
// when that was.
func TestWhoFollowsASessionFollowsItToAnotherLane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		status, before, wake, found := f.SessionChange(session)
		require.True(t, found)
		require.Equal(t, f.laneID(0), status.ID)
		_, err := f.SessionEnd(f.requestContext(), uuid.New())
		require.ErrorIs(t, err, lanes.ErrSessionNotFound)

		f.move(session, 1)
		require.Equal(t, struct{}{}, <-wake)
		status, version, wake, found := f.SessionChange(session)
		require.True(t, found)
		require.Equal(t, f.laneID(1), status.ID)
		require.Greater(t, version, before)

		f.advance(30 * time.Minute)
		require.Equal(t, struct{}{}, <-wake)
		_, _, _, found = f.SessionChange(session)
		require.False(t, found)
		at, err := f.SessionEnd(f.requestContext(), session)
		require.NoError(t, err)
		require.Equal(t, f.endedSession(session).At, at)
	})
}

func TestWhereASessionCannotMove(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, other := f.create(0, 30), f.create(1, 30)
		f.controller(3).Refuse(true)
		f.controller(3).Cut(context.Canceled)
		f.advance(time.Minute)
		require.ErrorIs(t, f.tryMove(session, 0), lanes.ErrLaneOccupied, "the lane that it is on")
		require.ErrorIs(t, f.tryMove(session, 1), lanes.ErrLaneOccupied)
		require.ErrorIs(t, f.tryMove(session, 2), lanes.ErrLaneNotAccessible)
		require.ErrorIs(t, f.tryMove(session, 3), lanes.ErrLaneNotUsable)
		_, err := f.Move(f.requestContext(), session, uuid.New(), nil)
		require.ErrorIs(t, err, lanes.ErrLaneNotFound)
		require.ErrorIs(t, f.tryMove(uuid.New(), 4), lanes.ErrSessionNotFound)
		f.stop(other)
		require.ErrorIs(t, f.tryMove(other, 4), lanes.ErrSessionEnded)
		require.NoError(t, f.tryCreate(4, 30), "no refused move keeps a lane free")
		require.Equal(t, 29*time.Minute, f.remaining(session))
	}, withLanes(5), withClosedLane(2))
}

func TestALaneThatASessionMovesToIsNotSold(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, other := f.create(0, 30), f.create(2, 30)
		release := f.blockFlushes()
		moved := f.runAsync(func() error { return f.tryMove(session, 1) })
		require.ErrorIs(t, f.tryCreate(1, 30), lanes.ErrLaneOccupied)
		require.ErrorIs(t, f.tryMove(other, 1), lanes.ErrLaneOccupied)
		require.Equal(t, []uuid.UUID{session, other}, f.activeSessions(), "not moved before it is saved")
		require.False(t, f.isOpen(1))
		release()
		require.NoError(t, <-moved)
		require.Equal(t, []uuid.UUID{session, other}, f.activeSessions())
		require.Equal(t, f.laneID(1), f.Sessions()[0].Lane)
		f.create(0, 30)
	}, withLanes(3))
}

func TestAMoveThatIsNotSavedFreesTheDestination(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.store.setHook(refuseFlush)
		require.ErrorIs(t, f.tryMove(session, 1), lanes.ErrStoreUnavailable)
		f.store.setHook(nil)
		f.advance(time.Second)
		require.True(t, f.isOpen(0))
		f.create(1, 30)
	})
}

func TestAMoveThatIsGivenUpFreesTheDestination(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		f.runAsync(func() error { return f.tryModify(session, 1) })
		clientContext, giveUp := context.WithCancel(t.Context())
		moved := f.runAsync(func() error {
			_, err := f.Move(clientContext, session, f.laneID(1), nil)
			return err
		})
		giveUp()
		require.ErrorIs(t, <-moved, lanes.ErrTimeout)
		synctest.Wait()
		created := f.runAsync(func() error { return f.tryCreate(1, 30) })
		release()
		require.NoError(t, <-created)
		synctest.Wait()
		require.Equal(t, f.laneID(0), f.Sessions()[0].Lane)
		require.True(t, f.isOpen(0))
	})
}

func TestAMoveIsMadeOnceForItsKey(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		move := func() error {
			_, err := f.Move(f.requestContext(), session, f.laneID(1), keyed("m", "move to 1"))
			return err
		}
		require.NoError(t, move())
		require.ErrorAs(t, move(), new(*lanes.Repeat))
		f.move(session, 0)
		require.ErrorAs(t, move(), new(*lanes.Repeat))
		require.Equal(t, f.laneID(0), f.Sessions()[0].Lane)
	})
}

// watchBoard lists the sessions again and again until end is called: each list must have this one, once.
func (f *fixture) watchBoard(session uuid.UUID) (end func()) {
	var lists sync.WaitGroup
	done := make(chan struct{})
	lists.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if shown := f.activeSessions(); len(shown) != 1 || shown[0] != session {
				f.Errorf("a list with %v", shown)
				return
			}
			if _, err := f.Session(f.Context(), session); err != nil {
				f.Errorf("looked up: %v", err)
				return
			}
		}
	})
	return func() {
		close(done)
		lists.Wait()
	}
}

func TestAListShowsAMovingSessionOnce(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		end := f.watchBoard(session)
		for i := range 50 {
			if err := f.tryMove(session, (i+1)%2); err != nil {
				t.Errorf("move %d: %v", i, err)
			}
		}
		end()
	})
}

func TestAListShowsASessionOnceAlthoughTheLaneItLeavesPanics(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 480)
		for i := range 20 {
			from, to := i%2, (i+1)%2
			release := f.blockFlushes()
			moved := f.runAsync(func() error { return f.tryMove(session, to) })
			stop := f.watchBoard(session)
			f.addresses.sendTo(f.laneID(from), &saveResult{})
			release()
			require.Contains(t, []error{nil, lanes.ErrTimeout}, <-moved)
			shownOn := f.laneID(from)
			for tries := 0; shownOn != f.laneID(to) && tries < 50_000_000; tries++ {
				runtime.Gosched()
				lane, _ := f.board.Find(session)
				shownOn = lane.ID
			}
			stop()
			require.Equal(t, f.laneID(to), shownOn)
			f.advance(10 * time.Second)
		}
	})
}

func TestAStopThatRacesAMoveEndsTheSessionOnce(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for round := range 50 {
			session := f.create(0, 30)
			errs := runTogether(
				func() error { return f.tryMove(session, 1) },
				func() error { return f.tryStop(session) },
			)
			require.NoError(t, errs[1], "round %d", round)
			require.Empty(t, f.activeSessions())
			require.Equal(t, 1, f.countStops(session))
			for i := range 2 {
				require.Equal(t, uuid.Nil, f.controller(i).Shown().Session)
			}
		}
	})
}

// The stop arrives at the lane that the session is leaving, or at its destination.
func TestAStopFollowsAMovingSession(t *testing.T) {
	for at, which := range []string{"to the lane it leaves", "to the lane it goes to"} {
		t.Run(which, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.advance(10 * time.Minute)
				release := f.blockFlushes()
				moved := f.runAsync(func() error { return f.tryMove(session, 1) })
				stopped := f.runAsync(func() error {
					stop := &request{command: lanes.Stop{Session: session, By: lanes.ByPOS}, by: lanes.ByPOS}
					stop.ctx = f.requestContext()
					_, err := f.ask(stop.ctx, f.laneID(at), stop)
					return err
				})
				f.advance(500 * time.Millisecond)
				release()
				require.NoError(t, <-moved)
				require.NoError(t, <-stopped)
				synctest.Wait()
				require.False(t, f.isOpen(0))
				require.False(t, f.isOpen(1))
				require.Equal(t, f.laneID(1), f.endedSession(session).Lane)
				require.Equal(t, 10*time.Minute, f.endedSession(session).Used, "it counts from its arrival")
				f.create(0, 30)
				f.create(1, 30)
			})
		})
	}
}

// A hold over the destination that is set during the move finds the session there and pauses it.
func TestAHoldOverTheLaneThatASessionMovesTo(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(10 * time.Minute)
		release := f.blockFlushes()
		moved := f.runAsync(func() error { return f.tryMove(session, 1) })
		send := func(command lanes.Command) func() error {
			return func() error {
				ctx := f.requestContext()
				_, err := f.ask(ctx, f.laneID(1), &request{ctx: ctx, command: command, by: lanes.ByStaff})
				return err
			}
		}
		held := f.runAsync(send(lanes.Hold{}))
		require.True(t, f.controller(1).Shown().Hold, "at once")
		release()
		require.NoError(t, <-moved)
		require.NoError(t, <-held)
		f.advance(time.Minute)
		require.False(t, f.isOpen(1))
		require.Equal(t, 20*time.Minute, f.remaining(session))
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionPaused,
		}, f.eventKinds(session))
		require.NoError(t, send(lanes.Release{})())
		synctest.Wait()
		require.True(t, f.isOpen(1))
	})
}

func TestTwoSessionsCannotSwapLanes(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		a, b := f.create(0, 30), f.create(1, 30)
		for range 50 {
			errs := runTogether(
				func() error { return f.tryMove(a, 1) },
				func() error { return f.tryMove(b, 0) },
			)
			require.Equal(t, []error{lanes.ErrLaneOccupied, lanes.ErrLaneOccupied}, errs)
		}
		require.Equal(t, []uuid.UUID{a, b}, f.activeSessions())
		f.modify(a, 1)
		f.modify(b, 1)
	})
}

func TestOneOfTwoSessionsGetsTheFreeLane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for range 50 {
			a, b := f.create(0, 30), f.create(1, 30)
			errs := runTogether(
				func() error { return f.tryMove(a, 2) },
				func() error { return f.tryMove(b, 2) },
				func() error { return f.tryMove(a, 1) },
			)
			require.ElementsMatch(t, []error{nil, lanes.ErrLaneOccupied}, errs[:2])
			require.Len(t, f.activeSessions(), 2)
			f.stop(a)
			f.stop(b)
			require.Empty(t, f.activeSessions())
		}
		require.NoError(t, f.tryCreate(2, 30), "no lane stays kept free")
	}, withLanes(3))
}

// A stop that is refused, as the lane that its session leaves panics, does not stop the session after all. One that
// comes to the lane's next life while the move hangs follows the session, also if its client has gone by then.
func TestAStopOfAMovingSessionAfterAPanic(t *testing.T) {
	stop := func(f *fixture, session uuid.UUID) func() error {
		return func() error {
			ctx, cancel := withDeadline(f.T, 3*time.Second)
			defer cancel()
			_, err := f.On(ctx, session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
			return err
		}
	}
	t.Run("before the panic", func(t *testing.T) {
		runFixture(t, func(t *testing.T, f *fixture) {
			session := f.create(0, 30)
			release := f.blockFlushes()
			f.runAsync(func() error { return f.tryMove(session, 1) })
			stopped := f.runAsync(stop(f, session))
			f.panicLane(0)
			require.ErrorIs(t, <-stopped, lanes.ErrInternal)
			release()
			f.advance(time.Second)
			f.requireOpen(1)
		})
	})
	t.Run("after the panic", func(t *testing.T) {
		runFixture(t, func(t *testing.T, f *fixture) {
			session := f.create(0, 30)
			release := f.blockFlushes()
			f.runAsync(func() error { return f.tryMove(session, 1) })
			f.panicLane(0)
			stopped := f.runAsync(stop(f, session))
			require.ErrorIs(t, f.answerOf(stopped, 4*time.Second), lanes.ErrTimeout)
			release()
			f.advance(time.Second)
			f.requireOpen()
			require.Equal(t, 1, f.countStops(session))
		})
	})
}

// Whichever of the two lanes panics, and whenever, the session is on exactly one of them.
func TestAPanicDuringAMoveLosesNoSession(t *testing.T) {
	for panicking, which := range []string{"of the lane it leaves", "of the lane it goes to"} {
		t.Run(which+", while it is saved", func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				release := f.blockFlushes()
				moved := f.runAsync(func() error { return f.tryMove(session, 1) })
				f.panicLane(panicking)
				require.Equal(t, []uuid.UUID{session}, f.activeSessions())
				release()
				require.Contains(t, []error{nil, lanes.ErrTimeout}, <-moved)
				f.advance(time.Second)
				require.Equal(t, []uuid.UUID{session}, f.activeSessions())
				require.Equal(t, f.laneID(1), f.Sessions()[0].Lane)
				require.False(t, f.isOpen(0))
				require.True(t, f.isOpen(1))
				f.create(0, 30)
				f.modify(session, 1)
			})
		})
		t.Run(which+", before it is decided", func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				release := f.blockFlushes()
				f.runAsync(func() error { return f.tryModify(session, 1) })
				moved := f.runAsync(func() error { return f.tryMove(session, 1) })
				f.panicLane(panicking)
				release()
				require.Error(t, <-moved)
				f.advance(time.Second)
				require.Equal(t, f.laneID(0), f.Sessions()[0].Lane)
				require.True(t, f.isOpen(0))
				f.create(1, 30)
			})
		})
	}
}
