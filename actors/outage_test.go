package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

func TestACreateThatTheStoreRefusesChangesNothing(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := time.Now()
		sentBefore := len(recorder.sent(f.laneID(0), begun))
		f.store.setHook(refuseFlush)
		require.ErrorIs(t, f.tryCreate(0, 30), lanes.ErrStoreUnavailable)
		synctest.Wait()
		require.Empty(t, f.activeSessions())
		require.Len(t, recorder.sent(f.laneID(0), begun), sentBefore, "nothing reached the hardware")
		require.False(t, f.Ready())

		f.storeReturns()
		session := f.create(0, 30)
		log, err := f.Events(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, log, 2, "created and started, of the session that was sold")
		f.restart()
		require.Equal(t, []uuid.UUID{session}, f.activeSessions())
	}, withRecorder(&recorder))
}

func TestWhileAFlushHangsOthersAreRefusedAtOnce(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.store.setHook(hangFlush)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		sold := f.runAsync(func() error {
			_, err := f.Create(ctx, f.laneID(0), f.newSale(30), nil)
			return err
		})
		f.advance(400 * time.Millisecond)
		other := f.runAsync(func() error { return f.tryCreate(1, 30) })
		f.advance(599 * time.Millisecond)
		require.True(t, f.Ready(), "a flush may take a second")
		require.ErrorIs(t, f.answerOf(other, time.Millisecond), lanes.ErrStoreUnavailable,
			"the write was not sent to the store")

		answered := time.Now()
		for i := range 2 {
			require.ErrorIs(t, f.tryCreate(i, 30), lanes.ErrStoreUnavailable)
		}
		require.Equal(t, answered, time.Now(), "at once")
		require.ErrorIs(t, f.answerOf(sold, 2*time.Second), lanes.ErrTimeout)
		require.Empty(t, f.activeSessions())
		require.False(t, f.isOpen(0))
	})
}

func TestAStopIsInForceWhileTheStoreIsDown(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.advance(10 * time.Minute)
				f.store.setHook(outage)
				arrived := f.clock.Now()
				stopped := f.runAsync(func() error { return f.tryStop(session) })
				require.False(t, f.isOpen(0), "locked before anyone has an answer")
				require.ErrorIs(t, f.answerOf(stopped, time.Second), lanes.ErrNotSaved)
				require.Empty(t, f.activeSessions())

				asked := time.Now()
				require.ErrorIs(t, f.tryStop(session), lanes.ErrNotSaved, "repeating is safe")
				require.ErrorIs(t, f.tryModify(session, 5), lanes.ErrSessionEnded)
				_, err := f.Session(t.Context(), session)
				require.ErrorIs(t, err, lanes.ErrSessionEnded)
				require.Equal(t, asked, time.Now(), "at once")

				f.advance(time.Minute)
				f.storeReturns()
				require.ErrorIs(t, f.tryStop(session), lanes.ErrSessionEnded)
				require.Equal(t, arrived.Wall, f.endedSession(session).At)
				require.Equal(t, 10*time.Minute, f.endedSession(session).Used)
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped},
					f.eventKinds(session))
				f.create(0, 30)
			})
		})
	}
}

func TestAPauseIsInForceWhileTheStoreIsDown(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.advance(10 * time.Minute)
				f.store.setHook(outage)
				paused := f.runAsync(func() error { return f.tryPause(session) })
				require.False(t, f.isOpen(0), "locked before anyone has an answer")
				require.ErrorIs(t, f.answerOf(paused, time.Second), lanes.ErrNotSaved)
				f.advance(time.Minute)
				require.Equal(t, 20*time.Minute, f.remaining(session))
				require.ErrorIs(t, f.tryPause(session), lanes.ErrNotRunning)
				_, err := f.On(t.Context(), session, lanes.Resume{Session: session}, nil)
				require.ErrorIs(t, err, lanes.ErrStoreUnavailable, "nothing opens before it is saved")

				f.storeReturns()
				f.restart()
				require.Equal(t, 20*time.Minute, f.remaining(session))
				require.False(t, f.isOpen(0))
				f.resume(session)
				require.True(t, f.isOpen(0))
				require.Equal(t, []lanes.Kind{
					lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed,
				}, f.eventKinds(session))
			})
		})
	}
}

func TestAnExpiryIsInForceWhileTheStoreIsDown(t *testing.T) {
	var recorder driverRecorder
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := f.clock.Now()
				session := f.create(0, 10)
				f.advance(9 * time.Minute)
				f.store.setHook(outage)
				late := time.Now()
				f.advance(2 * time.Minute)
				states := recorder.sent(f.laneID(0), late)
				require.Len(t, states, 1)
				require.Nil(t, states[0].state.Session, "the lane is cleared")
				require.Equal(t, late.Add(time.Minute), states[0].at, "at its deadline")
				require.Empty(t, f.activeSessions())

				f.storeReturns()
				require.Equal(t, lanes.Expired, f.endedSession(session).Reason)
				require.Equal(t, begun.Wall.Add(10*time.Minute), f.endedSession(session).At)
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped},
					f.eventKinds(session))
			}, withRecorder(&recorder))
		})
	}
}

func TestChangesDuringAnOutageAreSavedInOrder(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				first, second, third := f.create(0, 30), f.create(1, 30), f.create(2, 30)
				f.store.setHook(outage)
				for _, closing := range []func() error{
					func() error { return f.tryPause(second) },
					func() error { return f.tryStop(third) },
					func() error { return f.tryStop(second) },
					func() error { return f.tryStop(first) },
				} {
					require.ErrorIs(t, f.answerOf(f.runAsync(closing), time.Second), lanes.ErrNotSaved)
					f.advance(100 * time.Millisecond) // into the next try
				}
				f.storeReturns()

				history, err := f.History(t.Context(), 0, 10)
				require.NoError(t, err)
				var ended []uuid.UUID
				for _, record := range history {
					ended = append(ended, record.Session.ID)
				}
				require.Equal(t, []uuid.UUID{third, second, first}, ended)
				log, err := f.Events(t.Context(), 6, 10)
				require.NoError(t, err)
				var happened []lanes.Kind
				for _, logged := range log {
					happened = append(happened, logged.Event.Kind)
				}
				require.Equal(t, []lanes.Kind{
					lanes.SessionPaused, lanes.SessionStopped, lanes.SessionStopped, lanes.SessionStopped,
				}, happened)
				f.restart()
				require.Empty(t, f.activeSessions())
			}, withLanes(3))
		})
	}
}

// The committer declares the store down at the very moment that the flush returns.
func TestAFlushThatTakesExactlyASecond(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 100)
		for range 100 {
			f.store.setHook(func(_ context.Context, _ store.Batch, flush func() error) error {
				f.store.setHook(nil)
				<-time.After(commit.SlowAfter)
				return flush()
			})
			require.NoError(t, f.tryModify(session, 1))
			f.advance(100 * time.Millisecond)
			require.True(t, f.Ready(), "the store is up again soon")
		}
	})
}

// A change of the lane hangs in the store: it is unknown whether it will be saved. Closing requests that come
// meanwhile are in force at once.

func TestAStopOverridesAChangeThatHangs(t *testing.T) {
	changes := map[string]struct {
		paused  bool
		command func(session uuid.UUID) lanes.Command
		fact    lanes.Kind
	}{
		"modify": {
			false, func(s uuid.UUID) lanes.Command { return lanes.Modify{Session: s, Minutes: 10} },
			lanes.SessionModified,
		},
		"resume": {true, func(s uuid.UUID) lanes.Command { return lanes.Resume{Session: s} }, lanes.SessionResumed},
	}
	for name, change := range changes {
		for ending, resolution := range resolutions {
			t.Run(name+" that ends "+ending, func(t *testing.T) {
				var recorder driverRecorder
				runFixture(t, func(t *testing.T, f *fixture) {
					session := f.create(0, 30)
					f.advance(time.Minute)
					if change.paused {
						f.pause(session)
					}
					before := f.eventKinds(session)
					resolve := f.blockNextFlush(resolution.end)
					changed := f.runAsync(func() error {
						_, err := f.On(t.Context(), session, change.command(session), nil)
						return err
					})
					f.advance(500 * time.Millisecond)
					arrived, locked := f.clock.Now(), time.Now()
					stopped := f.runAsync(func() error { return f.tryStop(session) })
					require.False(t, f.isOpen(0), "locked before the outcome is known")
					require.ErrorIs(t, f.answerOf(stopped, 500*time.Millisecond), lanes.ErrNotSaved)
					require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryStop(session) }), 0),
						lanes.ErrNotSaved)
					f.advance(2 * time.Second)

					resolve()
					if err := f.answerOf(changed, 0); resolution.written {
						require.NoError(t, err)
						before = append(before, change.fact)
					} else {
						require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
					}
					require.Equal(t, append(before, lanes.SessionStopped), f.eventKinds(session))
					require.Equal(t, arrived.Wall, f.endedSession(session).At)
					require.Empty(t, f.activeSessions())
					require.False(t, recorder.everOpened(f.laneID(0), locked), "it never opened in between")
				}, withRecorder(&recorder))
			})
		}
	}
}

func TestAHoldOverridesACreateThatHangs(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := time.Now()
				resolve := f.blockNextFlush(resolution.end)
				sale := f.newSale(30)
				sold := f.runAsync(func() error {
					_, err := f.Create(t.Context(), f.laneID(0), sale, nil)
					return err
				})
				f.sendToLane(0, &request{ctx: t.Context(), command: lanes.Hold{}, by: lanes.ByStaff})
				require.True(t, f.controller(0).Shown().Hold, "held before the outcome is known")
				f.advance(3 * time.Second)

				resolve()
				if err := f.answerOf(sold, 0); resolution.written {
					require.NoError(t, err)
					require.Equal(t, 30*time.Minute, f.remaining(sale.Session))
					require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused},
						f.eventKinds(sale.Session))
				} else {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
					require.Empty(t, f.activeSessions())
					require.Empty(t, f.eventKinds(sale.Session))
				}
				require.True(t, f.controller(0).Shown().Hold)
				require.False(t, recorder.everOpened(f.laneID(0), begun), "it never opened")
			}, withRecorder(&recorder))
		})
	}
}

func TestACreateThatHangsTakesEffectOnceItIsSaved(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				resolve := f.blockNextFlush(resolution.end)
				sale := f.newSale(30)
				ctx, cancel := withDeadline(t, 2*time.Second)
				defer cancel()
				_, err := f.Create(ctx, f.laneID(0), sale, nil)
				require.ErrorIs(t, err, lanes.ErrTimeout)
				require.Empty(t, f.activeSessions(), "an unknown change is not shown")
				require.False(t, f.isOpen(0))

				resolve()
				require.Equal(t, resolution.written, f.isOpen(0))
				f.restart()
				require.Equal(t, resolution.written, f.isOpen(0))
				if resolution.written {
					require.Equal(t, []uuid.UUID{sale.Session}, f.activeSessions())
				} else {
					require.Empty(t, f.activeSessions())
				}
			})
		})
	}
}

// The old deadline passes while it is unknown whether the new one is saved: the lane is locked until it is known.
func TestADeadlinePassesWhileAnExtensionHangs(t *testing.T) {
	const lockedFor = 3 * time.Second
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := f.clock.Now()
				session := f.create(0, 10)
				f.advance(10*time.Minute - time.Second)
				resolve := f.blockNextFlush(resolution.end)
				extended := f.runAsync(func() error { return f.tryModify(session, 5) })
				f.advance(time.Second + lockedFor)
				require.Equal(t, uuid.Nil, f.controller(0).Shown().Session, "locked")

				resolve()
				if err := f.answerOf(extended, 0); resolution.written {
					require.NoError(t, err)
					require.True(t, f.isOpen(0), "the session runs on")
					f.advance(5*time.Minute + lockedFor + time.Second)
				} else {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
				}
				ended := f.endedSession(session)
				require.Equal(t, lanes.Expired, ended.Reason)
				require.Equal(t, ended.Session.Sold, ended.Used)
				require.WithinRange(t, ended.At, begun.Wall.Add(ended.Session.Sold),
					begun.Wall.Add(ended.Session.Sold+lockedFor+time.Second), "nobody pays for a locked line")
			})
		})
	}
}

func TestAPauseOverridesAnExtensionThatHangs(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 10)
				resolve := f.blockNextFlush(resolution.end)
				extended := f.runAsync(func() error { return f.tryModify(session, 5) })
				f.advance(400 * time.Millisecond)
				paused := f.runAsync(func() error { return f.tryPause(session) })
				require.False(t, f.isOpen(0), "locked before the outcome is known")
				require.ErrorIs(t, f.answerOf(paused, 600*time.Millisecond), lanes.ErrNotSaved)
				f.advance(time.Second)

				resolve()
				left := 10*time.Minute - 400*time.Millisecond
				if err := f.answerOf(extended, 0); resolution.written {
					require.NoError(t, err)
					left += 5 * time.Minute
				}
				require.Equal(t, left, f.remaining(session), "paused from the arrival of the pause")
				require.False(t, f.isOpen(0))
				f.restart()
				require.Equal(t, left, f.remaining(session))
			})
		})
	}
}

// What opens counts from when it was decided, and its line opens once it is saved. A session is not charged for the
// time between, where the store was away; what came to close its line meanwhile counts from its arrival.
func TestWhatOpensWhileTheStoreHangsIsNotChargedForIt(t *testing.T) {
	const storeDown = 40 * time.Second
	type asked struct {
		session uuid.UUID
		do      func() error
	}
	resuming := func(f *fixture) asked {
		session := f.create(0, 30)
		f.advance(time.Minute)
		f.pause(session)
		return asked{session, func() error {
			return errorOf(f.On(f.Context(), session, lanes.Resume{Session: session}, nil))
		}}
	}
	moving := func(f *fixture) asked {
		session := f.create(0, 30)
		f.advance(time.Minute)
		return asked{session, func() error { return errorOf(f.Move(f.Context(), session, f.laneID(1), nil)) }}
	}
	batched := func(f *fixture) asked {
		session := f.create(0, 30)
		f.advance(time.Minute)
		return asked{session, func() error { return errorOf(f.batch(true, f.moveTo(1, session))) }}
	}
	nothing := func(*fixture, uuid.UUID) {}
	pause := func(f *fixture, session uuid.UUID) { f.runAsync(func() error { return f.tryPause(session) }) }
	holdSource := func(f *fixture, _ uuid.UUID) { f.startHold(f.laneScope(0)) }
	for name, c := range map[string]struct {
		begin func(f *fixture) asked
		// meanwhile happens 10 s after it was asked for.
		meanwhile func(f *fixture, session uuid.UUID)
		left      time.Duration // when it is saved
		on        int
		open      bool
	}{
		"a sale": {func(f *fixture) asked {
			sale := f.newSale(30)
			return asked{sale.Session, func() error { return errorOf(f.Create(f.Context(), f.laneID(0), sale, nil)) }}
		}, nothing, 30 * time.Minute, 0, true},
		"a sale of less than that": {func(f *fixture) asked {
			sale := f.newSale(1)
			return asked{sale.Session, func() error { return errorOf(f.Create(f.Context(), f.laneID(0), sale, nil)) }}
		}, func(f *fixture, _ uuid.UUID) { f.advance(time.Minute) }, time.Minute, 0, true},
		"a sale in a batch": {func(f *fixture) asked {
			sale := f.newSale(30)
			return asked{sale.Session, func() error { return errorOf(f.batch(true, f.saleOn(0, sale))) }}
		}, nothing, 30 * time.Minute, 0, true},
		"a resume":                             {resuming, nothing, 29 * time.Minute, 0, true},
		"a resume that is paused again":        {resuming, pause, 29 * time.Minute, 0, false},
		"a move, whose line stays open":        {moving, nothing, 29*time.Minute - storeDown, 1, true},
		"a move, whose lane is locked":         {moving, holdSource, 29*time.Minute - 10*time.Second, 1, true},
		"a batch's move, whose lane is locked": {batched, holdSource, 29*time.Minute - 10*time.Second, 1, true},
		"a move that is paused":                {moving, pause, 29*time.Minute - 10*time.Second, 1, false},
		"an extension behind the end": {func(f *fixture) asked {
			session := f.create(0, 10)
			f.advance(10*time.Minute - 20*time.Second)
			return asked{session, func() error {
				return errorOf(f.On(f.Context(), session, lanes.Modify{Session: session, Minutes: 5}, nil))
			}}
		}, nothing, 5 * time.Minute, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				asked := c.begin(f)
				storeReturns := f.hangFlushesFrom(func(store.Batch) bool { return true })
				f.runAsync(asked.do)
				f.advance(10 * time.Second)
				c.meanwhile(f, asked.session)
				f.advance(storeDown - 10*time.Second)
				storeReturns()
				left := f.remaining(asked.session)
				if c.open {
					require.LessOrEqual(t, left, c.left)
					require.GreaterOrEqual(t, left, c.left-triedWithin)
				} else {
					require.Equal(t, c.left, left)
				}
				require.Equal(t, c.open, f.isOpen(c.on))
				f.restart()
				require.Equal(t, left, f.remaining(asked.session))
				require.Equal(t, c.open, f.isOpen(c.on))
				f.stop(asked.session)
				ended := f.endedSession(asked.session)
				require.Equal(t, ended.Session.Sold-left, ended.Used)
			})
		})
	}
}

// The end of a ceasefire is saved for each lane, and opens it then.
func TestALaneThatIsReleasedWhileTheStoreHangsIsNotChargedForIt(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(0, 30), f.create(1, 30)
		f.advance(time.Minute)
		f.setHold(rangeScope)
		storeReturns := f.hangFlushesFrom(func(b store.Batch) bool {
			return slices.ContainsFunc(b.Lanes, func(s lanes.Snapshot) bool { return !s.Held })
		})
		f.runAsync(func() error { return f.tryLiftHold(rangeScope) })
		f.advance(40 * time.Second)
		f.requireHeld(0, 1)
		storeReturns()
		for i, session := range []uuid.UUID{first, second} {
			require.True(t, f.isOpen(i))
			require.GreaterOrEqual(t, f.remaining(session), 29*time.Minute-triedWithin)
		}
	})
}

// What is to be given back waits for the store, too, and comes before anything else: a session whose time was used up
// meanwhile does not end, and is not moved without it.
func TestWhatIsGivenBackComesFirst(t *testing.T) {
	const storeDown, refusing = 70 * time.Second, 10 * time.Second
	for name, minutes := range map[string]int{"it has time left": 30, "its time was used up meanwhile": 1} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				sale := f.newSale(minutes)
				storeReturns := f.hangFlushesFrom(func(store.Batch) bool { return true })
				f.runAsync(func() error { return errorOf(f.Create(f.Context(), f.laneID(0), sale, nil)) })
				f.advance(storeDown)
				hanging := *f.store.hooked.Load()
				f.store.setHook(func(ctx context.Context, batch store.Batch, flush func() error) error {
					if len(batch.Events) == 0 {
						return store.ErrRefused
					}
					return hanging(ctx, batch, flush)
				})
				storeReturns()
				f.advance(refusing)
				require.Equal(t, []uuid.UUID{sale.Session}, f.activeSessions())
				require.ErrorIs(t, f.tryMove(sale.Session, 1), lanes.ErrStoreUnavailable)
				f.store.setHook(nil)
				f.advance(triedWithin)
				require.True(t, f.isOpen(0))
				opened := refusing + 2*triedWithin
				require.GreaterOrEqual(t, f.remaining(sale.Session), time.Duration(minutes)*time.Minute-opened)
				f.move(sale.Session, 1)
				require.GreaterOrEqual(t, f.remaining(sale.Session), time.Duration(minutes)*time.Minute-opened)
			})
		})
	}
}

// What is given back is shown to the hardware once it is saved, also by a lane that begins anew meanwhile.
func TestWhatIsGivenBackIsNotShownBeforeItIsSaved(t *testing.T) {
	begins := map[string]func(f *fixture){
		"after a panic":  func(f *fixture) { f.panicLane(0) },
		"by an operator": func(f *fixture) { f.restartLane(0) },
	}
	for how, begin := range begins {
		t.Run(how, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.advance(time.Minute)
				f.pause(session)
				storeReturns := f.hangFlushesFrom(func(store.Batch) bool { return true })
				f.runAsync(func() error {
					return errorOf(f.On(f.Context(), session, lanes.Resume{Session: session}, nil))
				})
				f.advance(10 * time.Second)
				hanging, hung := *f.store.hooked.Load(), make(chan struct{})
				f.store.setHook(func(ctx context.Context, batch store.Batch, flush func() error) error {
					if len(batch.Events) == 0 { // it gives back
						<-hung
					}
					return hanging(ctx, batch, flush)
				})
				release := sync.OnceFunc(func() { close(hung) })
				f.Cleanup(release)
				storeReturns()
				end := time.Now().Add(f.controller(0).Shown().Remaining)
				begin(f)
				f.advance(5 * time.Second)
				require.True(t, f.isOpen(0))
				require.WithinDuration(t, end, time.Now().Add(f.controller(0).Shown().Remaining), time.Millisecond)
				stopped := f.runAsync(func() error { return f.tryStop(session) })
				require.ErrorIs(t, <-stopped, lanes.ErrNotSaved)
				require.False(t, f.isOpen(0))
				release()
				f.store.setHook(nil)
				f.advance(triedWithin)
				used := f.endedSession(session).Used
				require.GreaterOrEqual(t, used, time.Minute+5*time.Second)
				require.LessOrEqual(t, used, time.Minute+5*time.Second+triedWithin, "the 10 s are given back")
			})
		})
	}
}

func TestAStopOverridesAMoveThatHangs(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				session, begun := f.create(0, 10), time.Now()
				f.advance(time.Minute)
				resolve := f.blockNextFlush(resolution.end)
				moved := f.runAsync(func() error { return f.tryMove(session, 1) })
				arrived := f.clock.Now()
				stopped := f.runAsync(func() error { return f.tryStop(session) })
				require.False(t, f.isOpen(0), "locked before the outcome is known")
				require.ErrorIs(t, f.answerOf(stopped, time.Second), lanes.ErrNotSaved)

				resolve()
				if err := f.answerOf(moved, 0); resolution.written {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
				}
				require.Equal(t, arrived.Wall, f.endedSession(session).At)
				require.Equal(t, 1, f.countStops(session))
				require.False(t, recorder.everOpened(f.laneID(1), begun), "the destination never opened")
				f.create(0, 10)
				f.create(1, 10)
			}, withRecorder(&recorder))
		})
	}
}

// A lane that begins anew while one of its saves hangs is not loaded until that is over. What closes its line does so
// all the same, on the lane as everybody sees it, and is carried out once the lane is loaded.
func TestALaneThatIsNotLoadedCloses(t *testing.T) {
	for which, closing := range map[string]lanes.Command{"stop": lanes.Stop{By: lanes.ByPOS}, "pause": lanes.Pause{}} {
		for how, beginAnew := range map[string]func(*fixture){
			"a panic":   func(f *fixture) { f.panicLane(0) },
			"a restart": func(f *fixture) { _ = f.RestartLane(f.requestContext(), "root", f.laneID(0)) },
		} {
			t.Run(which+" after "+how, func(t *testing.T) {
				runFixture(t, func(t *testing.T, f *fixture) {
					session := f.create(0, 30)
					f.advance(time.Minute)
					release := f.blockFlushes()
					f.runAsync(func() error { return f.tryModify(session, 5) })
					f.advance(2 * time.Second)
					beginAnew(f)
					f.advance(58 * time.Second)
					f.requireOpen(0)
					closed := f.runAsync(func() error {
						_, err := f.On(f.requestContext(), session, onSession(closing, session), nil)
						return err
					})
					f.requireOpen()
					require.ErrorIs(t, f.answerOf(closed, 0), lanes.ErrNotSaved)
					f.advance(time.Minute)
					f.requireOpen()
					release()
					f.advance(time.Second)
					f.requireOpen()
					if which == "stop" {
						require.Equal(t, 2*time.Minute, f.endedSession(session).Used)
					} else {
						require.Equal(t, 28*time.Minute, f.remaining(session), "no minute was added")
					}
				})
			})
		}
	}
}

// A hold that came while the store is away has paused the session before a pause that comes after it: that is not
// answered as in force, for the end of the hold would open the line.
func TestAPauseBehindAHoldThatIsNotSaved(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		f.runAsync(func() error { return f.tryModify(session, 5) })
		f.advance(2 * time.Second)
		f.awaitHold(f.startHold(rangeScope))
		pause := func() error {
			_, err := f.On(f.requestContext(), session, lanes.Pause{Session: session}, nil)
			return err
		}
		require.ErrorIs(t, f.answerOf(f.runAsync(pause), 6*time.Second), lanes.ErrTimeout)
		paused := f.runAsync(pause)
		release()
		require.ErrorIs(t, f.answerOf(paused, time.Second), lanes.ErrNotRunning)
		f.advance(3 * time.Second)
		f.liftHold(rangeScope)
		f.requireOpen(0)
	})
}

// flushFault is what the store does to a flush.
type flushFault string

const (
	flushPasses         flushFault = "passes"
	flushRefused        flushFault = "is refused"
	flushReplyLost      flushFault = "written, the reply is lost"
	flushLost           flushFault = "not written, the outcome is unknown"
	flushSlow           flushFault = "written after a while"
	flushHangsUnwritten flushFault = "hangs, and is not written"
	flushHangsWritten   flushFault = "hangs, and is written"
	flushLate           flushFault = "hangs, and is written after its timeout"
)

var flushFaults = []flushFault{
	flushPasses, flushPasses, flushRefused, flushReplyLost, flushLost, flushSlow, flushHangsUnwritten,
	flushHangsWritten, flushLate,
}

// faultyStore applies one fault after the other to the flushes, and passes those after the last.
type faultyStore struct {
	assert *assert.Assertions
	store  *hookedStore

	mu         sync.Mutex
	faults     []flushFault
	unresolved map[uint64]string // n → the batch whose outcome is unknown
}

func (f *faultyStore) flush(ctx context.Context, batch store.Batch, flush func() error) error {
	switch f.nextFault(batch) {
	case flushRefused:
		return store.ErrRefused
	case flushReplyLost:
		return flushAndLoseReply(ctx, batch, flush)
	case flushLost:
		return errReplyLost
	case flushSlow:
		<-time.After(700 * time.Millisecond)
	case flushHangsUnwritten:
		return hangFlush(ctx, batch, flush)
	case flushHangsWritten:
		return flushAndHang(ctx, batch, flush)
	case flushLate:
		time.AfterFunc(7*time.Second, func() { _ = f.store.Store.Flush(context.Background(), batch) })
		return hangFlush(ctx, batch, flush)
	}
	return flush()
}

// nextFault returns the fault for the batch. As long as the outcome of an n is unknown, no other batch may have that n.
func (f *faultyStore) nextFault(batch store.Batch) flushFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	record, err := json.Marshal(batch)
	f.assert.NoError(err)
	if before, unresolved := f.unresolved[batch.N]; unresolved {
		f.assert.Equal(before, string(record), "two batches under one n")
	}
	next := flushPasses
	if len(f.faults) > 0 {
		next, f.faults = f.faults[0], f.faults[1:]
	}
	if next != flushPasses && next != flushRefused && next != flushSlow {
		f.unresolved[batch.N] = string(record)
	}
	return next
}

// clientStep is the next action of a lane's client.
type clientStep struct {
	Action string
	After  time.Duration
}

// soldSession is a session as the POS knows it: its requests, and their answers.
type soldSession struct {
	id          uuid.UUID
	created     error
	added       int  // minutes whose sale was acknowledged
	unconfirmed int  // minutes whose sale has an unknown outcome
	stopped     bool // the stop was answered, saved or not
}

// runScripts runs the scripts of all lanes concurrently.
func runScripts(f *fixture, check *assert.Assertions, scripts [][]clientStep) (all []*soldSession) {
	var lanes sync.WaitGroup
	sessions := make([][]*soldSession, len(scripts))
	for i, script := range scripts {
		lanes.Go(func() { sessions[i] = runScript(f, check, i, script) })
	}
	lanes.Wait()
	for _, sessionsOfLane := range sessions {
		all = append(all, sessionsOfLane...)
	}
	return all
}

func runScript(f *fixture, check *assert.Assertions, lane int, script []clientStep) (all []*soldSession) {
	session, minutes := &soldSession{}, 1
	for _, next := range script {
		<-time.After(next.After)
		ctx, cancel := context.WithTimeout(f.Context(), 5*time.Second)
		begun := time.Now()
		var err error
		switch next.Action {
		case "create":
			sale := f.newSale(100)
			session, minutes = &soldSession{id: sale.Session}, 1
			all = append(all, session)
			_, session.created = f.Create(ctx, f.laneID(lane), sale, nil)
		case "modify":
			_, err = f.On(ctx, session.id, lanes.Modify{Session: session.id, Minutes: minutes}, nil)
			switch {
			case err == nil:
				session.added += minutes
			case errors.Is(err, lanes.ErrTimeout):
				session.unconfirmed += minutes
			}
			minutes *= 2
		case "stop":
			_, err = f.On(ctx, session.id, lanes.Stop{Session: session.id, By: lanes.ByPOS}, nil)
			session.stopped = session.stopped || err == nil || errors.Is(err, lanes.ErrNotSaved)
		case "pause":
			_, err = f.On(ctx, session.id, lanes.Pause{Session: session.id}, nil)
		case "move":
			_, err = f.Move(ctx, session.id, f.laneID((lane+1)%len(f.settings.Layout.Lanes)), nil)
		case "resume":
			_, err = f.On(ctx, session.id, lanes.Resume{Session: session.id}, nil)
		}
		if next.Action == "stop" || next.Action == "pause" {
			check.NotEqual(lanes.ErrTimeout, err, "%s is answered", next.Action)
			check.LessOrEqual(time.Since(begun), 2*time.Second, "%s is answered soon", next.Action)
		}
		cancel()
	}
	return all
}

// checkRecords compares what the POS was answered with the store, the board, the hardware and the webhook.
func checkRecords(f *fixture, check *assert.Assertions, sessions []*soldSession, webhook *fakeWebhook) {
	log, err := f.Events(f.Context(), 0, 1_000_000)
	check.NoError(err)
	facts, delivered := map[uuid.UUID]map[lanes.Kind]int{}, map[uuid.UUID][]uuid.UUID{}
	for i, logged := range log {
		check.True(i == 0 || log[i-1].Cursor < logged.Cursor, "cursors ascend")
		if facts[logged.Event.Session] == nil {
			facts[logged.Event.Session] = map[lanes.Kind]int{}
		}
		facts[logged.Event.Session][logged.Event.Kind]++
		delivered[logged.Event.Lane] = append(delivered[logged.Event.Lane], logged.Event.ID)
		check.True(logged.Attempt != nil && logged.Attempt.Status == 200, "attempted: %v", logged)
	}
	check.Equal(delivered, webhook.idsByLane(), "each once, in order per lane")

	history, err := f.History(f.Context(), 0, 1_000_000)
	check.NoError(err)
	ended := map[uuid.UUID]lanes.Ended{}
	for _, record := range history {
		check.NotContains(ended, record.Session.ID)
		check.Equal(record.Session.Sold, record.Used+record.Session.Left)
		ended[record.Session.ID] = record
	}
	for _, s := range sessions {
		record, isEnded := ended[s.id]
		view, _ := f.Session(f.Context(), s.id)
		happened := facts[s.id]
		switch {
		case s.created == nil:
			check.Equal(1, happened[lanes.SessionCreated])
		case !errors.Is(s.created, lanes.ErrTimeout):
			check.Empty(happened, "refused: %v", s.created)
		}
		check.Equal(isEnded, s.stopped, "stopped exactly if the stop was answered so")
		check.Equal(isEnded, happened[lanes.SessionStopped] == 1)
		check.LessOrEqual(happened[lanes.SessionStopped], 1)
		switch {
		case isEnded:
			check.Nil(view)
			check.True(accountsFor(s, int(record.Session.Sold/time.Minute)-100), "%+v, sold %s", s, record.Session.Sold)
		case happened[lanes.SessionCreated] == 1:
			if check.NotNil(view) {
				check.True(accountsFor(s, view.Minutes-100), "%+v, sold %d", s, view.Minutes)
				hardware := f.hardware.Controller(view.Lane).Shown()
				check.Equal(s.id, hardware.Session)
				check.Equal(view.Phase == lanes.Running, hardware.Open)
			}
		}
	}
	shown := f.Lanes()
	f.restart()
	for i, lane := range f.Lanes() {
		check.Equal(shown[i].Lane, lane.Lane, "what is shown is what is saved")
	}
}

// accountsFor reports whether the minutes sold later are all that were acknowledged, and maybe some that
// timed out. Each sale was twice the one before.
func accountsFor(s *soldSession, minutes int) bool {
	return minutes&s.added == s.added && minutes&^(s.added|s.unconfirmed) == 0
}

type failureRecorder []string

func (f *failureRecorder) Errorf(format string, args ...any) {
	*f = append(*f, fmt.Sprintf(format, args...))
}

func TestSessionsStayConsistentUnderRandomStoreFaults(t *testing.T) {
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) clientStep {
		return clientStep{
			rapid.SampledFrom([]string{"create", "create", "modify", "modify", "pause", "resume", "move", "stop"}).
				Draw(t, "do"),
			time.Duration(rapid.IntRange(0, 3000).Draw(t, "after")) * time.Millisecond,
		}
	}), 1, 10)
	rapid.Check(t, func(rt *rapid.T) {
		faults := rapid.SliceOfN(rapid.SampledFrom(flushFaults), 0, 30).Draw(rt, "fates")
		scripts := rapid.SliceOfN(steps, 1, 3).Draw(rt, "scripts")
		var found failureRecorder
		synctest.Test(t, func(t *testing.T) {
			check, webhook := assert.New(&found), &fakeWebhook{}
			f := startFixture(t, withLanes(len(scripts)), withWebhook(webhook))
			faulty := &faultyStore{assert: check, store: f.store, faults: faults, unresolved: map[uint64]string{}}
			f.store.setHook(faulty.flush)
			sessions := runScripts(f, check, scripts)
			f.store.setHook(nil)
			f.advance(30 * time.Second)
			checkRecords(f, check, sessions, webhook)
		})
		if len(found) > 0 {
			rt.Fatal(found)
		}
	})
}

// A stop waits for a save that hangs, and was answered as in force. The lane begins anew by a panic meanwhile: the stop
// stays in force, and is saved once the store is back.
func TestAStopThatWasAnsweredAsInForceOutlivesAPanic(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		changed := f.runAsync(func() error { return f.tryModify(session, 5) })
		f.advance(2 * time.Second)
		require.ErrorIs(t, f.tryStop(session), lanes.ErrNotSaved)
		f.requireOpen()
		f.panicLane(0)
		f.advance(time.Second)
		require.Error(t, <-changed)
		f.requireOpen()
		release()
		f.advance(lastBackoff)
		f.requireOpen()
		require.Empty(t, f.activeSessions())
	})
}
