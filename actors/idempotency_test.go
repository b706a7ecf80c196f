package actors

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

func TestARepeatIsAnsweredLikeTheFirstRequest(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, err := f.createOnce(keyed("a", "create"))
		require.NoError(t, err)
		f.advance(time.Minute)
		f.modify(session, 5)
		_, err = f.createOnce(keyed("a", "create"))
		requireRepeat(t, err, session)

		stop := func() error {
			_, err := f.On(f.requestContext(), session, lanes.Stop{Session: session, By: lanes.ByPOS},
				keyed("b", "stop"))
			return err
		}
		require.NoError(t, stop())
		require.ErrorAs(t, stop(), new(*lanes.Repeat), "although the session has ended")
		_, err = f.createOnce(keyed("a", "create"))
		requireRepeat(t, err, session)
		require.Empty(t, f.activeSessions(), "a repeat has no effect")

		f.restart()
		_, err = f.createOnce(keyed("a", "create"))
		requireRepeat(t, err, session)
	})
}

// Memory has the bodies of the newest answers, the store has all of them. While it cannot be read, a repeat
// of an older request is told so; where it has lost the body, that the request is in force.
func TestTheAnswerToAnOlderRequestIsReadFromTheStore(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		again := func() error { _, err := f.createOnce(keyed("a", "create")); return err }
		session, err := f.createOnce(keyed("a", "create"))
		require.NoError(t, err)
		f.store.unreadable.Store(true)
		requireRepeat(t, again(), session)
		f.advance(2 * time.Minute)
		require.ErrorIs(t, again(), lanes.ErrStoreUnavailable)
		f.store.unreadable.Store(false)
		requireRepeat(t, again(), session)
		f.wipeStore()
		require.ErrorIs(t, again(), lanes.ErrNotSaved, "the store has nothing at all")
		f.modify(session, 5)
		require.ErrorIs(t, again(), lanes.ErrNotSaved, "it has what the range knew")
		f.restart()
		require.ErrorIs(t, again(), lanes.ErrNotSaved)
		require.Equal(t, []uuid.UUID{session}, f.activeSessions())
	})
}

func TestAKeyIsForOneRequest(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		release := f.blockFlushes()
		first := f.runAsync(func() error { _, err := f.createOnce(keyed("a", "create")); return err })
		_, err := f.createOnce(keyed("a", "another"))
		require.ErrorIs(t, err, lanes.ErrKeyReused, "while the first is under way")
		release()
		require.NoError(t, <-first)
		_, err = f.createOnce(keyed("a", "another"))
		require.ErrorIs(t, err, lanes.ErrKeyReused)
		f.restart()
		_, err = f.createOnce(keyed("a", "another"))
		require.ErrorIs(t, err, lanes.ErrKeyReused)
	})
}

func TestConcurrentRepeatsWaitAndHaveOneEffect(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		release := f.blockFlushes()
		var answers []<-chan error
		for range 20 {
			answers = append(answers, f.runAsync(func() error {
				_, err := f.createOnce(keyed("a", "create"))
				return err
			}))
		}
		for _, answer := range answers {
			require.Empty(t, answer, "none is answered before the first is saved")
		}
		release()
		require.NoError(t, <-answers[0])
		session := f.activeSessions()[0]
		for _, answer := range answers[1:] {
			requireRepeat(t, <-answer, session)
		}
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, f.eventKinds(session))
	})
}

func TestARefusalFreesTheKey(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		blocking := f.create(0, 30)
		_, err := f.createOnce(keyed("a", "create"))
		require.ErrorIs(t, err, lanes.ErrLaneOccupied, "by a rule")
		_, err = f.Create(f.requestContext(), uuid.New(), f.newSale(30), keyed("a", "elsewhere"))
		require.ErrorIs(t, err, lanes.ErrLaneNotFound, "before any lane")
		f.stop(blocking)

		f.store.setHook(refuseFlush)
		_, err = f.createOnce(keyed("a", "create"))
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable, "by the store")
		f.store.setHook(nil)
		f.advance(time.Second)

		_, err = f.createOnce(keyed("a", "create"))
		require.NoError(t, err)
	})
}

// Of the repeats that wait for a request that is refused, one is tried.
func TestARefusalLetsTheNextRepeatTry(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var answers []<-chan error
		session := f.create(0, 30)
		release := f.blockFlushes()
		f.runAsync(func() error { return f.tryModify(session, 1) })
		for range 3 {
			answers = append(answers, f.runAsync(func() error {
				_, err := f.createOnce(keyed("a", "create"))
				return err
			}))
		}
		stopped := f.runAsync(func() error {
			_, err := f.On(f.requestContext(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
			return err
		})
		release()
		require.NoError(t, <-stopped)
		made := 0
		for _, answer := range answers {
			if err := <-answer; err == nil {
				made++
			} else {
				require.ErrorAs(t, err, new(*lanes.Repeat))
			}
		}
		require.Equal(t, 1, made)
	})
}

func TestAKeyIsForgottenAfterADay(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, err := f.createOnce(keyed("a", "create"))
		require.NoError(t, err)
		f.stop(first)
		f.clock.Suspend(idempotency.Term - time.Minute)
		f.advance(30 * time.Second)
		_, err = f.createOnce(keyed("a", "create"))
		requireRepeat(t, err, first)

		f.clock.Suspend(time.Minute)
		f.advance(checkpointEvery)
		second, err := f.createOnce(keyed("a", "another"))
		require.NoError(t, err)
		f.restart()
		_, err = f.createOnce(keyed("a", "another"))
		requireRepeat(t, err, second)
		f.stop(second)
		f.clock.Suspend(idempotency.Term)
		f.advance(checkpointEvery)
		f.restart()
		require.Empty(t, f.keys.All(), "the store has forgotten them too")
	})
}

func TestARangeKeepsABoundedNumberOfKeys(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var claims []*idempotency.Claim
		for i := range idempotency.MaxKeys {
			claim, err := f.keys.Claim(t.Context(), *keyed(fmt.Sprint(i), "f"))
			require.NoError(t, err)
			claims = append(claims, claim)
		}
		_, err := f.createOnce(keyed("one more", "create"))
		require.ErrorIs(t, err, lanes.ErrKeysFull)
		require.Equal(t, "overloaded", lanes.ErrKeysFull.Code())
		claims[0].Settle(nil)
		_, err = f.createOnce(keyed("one more", "create"))
		require.NoError(t, err)
		require.ErrorIs(t, f.tryCreate(0, 30), lanes.ErrLaneOccupied, "without a key there is no cap")
	})
}

func TestARepeatedStopIsAnsweredNotSavedUntilItIsSaved(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session, key := f.create(0, 30), keyed("stop-1", "stop it")
				f.store.setHook(outage)
				first := f.runAsync(func() error { return f.tryStopOnce(session, key) })
				second := f.runAsync(func() error { return f.tryStopOnce(session, key) })
				require.ErrorIs(t, f.answerOf(first, time.Second), lanes.ErrNotSaved)
				require.ErrorIs(t, f.answerOf(second, 0), lanes.ErrNotSaved, "it waits for the first stop")
				f.advance(30 * time.Second)
				asked := time.Now()
				require.ErrorIs(t, f.tryStopOnce(session, key), lanes.ErrNotSaved)
				require.ErrorIs(t, f.tryStopOnce(session, keyed("stop-1", "stop another")), lanes.ErrKeyReused)
				require.Equal(t, asked, time.Now(), "at once")

				f.storeReturns()
				for range 2 {
					requireRepeat(t, f.tryStopOnce(session, key), session)
					f.restart()
				}
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped},
					f.eventKinds(session))
			})
		})
	}
}

func TestARefusedCreateFreesItsKey(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		key := keyed("create-1", "create")
		f.store.setHook(refuseFlush)
		for range 2 {
			_, err := f.createOnce(key)
			require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		}
		f.storeReturns()
		session, err := f.createOnce(key)
		require.NoError(t, err)
		_, err = f.createOnce(key)
		requireRepeat(t, err, session)
	})
}

// It is unknown whether the store has it: the key is kept until that is known, and a repeat gets the answer then.
func TestACreateThatTimedOutKeepsItsKey(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		key := keyed("create-1", "create")
		f.store.setHook(flushAndHang)
		for range 2 {
			ctx, cancel := withDeadline(t, 5*time.Second)
			_, err := f.Create(ctx, f.laneID(0), f.newSale(30), key)
			cancel()
			require.ErrorIs(t, err, lanes.ErrTimeout)
		}
		repeated := f.runAsync(func() error {
			_, err := f.createOnce(key)
			return err
		})
		f.store.setHook(nil)
		err := f.answerOf(repeated, 5*time.Second)
		require.Len(t, f.activeSessions(), 1)
		requireRepeat(t, err, f.activeSessions()[0])
		require.True(t, f.isOpen(0))
	})
}

// Retry-After says when there is room: when the oldest key expires and the next checkpoint drops it.
func TestARefusalForTooManyKeysSaysWhenToTryAgain(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, err := f.createOnce(keyed("first", "create"))
		require.NoError(t, err)
		for i := 1; i < idempotency.MaxKeys; i++ {
			_, err := f.keys.Claim(t.Context(), *keyed(fmt.Sprint(i), "f"))
			require.NoError(t, err)
		}
		wait := func() time.Duration {
			_, err := f.createOnce(keyed("one more", "create"))
			var full *idempotency.FullError
			require.ErrorAs(t, err, &full)
			require.ErrorIs(t, err, lanes.ErrKeysFull)
			return full.RetryAfter()
		}
		require.Equal(t, time.Hour, wait(), "bounded")
		f.clock.Suspend(idempotency.Term - time.Minute)
		require.Equal(t, time.Minute+checkpointEvery, wait())
		require.EqualValues(t, 2, f.counterValue("rangegate_idempotency_keys_refused_total"))
		require.EqualValues(t, idempotency.MaxKeys, f.gaugeValues("idempotency_keys")["idempotency_keys"])
		f.advance(time.Minute + checkpointEvery)
		second, err := f.createOnce(keyed("one more", "create"))
		require.NoError(t, err, "there is room")
		require.NotEqual(t, first, second)
	})
}

// The store refuses the flush that was to delete an expired key: a later one does, and never takes the record
// of a request that has used the same key again.
func TestAnExpiredKeyIsDeletedAlthoughItsFlushIsRefused(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				for _, key := range []string{"once", "again"} {
					session, err := f.createOnce(keyed(key, "create"))
					require.NoError(t, err)
					f.stop(session)
				}
				f.store.setHook(outage)
				f.clock.Suspend(idempotency.Term + time.Minute)
				f.advance(3 * checkpointEvery)
				f.storeReturns()
				session, err := f.createOnce(keyed("again", "create"))
				require.NoError(t, err, "it has expired")
				f.advance(3 * checkpointEvery)
				saved, err := f.store.Load(f.Context(), store.InAnyEpoch(f.settings.Layout.Range))
				require.NoError(t, err)
				require.Len(t, saved.Keys, 1)
				require.Equal(t, "again", saved.Keys[0].Name)
				_, err = f.createOnce(keyed("again", "create"))
				requireRepeat(t, err, session)
			})
		})
	}
}
