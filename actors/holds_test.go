package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func TestAHoldClosesWhatItCoversAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		scope      func(*fixture) lanes.Scope
		held, free []int
	}{
		"the range": {func(*fixture) lanes.Scope { return rangeScope }, []int{0, 1, 2, 3}, nil},
		"a bay":     {func(f *fixture) lanes.Scope { return f.bayScope(1) }, []int{2, 3}, []int{0, 1}},
		"a lane":    {func(f *fixture) lanes.Scope { return f.laneScope(1) }, []int{1}, []int{0, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				var sessions []uuid.UUID
				for i := range 4 {
					sessions = append(sessions, f.create(i, 30))
				}
				f.advance(10 * time.Minute)
				reached := f.setHold(c.scope(f))
				require.Equal(t, lanes.Reached{Confirmed: f.laneIDs(c.held...), Saved: true}, reached)
				f.requireHeld(c.held...)
				f.requireOpen(c.free...)
				press := f.Holds().InForce[0].Press
				require.Equal(t, []lanes.HoldRecord{{
					Scope: c.scope(f), Who: "sam", Since: f.clock.Now().Wall,
					Press: press,
				}}, f.Holds().InForce)

				f.advance(5 * time.Minute)
				for _, i := range c.held {
					require.Equal(t, 20*time.Minute, f.remaining(sessions[i]))
					require.Equal(t, 20*time.Minute, f.controller(i).Shown().Remaining)
				}
				for _, i := range c.free {
					require.Equal(t, 15*time.Minute, f.remaining(sessions[i]))
				}

				reached = f.liftHold(c.scope(f))
				require.Equal(t, lanes.Reached{Confirmed: f.laneIDs(c.held...), Saved: true}, reached)
				f.requireHeld()
				f.requireOpen(0, 1, 2, 3)
				require.Empty(t, f.heldScopes())
				f.advance(20 * time.Minute)
				for _, i := range c.held {
					require.Equal(t, []lanes.Kind{
						lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed,
						lanes.SessionStopped,
					}, f.eventKinds(sessions[i]))
					require.Equal(t, 30*time.Minute, f.endedSession(sessions[i]).Used)
					require.Equal(t, 5*time.Minute, f.endedSession(sessions[i]).Paused)
				}
				for _, i := range c.free {
					require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped},
						f.eventKinds(sessions[i]))
				}
			}, withBays)
		})
	}
}

func TestTheEndOfAHoldResumesOnlyWhatAHoldPaused(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		paused, waiting := f.create(0, 30), f.createWaiting(1, 30)
		f.pause(paused)
		f.setHold(rangeScope)
		_, err := f.On(f.requestContext(), paused, lanes.Resume{Session: paused}, nil)
		require.ErrorIs(t, err, lanes.ErrCeasefire)
		f.advance(time.Minute)
		f.liftHold(rangeScope)
		f.requireOpen()
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused},
			f.eventKinds(paused))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated}, f.eventKinds(waiting))
		f.resume(paused)
		f.enter(1)
		f.requireOpen(0, 1)
	})
}

func TestAHoldThatIsSetAgainStaysAsItIs(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		first := f.setHold(rangeScope)
		since := f.Holds()
		f.advance(time.Minute)
		require.Equal(t, first, f.setHold(rangeScope))
		newest := f.Holds().InForce[0].Press
		require.Equal(t, since.Press(rangeScope, newest), f.Holds())
		_, err := f.Lift(f.requestContext(), rangeScope, since.InForce[0].Press, "kim")
		require.ErrorIs(t, err, lanes.ErrCeasefire, "kim has not seen that it was pressed again")
		f.requireHeld(0, 1)
		_, err = f.Lift(f.requestContext(), rangeScope, newest, "kim")
		require.NoError(t, err)
		synctest.Wait()
		f.requireOpen(0)
		require.Equal(t, first, f.liftHold(rangeScope), "lifting again is safe")
		require.Len(t, f.eventKinds(session), 4)
	})
}

func TestOverlappingHoldsEndOneByOne(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for i := range 4 {
			f.create(i, 30)
		}
		session := f.activeSessions()[0]
		f.setHold(f.laneScope(0))
		f.advance(time.Minute)
		f.setHold(f.bayScope(0))
		f.setHold(rangeScope)
		f.requireHeld(0, 1, 2, 3)

		require.Equal(t, f.laneIDs(2, 3), f.liftHold(rangeScope).Confirmed, "the others are not opened")
		f.requireHeld(0, 1)
		f.requireOpen(2, 3)
		f.advance(time.Minute)
		require.Equal(t, f.laneIDs(1), f.liftHold(f.bayScope(0)).Confirmed)
		f.requireHeld(0)
		f.requireOpen(1, 2, 3)
		f.advance(time.Minute)
		require.Equal(t, 30*time.Minute, f.remaining(session))
		f.liftHold(f.laneScope(0))
		f.requireOpen(0, 1, 2, 3)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed,
		}, f.eventKinds(session), "paused once and resumed once")
	}, withBays)
}

func TestSessionsSoldOrEnteredUnderAHoldUseNoTime(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(rangeScope)
		begun := time.Now()
		sold, booked := f.create(0, 30), f.createWaiting(1, 30)
		f.advance(time.Minute)
		f.enter(1)
		f.advance(time.Minute)
		for i, session := range []uuid.UUID{sold, booked} {
			require.Equal(t, 30*time.Minute, f.remaining(session), "it used no time")
			require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused},
				f.eventKinds(session))
			require.False(t, recorder.everOpened(f.laneID(i), begun), "it never opened")
		}
		f.modify(sold, 5)
		f.liftHold(rangeScope)
		f.requireOpen(0, 1)
		f.advance(30 * time.Minute)
		require.Equal(t, 30*time.Minute, f.endedSession(booked).Used)
		require.Equal(t, 5*time.Minute, f.remaining(sold))
	}, withRecorder(&recorder))
}

// The hold over the lane where the session is counts, not the one over the lane where it was.
func TestMovingIntoAHoldAndOutOfIt(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, paused := f.create(0, 30), f.create(1, 30)
		f.pause(paused)
		f.setHold(f.bayScope(1))
		f.move(session, 2)
		f.move(paused, 3)
		f.requireHeld(2, 3)
		f.requireOpen()
		f.advance(5 * time.Minute)
		require.Equal(t, 30*time.Minute, f.remaining(session))
		_, err := f.On(f.requestContext(), paused, lanes.Resume{Session: paused}, nil)
		require.ErrorIs(t, err, lanes.ErrCeasefire)

		f.move(session, 0)
		f.move(paused, 1)
		f.requireHeld(2, 3)
		f.requireOpen(0)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionPaused,
			lanes.SessionModified, lanes.SessionResumed,
		}, f.eventKinds(session))
		f.move(session, 2)
		f.liftHold(f.bayScope(1))
		synctest.Wait()
		f.requireOpen(2)
		require.Equal(t, 30*time.Minute, f.remaining(session))
	}, withBays)
}

// A hold is answered within two seconds: how far it has come on each lane, and whether it is saved.

// The link breaks before the controller has confirmed the hold: who is there is told to look at the lane.
func TestALaneWhoseLinkBreaksBeforeItConfirmsIsNotReached(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.controller(0).Stall(true)
		hold := f.startHold(rangeScope)
		f.advance(100 * time.Millisecond)
		f.cutLink(0)
		reached := f.awaitHold(hold)
		require.Equal(t, f.laneIDs(0), reached.NotReached)
		require.Empty(t, reached.Sent)
	})
}

func TestAHoldReportsItsProgressForEachLane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for i := range 4 {
			f.create(i, 30)
		}
		f.controller(1).Stall(true)
		restoreLink := f.cutLink(3)
		reached := f.awaitHold(f.startHold(rangeScope))
		require.Equal(t, lanes.Reached{
			Confirmed: f.laneIDs(0, 2), Sent: f.laneIDs(1), NotReached: f.laneIDs(3), Saved: true,
		}, reached)
		f.requireOpen(1, 3)

		f.controller(1).Stall(false)
		f.advance(0)
		f.requireOpen(3)
		require.Equal(t, f.laneIDs(0, 1, 2), f.awaitHold(f.startHold(rangeScope)).Confirmed,
			"the repeated hold knows it")
		restoreLink()
		f.requireOpen()
		f.requireHeld(0, 1, 2, 3)

		f.controller(1).Stall(true)
		f.cutLink(3)
		lifted := f.liftHold(rangeScope)
		require.Equal(t, reached, lifted)
		f.requireOpen(0, 2)
	}, withBays)
}

// A confirmation of an earlier state does not count: the newest one may be on its way.
func TestAHoldIsConfirmedByTheNewestStateOnly(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.setHold(rangeScope)
		f.controller(0).Stall(true)
		require.Equal(t, f.laneIDs(0), f.liftHold(rangeScope).Sent)
		require.True(t, f.controller(0).Shown().Hold, "still")
		require.Equal(t, lanes.Reached{Confirmed: f.laneIDs(1), Sent: f.laneIDs(0), Saved: true}, f.setHold(rangeScope))
		f.controller(0).Stall(false)
		f.advance(0)
		f.requireHeld(0, 1)
	})
}

// Only lanes that are up and have not confirmed are waited for.
func TestAHoldIsAnsweredAsSoonAsEveryLaneHasConfirmedOrIsDown(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.cutLink(0)
		asked := time.Now()
		require.True(t, f.setHold(rangeScope).Saved)
		require.True(t, f.liftHold(rangeScope).Saved)
		require.Equal(t, asked, time.Now(), "a link that is down is not waited for")
		f.controller(1).Stall(true)
		time.AfterFunc(time.Second, func() { f.controller(1).Stall(false) })
		require.Equal(t, f.laneIDs(1), f.setHold(rangeScope).Confirmed)
		require.Equal(t, asked.Add(time.Second), time.Now())
	})
}

func TestAHoldOverNoLaneIsKept(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.settings.Layout.Bays = []lanes.Bay{{ID: f.group, Name: "Bay without lanes"}}
		require.Equal(t, lanes.Reached{Saved: true}, f.setHold(f.bayScope(0)))
		f.restart()
		require.Equal(t, []lanes.Scope{f.bayScope(0)}, f.heldScopes())
		require.Equal(t, lanes.Reached{Saved: true}, f.liftHold(f.bayScope(0)))
		require.Empty(t, f.heldScopes())
	})
}

func TestAHoldIsInForceWhileTheStoreIsDown(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.advance(10 * time.Minute)
				f.store.setHook(outage)
				answer := f.startHold(rangeScope)
				f.requireOpen()
				reached := f.awaitHold(answer)
				require.Equal(t, lanes.Reached{Confirmed: f.laneIDs(0, 1)}, reached, "it is not saved")
				f.advance(time.Minute)
				f.requireHeld(0, 1)
				require.False(t, f.awaitHold(f.startHold(rangeScope)).Saved)
				require.Equal(t, []lanes.Scope{rangeScope}, f.heldScopes())

				f.storeReturns()
				require.Equal(t, []lanes.Scope{rangeScope}, []lanes.Scope{f.savedHolds().InForce[0].Scope})
				require.True(t, f.awaitHold(f.startHold(rangeScope)).Saved)
				f.restart()
				f.requireHeld(0, 1)
				require.Equal(t, 20*time.Minute, f.remaining(session), "paused from the arrival of the hold")
				f.liftHold(rangeScope)
				f.requireOpen(0)
				require.Equal(t, []lanes.Kind{
					lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed,
				}, f.eventKinds(session))
			})
		})
	}
}

func TestAHoldDoesNotWaitForABusyLane(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				begun, running := time.Now(), f.create(1, 30)
				resolve := f.blockNextFlush(resolution.end)
				sale := f.newSale(30)
				sold := f.runAsync(func() error {
					_, err := f.Create(t.Context(), f.laneID(0), sale, nil)
					return err
				})
				answer := f.startHold(rangeScope)
				f.requireOpen()
				require.Equal(t, lanes.Reached{Confirmed: f.laneIDs(0, 1)}, f.awaitHold(answer))
				resolve()
				if err := f.answerOf(sold, 0); resolution.written {
					require.NoError(t, err)
					require.Equal(t, 30*time.Minute, f.remaining(sale.Session))
				} else {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
				}
				f.storeReturns()
				f.requireHeld(0, 1)
				require.False(t, recorder.everOpened(f.laneID(0), begun))
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused},
					f.eventKinds(running))
				f.restart()
				f.requireHeld(0, 1)
			}, withRecorder(&recorder))
		})
	}
}

// The client may have given up: the hold is set all the same.
func TestAHoldIsSetAlthoughItsClientGaveUp(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = f.Hold(cancelled, rangeScope, "sam")
		f.advance(0)
		f.requireHeld(0, 1)
		f.restart()
		f.requireHeld(0, 1)
	})
}

func TestALiftThatTheStoreRefusesChangesNothing(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.setHold(rangeScope)
		before, held := f.Holds(), time.Now()
		sentBefore := len(recorder.sent(f.laneID(0), held))
		for range 3 { // refused by the store, then because the store is down
			f.store.setHook(refuseFlush)
			require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryLiftHold(rangeScope) }), holdDeadline),
				lanes.ErrStoreUnavailable)
			f.advance(time.Second)
			require.Equal(t, before, f.Holds())
			f.requireHeld(0, 1)
		}
		f.storeReturns()
		f.requireHeld(0, 1)
		require.Len(t, recorder.sent(f.laneID(0), held), sentBefore, "nothing reached the hardware")
		require.Equal(t, before, f.savedHolds())
		f.restart()
		f.requireHeld(0, 1)
		f.liftHold(rangeScope)
		f.requireOpen(0)
		require.Equal(t, 30*time.Minute, f.remaining(session))
	}, withRecorder(&recorder))
}

// Nothing opens before the lift is durable.
func TestALiftThatHangsOpensTheLanesOnceItIsDurable(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.setHold(rangeScope)
				resolve := f.blockNextFlush(resolution.end)
				require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryLiftHold(rangeScope) }),
					holdDeadline), lanes.ErrTimeout)
				f.advance(2 * time.Second)
				f.requireHeld(0, 1)
				require.Equal(t, []lanes.Scope{rangeScope}, f.heldScopes())

				resolve()
				f.advance(5 * time.Second)
				for range 2 {
					if resolution.written {
						f.requireOpen(0)
						require.Empty(t, f.heldScopes())
					} else {
						f.requireHeld(0, 1)
						require.Equal(t, []lanes.Scope{rangeScope}, f.heldScopes())
					}
					f.restart()
				}
				require.Equal(t, resolution.written, 30*time.Minute > f.remaining(session),
					"time runs only while it is open")
			})
		})
	}
}

func TestAHoldSetDuringTheLiftOfItsScopeWins(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				f.create(0, 30)
				f.setHold(f.bayScope(0))
				f.advance(time.Millisecond)
				held := time.Now()
				resolve := f.blockNextFlush(resolution.end)
				lifted := f.runAsync(func() error { return f.tryLiftHold(f.bayScope(0)) })
				crossing := f.startHold(f.bayScope(0))
				resolve()
				require.Error(t, f.answerOf(lifted, 0))
				require.Equal(t, f.laneIDs(0, 1), f.awaitHold(crossing).Confirmed)
				f.advance(5 * time.Second)
				for range 2 {
					f.requireHeld(0, 1)
					require.Equal(t, []lanes.Scope{f.bayScope(0)}, f.heldScopes())
					require.True(t, f.savedHolds().Has(f.bayScope(0)))
					f.restart()
				}
				require.False(t, recorder.everOpened(f.laneID(0), held), "it never opened")
				f.liftHold(f.bayScope(0))
				f.requireOpen(0)
			}, withBays, withRecorder(&recorder))
		})
	}
}

func TestAHoldSetDuringTheLiftOfAnotherScopeLeavesBothInForce(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				f.create(0, 30)
				f.create(2, 30)
				f.setHold(rangeScope)
				resolve := f.blockNextFlush(resolution.end)
				lifted := f.runAsync(func() error { return f.tryLiftHold(rangeScope) })
				crossing := f.startHold(f.bayScope(0))
				f.advance(500 * time.Millisecond)
				resolve()
				f.awaitHold(crossing)
				err := f.answerOf(lifted, 0)
				f.advance(5 * time.Second)
				for range 2 {
					if resolution.written {
						require.Contains(t, []error{nil, lanes.ErrTimeout}, err)
						f.requireHeld(0, 1)
						f.requireOpen(2)
						require.Equal(t, []lanes.Scope{f.bayScope(0)}, f.heldScopes())
						require.False(t, f.savedHolds().Has(rangeScope))
						require.True(t, f.savedHolds().KnowsOfEnd(f.settings.Layout.Lanes[0]),
							"its hardware has not confirmed it")
						require.False(t, f.savedHolds().KnowsOfEnd(f.settings.Layout.Lanes[2]), "its hardware has")
					} else {
						require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
						f.requireHeld(0, 1, 2, 3)
						require.Equal(t, []lanes.Scope{rangeScope, f.bayScope(0)}, f.heldScopes())
					}
					require.Equal(t, f.heldScopes()[0], f.savedHolds().InForce[0].Scope)
					f.restart()
				}
			}, withBays)
		})
	}
}

func TestTwoLiftsAtTheSameTimeBothCount(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				for i := range 4 {
					f.create(i, 30)
				}
				f.setHold(f.bayScope(0))
				f.setHold(f.bayScope(1))
				resolve := f.blockNextFlush(resolution.end)
				first := f.runAsync(func() error { return f.tryLiftHold(f.bayScope(0)) })
				second := f.runAsync(func() error { return f.tryLiftHold(f.bayScope(1)) })
				f.advance(500 * time.Millisecond)
				resolve()
				refusedFirst, refusedSecond := <-first, <-second
				f.advance(5 * time.Second)
				if resolution.written {
					require.NotErrorIs(t, refusedFirst, lanes.ErrStoreUnavailable)
					require.NoError(t, f.retryLift(refusedSecond, f.bayScope(1)))
					f.requireOpen(0, 1, 2, 3)
				} else {
					require.NoError(t, f.retryLift(refusedFirst, f.bayScope(0)))
					require.NoError(t, f.retryLift(refusedSecond, f.bayScope(1)))
				}
				for range 2 {
					f.requireOpen(0, 1, 2, 3)
					require.Empty(t, f.savedHolds().InForce)
					f.restart()
				}
			}, withBays)
		})
	}
}

// retryLift lifts the hold unless the first lift succeeded.
func (f *fixture) retryLift(was error, scope lanes.Scope) error {
	if was == nil {
		return nil
	}
	err := f.tryLiftHold(scope)
	synctest.Wait()
	return err
}

// The next lift corrects the lanes, not only the answer: a lane whose release was not saved is opened by it.
func TestALaneThatCouldNotBeOpenedIsOpenedByTheNextLift(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.setHold(rangeScope)
		f.store.setHook(faultFrom(func(b store.Batch) bool { return !savesLift(b) }, refuseFlush))
		lifted := f.liftHold(rangeScope)
		require.False(t, lifted.Saved)
		f.requireOpen()
		f.storeReturns()
		require.True(t, f.liftHold(rangeScope).Saved)
		f.requireOpen(0)
	})
}

// The lift is saved, and the store refuses the lane's own release: the lane tries it again.
func TestAReleaseThatTheStoreRefusedIsTriedAgain(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.setHold(rangeScope)
		f.store.setHook(faultFrom(func(b store.Batch) bool { return !savesLift(b) }, refuseFlush))
		f.liftHold(rangeScope)
		require.Empty(t, f.heldScopes())
		f.storeReturns()
		f.advance(time.Minute)
		f.requireHeld()
		f.requireOpen(0)
	})
}
