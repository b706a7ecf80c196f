package actors

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// What becomes of what is under way when another process turns out to own the range. The other process is the
// fixture's next gateway, on the same file and hardware.

// tellOwner lets the other nodes' announcement reach the gateway: it drops the range before the store has
// refused anything.
func (f *fixture) tellOwner() {
	f.gateway.DropRange(f.settings.Layout.Range)
	synctest.Wait()
}

// takeOver claims the range for a new gateway on the same store and hardware. What the old one had under way
// is let go first.
func (f *fixture) takeOver() {
	f.Helper()
	f.store.setHook(nil)
	f.restart()
	f.advance(lastBackoff)
}

// One change is on its way to the store, others wait for the next flush: only of those may it be said that
// nothing was changed.
func TestWhatWasSentIsAnsweredAsUnknownAndWhatWaitedAsUnchanged(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.create(0, 30), f.create(1, 30)
		release := f.blockFlushes()
		sent := f.runAsync(func() error { return f.tryModify(first, 5) })
		waiting := f.runAsync(func() error { return f.tryModify(second, 5) })
		behind := f.runAsync(func() error { return f.tryModify(first, 1) })
		f.tellOwner()
		require.ErrorIs(t, f.answerOf(sent, 0), lanes.ErrTimeout)
		require.ErrorIs(t, f.answerOf(waiting, 0), lanes.ErrNotOwner)
		require.ErrorIs(t, f.answerOf(behind, 0), lanes.ErrNotOwner)
		f.requireNotOwner(first)
		release()
		f.takeOver()
		require.Equal(t, []int{35, 30}, []int{f.Sessions()[0].Minutes, f.Sessions()[1].Minutes})
	})
}

// A stop that waits for the store has closed its lane. Its client hears so, and repeats it where the session goes on.
func TestAClosingThatAnotherOwnerDoesNotKnowOfIsNotAnsweredAsUnchanged(t *testing.T) {
	for name, command := range map[string]func(f *fixture, session uuid.UUID) error{
		"stop":  func(f *fixture, session uuid.UUID) error { return f.tryStop(session) },
		"pause": func(f *fixture, session uuid.UUID) error { return f.tryPause(session) },
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				first, second := f.create(0, 30), f.create(1, 30)
				f.blockFlushes()
				f.runAsync(func() error { return f.tryModify(first, 5) })
				closing := f.runAsync(func() error { return command(f, second) })
				require.False(t, f.isOpen(1), "it does not wait for the store")
				f.tellOwner()
				require.ErrorIs(t, f.answerOf(closing, 0), lanes.ErrNotOwnerClosed)
				require.False(t, f.isOpen(1), "whoever lost the range opens nothing")
			})
		})
	}
}

// The store refuses the hold, which has reached every lane by then. No lane opens until staff of the new
// owner lift it there.
func TestAHoldThatAnotherOwnerDoesNotKnowOfStaysOnTheLanes(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.create(1, 30)
		f.claimElsewhere()
		_, err := f.Hold(f.requestContext(), rangeScope, "sam")
		require.ErrorIs(t, err, lanes.ErrNotOwnerClosed)
		synctest.Wait()
		f.requireOpen()
		_, err = f.Hold(f.requestContext(), rangeScope, "sam")
		require.Equal(t, lanes.ErrNotOwner, err, "of a range that is not here nothing is closed")
		f.takeOver()
		f.requireOpen()
		f.requireHeld(0, 1)
		require.ElementsMatch(t, []lanes.Scope{f.laneScope(0), f.laneScope(1)}, f.heldScopes())
		f.liftHold(f.laneScope(0))
		f.requireOpen(0)
	})
}

// The lift may be saved, so nobody may rely on the hold.
func TestALiftUnderWayIsAnsweredAsUnknown(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.setHold(rangeScope)
		f.blockFlushes()
		lifted := f.runAsync(func() error { return f.tryLiftHold(rangeScope) })
		again := f.runAsync(func() error { return f.tryLiftHold(f.laneScope(0)) })
		f.tellOwner()
		require.ErrorIs(t, f.answerOf(lifted, 0), lanes.ErrTimeout)
		require.ErrorIs(t, f.answerOf(again, 0), lanes.ErrNotOwner)
		f.requireOpen()
	})
}

// The first sale with the key may be saved: to its repeat, too, nobody may say that nothing was changed. The
// new owner knows.
func TestARepeatOfWhatWasSentIsAnsweredAsUnknown(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		release := f.blockFlushes()
		sale := f.createOnceAsync(keyed("k", "f"))
		repeat := f.createOnceAsync(keyed("k", "f"))
		f.tellOwner()
		require.ErrorIs(t, f.answerOf(sale, 0), lanes.ErrTimeout)
		require.ErrorIs(t, f.answerOf(repeat, 0), lanes.ErrTimeout)
		release()
		f.takeOver()
		f.requireKeyAnswers(keyed("k", "f"))
	})
}

// The attempt under way is cut off and never made again; the event that has none is delivered by the new owner.
func TestTheNewOwnerDeliversWhatWasNotAttempted(t *testing.T) {
	receiver := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		receiver.block()
		session := f.create(0, 30)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated}, receiver.kinds())
		f.tellOwner()
		receiver.setReply(nil)
		f.advance(time.Minute)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated}, receiver.kinds(),
			"whoever lost the range announces nothing")
		f.takeOver()
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, receiver.kinds())
		log := f.eventLog()
		require.Equal(t, lanes.Interrupted, log[0].Attempt.Error)
		require.Equal(t, 200, log[1].Attempt.Status)
		require.Equal(t, []uuid.UUID{session}, f.activeSessions())
	}, withWebhook(receiver))
}

// Nobody knows what the integrator decided about a purchase that was sent: it waits for staff. One that was
// not sent goes on.
func TestPurchasesUnderWayWhenTheRangeIsDropped(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		f.createWithPurchasing(1, 30)
		pos.blockPurchases(acceptPurchase)
		sent := f.buy(0, minutes(15))
		f.store.setHook(faultFrom(savesRequest, refuseFlush))
		notSent := f.buy(1, minutes(15))
		f.tellOwner()
		pos.setPurchaseReply(acceptPurchase)
		f.takeOver()
		require.Equal(t, []uuid.UUID{sent}, f.unresolvedIDs())
		require.Equal(t, notSent, f.shownPurchase(1).ID)
		require.Equal(t, lanes.Accepted, f.shownPurchase(1).Phase)
		require.Len(t, pos.purchases(), 2, "each was sent once")
	}, withWebhook(pos))
}

// A process that has lost its range without knowing, as one that was suspended, tells nobody that a lane is so already,
// nor what it does not have.
func TestWhatIsSoAlreadyIsConfirmed(t *testing.T) {
	for name, ask := range map[string]func(f *fixture, session uuid.UUID) error{
		"minutes": func(f *fixture, session uuid.UUID) error {
			_, err := f.On(f.requestContext(), session, lanes.SetDuration{Session: session, Minutes: 30}, nil)
			return err
		},
		"nothing to make up": func(f *fixture, session uuid.UUID) error {
			_, err := f.StaffOn(f.requestContext(), "sam", session, lanes.MakeUp{Session: session})
			return err
		},
		"clear": func(f *fixture, _ uuid.UUID) error {
			return f.StaffLane(f.requestContext(), "sam", f.laneID(1), lanes.Cleared{})
		},
		"no call for help": func(f *fixture, _ uuid.UUID) error {
			_, err := f.LaneOn(f.requestContext(), f.laneID(0), lanes.HelpDone{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				require.NoError(t, ask(f, session))
				f.store.unreadable.Store(true)
				require.ErrorIs(t, ask(f, session), lanes.ErrStoreUnavailable)
				f.modify(session, 5) // it is saved, which says as much
				f.modify(session, -5)
				f.store.unreadable.Store(false)
				f.claimElsewhere()
				require.ErrorIs(t, ask(f, session), lanes.ErrNotOwner)
			})
		})
	}
}

func TestARefusalOfStaffIsConfirmed(t *testing.T) {
	for name, refused := range map[string]func(f *fixture, session uuid.UUID) error{
		"no purchase": func(f *fixture, _ uuid.UUID) error { return f.clearPurchase("sam", uuid.New(), false) },
		"it has not ended": func(f *fixture, session uuid.UUID) error {
			_, err := f.StaffReopen(f.requestContext(), "sam", session, f.laneID(1))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				before := refused(f, session)
				require.Error(t, before)
				f.store.unreadable.Store(true)
				require.Equal(t, before, refused(f, session), "it says what this process knows")
				f.store.unreadable.Store(false)
				f.claimElsewhere()
				require.ErrorIs(t, refused(f, session), lanes.ErrNotOwner)
			})
		})
	}
}

// Others go on: the range that was dropped keeps nothing from being ready, and can be started again.
func TestADroppedRangeConcernsNoOther(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		other, otherSettings := f.addRange(nil)
		f.claimElsewhere()
		f.advance(checkpointEvery)
		f.requireNotOwner(session)
		require.True(t, f.gateway.Ready(2), "of the two one runs, and the other does elsewhere")
		_, err := other.Create(f.requestContext(), otherSettings.Layout.Lanes[0].ID, f.newSale(30), nil)
		require.NoError(t, err)

		changed, otherChanged := f.settings, otherSettings
		changed.Layout.Name, otherChanged.Layout.Name = "Renamed", "Renamed too"
		require.NoError(t, f.gateway.Reload(f.Context(),
			Reload{Change: []Changed{{changed, nil}, {otherChanged, nil}}}))
		require.Equal(t, "Renamed too", other.Layout().Name)

		require.NoError(t, f.gateway.StartRange(f.Context(), changed))
		synctest.Wait()
		again, err := f.gateway.Range(changed.Layout.Range)
		require.NoError(t, err)
		require.Equal(t, session, again.Sessions()[0].ID)
		require.True(t, f.gateway.Ready(2))
	})
}

// The range comes back while its copy of before is still here, and that one is dropped only now: it does not
// count as a range that runs elsewhere.
func TestACopyThatIsDroppedDuringTheStartDoesNotCount(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.claimElsewhere()
		f.store.loading = func() error {
			f.tellOwner()
			return nil
		}
		require.NoError(t, f.gateway.StartRange(f.Context(), f.settings))
		synctest.Wait()
		again, err := f.gateway.Range(f.settings.Layout.Range)
		require.NoError(t, err)
		require.Equal(t, session, again.Sessions()[0].ID)
		require.True(t, f.gateway.Ready(1))
	})
}

// The store fails as a range is started that was lost: it stays among those that are lost, to be started again.
func TestALostRangeWhoseStartFailsStaysLost(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, id := f.create(0, 30), f.settings.Layout.Range
		f.claimElsewhere()
		f.tellOwner()
		f.store.loading = func() error { return lanes.ErrStoreUnavailable }
		require.ErrorIs(t, f.gateway.StartRange(f.Context(), f.settings), lanes.ErrStoreUnavailable)
		require.Equal(t, []uuid.UUID{id}, f.gateway.Lost())
		_, err := f.gateway.Range(id)
		require.ErrorIs(t, err, lanes.ErrNotOwner)

		require.NoError(t, f.gateway.StartRange(f.Context(), f.settings))
		synctest.Wait()
		require.Empty(t, f.gateway.Lost())
		again, err := f.gateway.Range(id)
		require.NoError(t, err)
		require.Equal(t, session, again.Sessions()[0].ID)
	})
}

// What was answered as not saved is lost to the new owner. The log says how much, and the metric counts every write.
func TestClosingsThatAreLostAreInTheLog(t *testing.T) {
	var logs logRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.store.setHook(refuseFlush)
		require.ErrorIs(t, f.tryStop(session), lanes.ErrNotSaved)
		f.tellOwner()
		require.EqualValues(t, 1, logs.lines(t, "another process owns the range: it is dropped here, its links "+
			"are closed, its clients are told")[0]["closings_not_saved"])
		require.Equal(t, 1.0, f.counterValue("rangegate_fenced_writes_total"))
		f.takeOver()
		require.Equal(t, []uuid.UUID{session}, f.activeSessions(), "its new owner knows of no stop")
	}, withLog(zerolog.New(&logs)))
}

// What is due on the lanes of a range between the store's refusal and the end of the range cannot be saved here any
// more. It closes the fire line, and is not tried again and again.
func TestWhatIsDueOnADroppedRangeIsNotTriedAgainAndAgain(t *testing.T) {
	var log lineLimit
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 1)
		f.create(1, 30)
		f.requireOpen(0, 1)
		f.committer.Fence()
		f.advance(5 * time.Minute)
		require.Less(t, log.lines.Load(), int64(100))
		f.requireOpen(1)
		_, _ = f.Hold(f.requestContext(), rangeScope, "sam")
		f.advance(time.Second)
		f.requireOpen()
		f.tellOwner()
	}, withLog(zerolog.New(&log)))
}

// lineLimit is a log that ends the goroutine of whoever writes the 1,000th line. In a bubble the test would never end
// otherwise.
type lineLimit struct{ lines atomic.Int64 }

func (l *lineLimit) Write(line []byte) (int, error) {
	if l.lines.Add(1) >= 1000 {
		runtime.Goexit()
	}
	return len(line), nil
}

// Between the store's refusal and the end of the range, which are two moments, the other process may have
// changed it already.
func TestNothingIsReadOfARangeOnceAWriteWasRefused(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.committer.Fence()
		_, err := f.gateway.Range(f.settings.Layout.Range)
		require.Equal(t, lanes.ErrNotOwner, err)
		f.tellOwner()
		<-f.Ended()
	})
}

// Whoever shows the range hears at once that it is outdated.
func TestWhoShowsADroppedRangeHearsOfIt(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		select {
		case <-f.Ended():
			require.Fail(t, "it runs")
		default:
		}
		f.tellOwner()
		<-f.Ended()
	})
}

// A store that hangs may yet apply the flush that was sent, and nothing after it.
func TestNothingIsSentToTheStoreAfterADrop(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		flushes := 0
		f.tellOwner()
		f.store.setHook(faultFrom(func(store.Batch) bool { flushes++; return false }, nil))
		f.advance(time.Hour)
		require.Zero(t, flushes)
	})
}
