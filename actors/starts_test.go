package actors

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// scheduleStart lets the sessions begin together so long from now.
func (f *fixture) scheduleStart(ahead time.Duration, sessions ...uuid.UUID) lanes.StartView {
	f.Helper()
	view, err := f.tryScheduleStart(ahead, sessions...)
	require.NoError(f, err)
	synctest.Wait()
	return view
}

func (f *fixture) tryScheduleStart(ahead time.Duration, sessions ...uuid.UUID) (lanes.StartView, error) {
	return f.ScheduleStart(f.requestContext(), sessions, f.Now().Add(ahead), nil)
}

// startStates returns what the start comes to for each of its sessions.
func (f *fixture) startStates(start uuid.UUID) (states []lanes.StartState) {
	f.Helper()
	view, err := f.Start(start)
	require.NoError(f, err)
	return statesOf(view)
}

func statesOf(view lanes.StartView) (states []lanes.StartState) {
	for _, session := range view.Sessions {
		states = append(states, session.State)
	}
	return states
}

func TestSessionsBeginTogether(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second, third := f.createWaiting(0, 30), f.createWaiting(1, 45), f.createWaiting(2, 30)
		start := f.scheduleStart(30*time.Second, first, second, third)
		require.Equal(t, f.Now().Wall.Add(30*time.Second).UTC(), start.At.UTC())
		require.Equal(t, []lanes.StartState{lanes.StartWaiting, lanes.StartWaiting, lanes.StartWaiting},
			statesOf(start))
		f.advance(10 * time.Second)
		f.enter(1) // that customer begins at once
		f.restart()
		f.advance(20*time.Second - time.Millisecond)
		f.requireOpen(1)
		f.advance(time.Millisecond)
		f.requireOpen(0, 1, 2)
		for _, session := range []uuid.UUID{first, third} {
			require.Equal(t, start.At.UTC(), f.sessionView(session).Began.UTC(), "one instant for all")
		}
		require.Equal(t, []lanes.StartState{lanes.StartBegun, lanes.StartBegun, lanes.StartBegun},
			f.startStates(start.ID))
		f.advance(30 * time.Minute)
		require.Equal(t, 30*time.Minute, f.endedSession(first).Used)
		require.Equal(t, start.At.Add(30*time.Minute).UTC(), f.endedSession(third).At)
	}, withLanes(3))
}

// The hardware is told ahead, and opens by itself while the begin is being saved.
func TestTheHardwareBeginsByItself(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		f.scheduleStart(30*time.Second, session)
		f.advance(29 * time.Second)
		f.store.setHook(func(ctx context.Context, _ store.Batch, flush func() error) error {
			time.Sleep(800 * time.Millisecond)
			return flush()
		})
		f.advance(time.Second)
		require.True(t, f.isOpen(0))
		require.Equal(t, lanes.Waiting, f.sessionView(session).Phase)
		f.advance(2 * time.Second)
		require.Equal(t, lanes.Running, f.sessionView(session).Phase)
		require.Equal(t, 29*time.Minute+58*time.Second, f.remaining(session))
	})
}

// Whatever closes reaches a lane that has begun by itself, although its begin is not saved.
func TestALaneThatHasBegunByItselfCloses(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				var sessions []uuid.UUID
				for i := range 4 {
					sessions = append(sessions, f.createWaiting(i, 30))
				}
				f.scheduleStart(30*time.Second, sessions...)
				f.advance(30*time.Second - time.Millisecond)
				f.store.setHook(outage)
				f.advance(time.Millisecond)
				f.requireOpen(0, 1, 2, 3)
				paused := f.runAsync(func() error { return f.tryPause(sessions[0]) })
				stopped := f.runAsync(func() error { return f.tryStop(sessions[1]) })
				f.startHold(f.laneScope(2))
				synctest.Wait()
				f.requireOpen(3)
				f.advance(2 * time.Second)
				f.requireOpen(3)
				f.storeReturns()
				f.advance(5 * time.Second)
				require.ErrorIs(t, <-paused, lanes.ErrNotSaved)
				require.ErrorIs(t, <-stopped, lanes.ErrNotSaved)
				f.requireOpen(3)
				require.Equal(t, lanes.Paused, f.sessionView(sessions[0]).Phase)
				require.Equal(t, 1, f.countStops(sessions[1]))
				require.Equal(t, lanes.Paused, f.sessionView(sessions[2]).Phase)
				require.Equal(t, lanes.Running, f.sessionView(sessions[3]).Phase)
			}, withLanes(4))
		})
	}
}

// A start that is taken back before it has come begins nothing, although that cannot be saved by then. Where it is not
// saved in the end, the sessions begin late, with all of their time.
func TestAStartThatIsTakenBackDoesNotBegin(t *testing.T) {
	for name, resolution := range resolutions {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session, other := f.createWaiting(0, 30), f.createWaiting(1, 30)
				start := f.scheduleStart(30*time.Second, session, other)
				f.advance(29 * time.Second)
				resolve := f.blockNextFlush(resolution.end)
				deleted := f.runAsync(func() error { return f.DeleteStart(f.requestContext(), start.ID, nil) })
				f.advance(4 * time.Second)
				f.requireOpen()
				resolve()
				if <-deleted == nil {
					require.True(t, resolution.written)
					f.advance(time.Minute)
					f.requireOpen()
					require.Nil(t, f.sessionView(session).Began)
					return
				}
				require.False(t, resolution.written)
				f.requireOpen(0, 1)
				began := f.sessionView(session).Began.UTC()
				require.WithinRange(t, began, start.At.Add(3*time.Second), start.At.Add(4*time.Second))
				require.Equal(t, 30*time.Minute-f.Now().Wall.Sub(began), f.remaining(session))
			})
		})
	}
}

func TestALaneUnderAHoldBeginsWhenItEnds(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, other := f.createWaiting(0, 30), f.createWaiting(1, 30)
		start := f.scheduleStart(30*time.Second, session, other)
		f.setHold(f.laneScope(0))
		require.Equal(t, []lanes.StartState{lanes.StartHeld, lanes.StartWaiting}, f.startStates(start.ID))
		f.advance(time.Minute)
		f.requireOpen(1)
		f.liftHold(f.laneScope(0))
		f.advance(0)
		f.requireOpen(0, 1)
		require.Equal(t, 30*time.Minute, f.remaining(session), "with all of its time")
	})
}

func TestALaneWithoutItsLinkBeginsWhenThatIsBack(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		start := f.scheduleStart(30*time.Second, session)
		restoreLink := f.cutLink(0)
		require.Equal(t, []lanes.StartState{lanes.StartOffline}, f.startStates(start.ID))
		f.advance(time.Minute)
		require.False(t, f.isOpen(0), "nobody could hold it")
		require.Equal(t, lanes.Waiting, f.sessionView(session).Phase)
		restoreLink()
		require.True(t, f.isOpen(0))
		began := *f.sessionView(session).Began
		require.Greater(t, began.Sub(start.At), 30*time.Second, "its real begin")
		require.Greater(t, f.remaining(session), 30*time.Minute-lastBackoff, "no time was lost")
	})
}

func TestAGatewayThatWasDownBeginsLate(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		start := f.scheduleStart(30*time.Second, session)
		f.advance(time.Second)
		f.kill()
		f.clock.Suspend(5 * time.Minute)
		f.start()
		f.advance(time.Second)
		require.True(t, f.isOpen(0))
		require.Greater(t, f.sessionView(session).Began.Sub(start.At), 4*time.Minute)
		require.Greater(t, f.remaining(session), 30*time.Minute-2*time.Second)
	})
}

func TestAStartIsDeleted(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, begun := f.createWaiting(0, 30), f.createWaiting(1, 30)
		start := f.scheduleStart(30*time.Second, session, begun)
		f.enter(1)
		require.NoError(t, f.DeleteStart(f.requestContext(), start.ID, nil))
		f.advance(time.Minute)
		f.requireOpen(1)
		require.Equal(t, []lanes.StartState{lanes.StartBegun}, f.startStates(start.ID))
		require.ErrorIs(t, f.DeleteStart(f.requestContext(), start.ID, nil), lanes.ErrNotWaiting)
		f.stop(begun)
		require.ErrorIs(t, f.DeleteStart(f.requestContext(), start.ID, nil), lanes.ErrStartNotFound)
		_, err := f.Start(start.ID)
		require.ErrorIs(t, err, lanes.ErrStartNotFound)
	})
}

func TestAStartThatCannotBe(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		waiting, running := f.createWaiting(0, 30), f.create(1, 30)
		_, err := f.tryScheduleStart(time.Minute, waiting, uuid.New())
		require.ErrorIs(t, err, lanes.ErrSessionNotFound)
		_, err = f.tryScheduleStart(time.Minute, running)
		require.ErrorIs(t, err, lanes.ErrNotWaiting)
		f.stop(running)
		start := f.scheduleStart(time.Minute, running, waiting)
		require.Equal(t, []lanes.StartState{lanes.StartOver, lanes.StartWaiting}, statesOf(start))
		other := f.createWaiting(1, 30)
		_, err = f.tryScheduleStart(time.Hour, other, waiting)
		require.ErrorIs(t, err, lanes.ErrStartScheduled)
		refused := f.commands.Newest(f.laneID(0))[0]
		require.Equal(t, []string{lanes.DidSchedule, "start_scheduled"}, []string{refused.Command, refused.Result})
		require.Less(t, refused.Took, time.Second, "from its arrival on")
		require.Equal(t, []lanes.StartState{lanes.StartWaiting}, f.startStates(start.ID))
		f.advance(time.Hour)
		f.requireOpen()
		require.Equal(t, lanes.Waiting, f.sessionView(other).Phase, "all of it or nothing")
	})
}

// A start after which sessions would end after closing names all of them, and schedules none. Without them the others
// begin. Staff may schedule it all the same, and their log says of which session.
func TestAStartThatIsTooLate(t *testing.T) {
	closingAt := func(minute int) *lanes.Hours {
		hours := &lanes.Hours{Zone: time.UTC}
		for day := range hours.Week {
			hours.Week[day] = []lanes.Opening{{From: 0, To: minute}}
		}
		return hours
	}
	early := func(f *fixture) { // the bubble's clock begins at midnight
		f.settings.Layout.Hours, f.settings.Layout.Bays[1].Hours = closingAt(20*60), closingAt(90)
	}
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second, fits, other := f.createWaiting(2, 60), f.createWaiting(3, 61), f.createWaiting(0, 60),
			f.createWaiting(1, 30)
		_, err := f.tryScheduleStart(time.Hour, fits, second, first)
		var refusal *lanes.StartAfterClosing
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, []uuid.UUID{second, first}, refusal.Sessions)
		require.Equal(t, 90*time.Minute, refusal.Closes.Sub(refusal.Closes.Truncate(24*time.Hour)))
		for _, session := range []uuid.UUID{first, second, fits} {
			lane, _ := f.Find(session)
			require.Nil(t, lane.Session.Start, "all of it or nothing")
		}
		require.Equal(t, "after_closing", f.commands.Newest(f.laneID(2))[0].Result)
		_, err = f.ScheduleStart(f.requestContext(), []uuid.UUID{fits, first}, f.Now().Add(time.Hour),
			keyOfStart("free"))
		require.ErrorIs(t, err, lanes.ErrAfterClosing)
		_, err = f.ScheduleStart(f.requestContext(), []uuid.UUID{fits}, f.Now().Add(time.Hour), keyOfStart("free"))
		require.NoError(t, err, "a refusal frees the key")

		acts := len(f.acts())
		_, err = f.StaffScheduleStart(f.requestContext(), "sam", []uuid.UUID{first, other}, f.Now().Add(time.Hour))
		require.NoError(t, err)
		late := map[uuid.UUID]bool{}
		for _, act := range f.acts()[acts:] {
			require.Equal(t, lanes.DidSchedule, act.What)
			late[act.Session] = act.AfterClosing
		}
		require.Equal(t, map[uuid.UUID]bool{first: true, other: false}, late)
		f.scheduleStart(29*time.Minute, second)
		f.advance(time.Hour)
		f.requireOpen(0, 1, 2, 3)
	}, withBays, early)
}

// A session that would end after closing also if it began now is not refused a start: what was paid for begins.
func TestAStartOfWhatWasSoldPastClosing(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		sale := f.newSale(60)
		sale.AutoStart, sale.AfterClosing = false, true
		_, err := f.StaffCreate(f.requestContext(), "sam", f.laneID(0), sale)
		require.NoError(t, err)
		f.scheduleStart(10*time.Minute, sale.Session)
		f.advance(10 * time.Minute)
		f.requireOpen(0)
	}, func(f *fixture) {
		f.settings.Layout.Hours = &lanes.Hours{Zone: time.UTC}
		for day := range f.settings.Layout.Hours.Week {
			f.settings.Layout.Hours.Week[day] = []lanes.Opening{{From: 0, To: 30}}
		}
	})
}

// A request that is repeated schedules nothing twice, and is answered as before.
func TestAStartWithAKey(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		key := &lanes.KeyOf[lanes.StartView]{
			Name: "k", Fingerprint: "f",
			Render: func(view lanes.StartView) (int, []byte) {
				return 201, []byte(view.ID.String() + string(view.Sessions[0].State))
			},
		}
		start, err := f.ScheduleStart(f.requestContext(), []uuid.UUID{session}, f.Now().Add(time.Minute), key)
		require.NoError(t, err)
		for range 2 {
			_, err = f.ScheduleStart(f.requestContext(), []uuid.UUID{session}, f.Now().Add(time.Hour), key)
			var repeat *lanes.Repeat
			require.ErrorAs(t, err, &repeat)
			_, body := repeat.Replay()
			require.Equal(t, start.ID.String()+"waiting", string(body))
			f.restart()
		}
		_, err = f.ScheduleStart(f.requestContext(), []uuid.UUID{uuid.New()}, f.Now(), keyOfStart("free"))
		require.ErrorIs(t, err, lanes.ErrSessionNotFound)
		other := f.createWaiting(1, 30)
		_, err = f.ScheduleStart(f.requestContext(), []uuid.UUID{other}, f.Now().Add(time.Minute), keyOfStart("free"))
		require.NoError(t, err, "a refusal frees the key")
	})
}

func keyOfStart(name string) *lanes.KeyOf[lanes.StartView] {
	return &lanes.KeyOf[lanes.StartView]{
		Name: name, Fingerprint: "f",
		Render: func(lanes.StartView) (int, []byte) { return 201, []byte("{}") },
	}
}

// What is done together is saved in one write, or not at all.
func TestAStartIsOneWrite(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				first, second := f.createWaiting(0, 30), f.createWaiting(1, 30)
				f.store.setHook(outage)
				asked := f.runAsync(func() error {
					_, err := f.tryScheduleStart(time.Minute, first, second)
					return err
				})
				f.advance(2 * time.Second)
				stopped := f.runAsync(func() error { return f.tryStop(second) })
				f.advance(2 * time.Second)
				require.ErrorIs(t, <-stopped, lanes.ErrNotSaved, "a lane that is lent stops")
				f.storeReturns()
				err := <-asked
				f.advance(time.Second)
				scheduled := errors.Is(err, lanes.ErrTimeout) || err == nil
				start, _ := f.Find(first)
				require.Equal(t, 1, f.countStops(second))
				if !scheduled {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
					require.Nil(t, start.Session.Start)
				}
				require.NoError(t, f.tryModify(first, 5), "the lane is back")
			})
		})
	}
}

// A lane that panics while it is lent is loaded with what was saved, and nothing is done by halves.
func TestALentLanePanics(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.createWaiting(0, 30), f.createWaiting(1, 30)
		early, late := 0, 1 // the lane that lends itself before the other, by its id
		if f.laneID(0).String() > f.laneID(1).String() {
			early, late = 1, 0
		}
		endTurn := f.keepBusy(late)
		asked := f.runAsync(func() error {
			_, err := f.tryScheduleStart(time.Minute, first, second)
			return err
		})
		synctest.Wait()
		f.panicLane(early)
		synctest.Wait()
		endTurn()
		require.ErrorIs(t, <-asked, lanes.ErrStoreUnavailable)
		for _, session := range []uuid.UUID{first, second} {
			lane, _ := f.Find(session)
			require.Nil(t, lane.Session.Start)
			require.NoError(t, f.tryModify(session, 5))
		}
	})
}

func (f *fixture) sessionView(session uuid.UUID) *lanes.SessionView {
	f.Helper()
	view, err := f.Session(f.Context(), session)
	require.NoError(f, err)
	return view
}

// A start finds its session also where that moves while it is looked for.
func TestAStartIsPlannedBesideAMove(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		first, second := f.Lanes()[0].Lane, f.Lanes()[1].Lane
		move := func(from, to lanes.Lane) {
			from.Session, to.Session = nil, first.Session
			f.board.PublishSaved(from, to)
		}
		var moves sync.WaitGroup
		done := make(chan struct{})
		moves.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					move(first, second)
					move(second, first)
				}
			}
		})
		schedule := lanes.Schedule{Start: lanes.Start{ID: uuid.New(), At: f.Now().Add(time.Minute)}}
		for range 20_000 {
			_, ops, err := f.Starts.plan(t.Context(), schedule, []uuid.UUID{session})
			if err != nil || len(ops) != 1 {
				t.Errorf("%d operations, and the error %v", len(ops), err)
				break
			}
		}
		close(done)
		moves.Wait()
	})
}

// Operations on which the gateway panics leave nothing behind: their lanes go on, what they were to close closes, and
// their key is free.
func TestOperationsOnWhichTheGatewayPanics(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		key := keyed("k", "start")
		start := func(err error) func() {
			return func() {
				nothing := func() ([]lanes.Operation, error) { return nil, err }
				require.ErrorIs(t, f.decide(f.requestContext(), requester{}, key, nothing,
					func([]lanes.Decided) {}), err)
			}
		}
		require.Panics(t, start(nil))
		start(lanes.ErrNotWaiting)()

		stopped, other := f.create(0, 30), f.create(1, 30)
		batchKey := &lanes.KeyOf[[]lanes.BatchResult]{Name: "b", Fingerprint: "batch"}
		require.Panics(t, func() {
			_, _ = f.Batch(f.requestContext(), lanes.Batch{Operations: []lanes.Operation{
				stopOf(stopped), {Session: other},
			}}, batchKey)
		})
		synctest.Wait()
		f.requireOpen(1)
		require.Equal(t, 1, f.countStops(stopped))
		require.NoError(t, f.answerOf(f.runAsync(func() error { return f.tryModify(other, 5) }), 0))
		f.create(0, 30)
		f.requireOpen(0, 1)
		_, err := f.Batch(f.requestContext(), lanes.Batch{
			Operations: []lanes.Operation{modifyOf(other, 999)}, Atomic: true,
		}, batchKey)
		require.ErrorAs(t, err, new(lanes.Refusals), "its key is free")
	})
}
