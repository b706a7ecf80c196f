package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A client that hangs up while the store is read is no failure of the store, nor is a request whose time is
// over: its read is given up, without an error in the log.
func TestAReadThatItsClientGivesUp(t *testing.T) {
	var log logRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		history := f.interceptHistory()
		release := history.block()
		ctx, hangUp := context.WithCancel(t.Context())
		read := f.runAsync(func() error {
			_, err := f.Session(ctx, uuid.New())
			return err
		})
		hangUp()
		require.ErrorIs(t, <-read, context.Canceled)
		release()
		require.NotContains(t, log.String(), `"level":"error"`)
		require.Contains(t, log.String(), "given up by its client")

		release = history.block()
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := f.Session(limited, uuid.New())
		release()
		require.ErrorIs(t, err, lanes.ErrTimeout)
		require.NotContains(t, log.String(), `"level":"error"`)
		require.Contains(t, log.String(), "took longer than its request may")

		history.setReply(func(context.Context) error { return errReplyLost })
		_, err = f.Session(t.Context(), uuid.New())
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		require.Contains(t, log.String(), "the store could not be read")
	}, withLog(zerolog.New(&log)))
}

// Another request has a key as soon as it was claimed, and for as long as its answer is kept.
func TestAKeyOfAnotherRequest(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		require.False(t, f.KeyReused("k", "a"))
		_, err := f.createOnce(&lanes.Key{
			Name: "k", Fingerprint: "a",
			Render: func(*lanes.SessionView) (int, []byte) { return 201, nil },
		})
		require.NoError(t, err)
		require.False(t, f.KeyReused("k", "a"))
		require.True(t, f.KeyReused("k", "b"))
		f.restart()
		require.True(t, f.KeyReused("k", "b"))
	})
}

// Another process has claimed the range, and nothing has told this one: what it reads from the store, and
// what it would refuse by what it knows, it answers as somebody who has lost the range. So it does with
// everything after.
func TestWhoeverHasLostARangeLearnsSoByWhatItReads(t *testing.T) {
	unknown := uuid.New()
	for name, request := range map[string]func(f *fixture, session uuid.UUID) error{
		"an unknown session": func(f *fixture,
			_ uuid.UUID,
		) error {
			return errorOf(f.Session(f.requestContext(), unknown))
		},
		"the end of a session": func(f *fixture,
			_ uuid.UUID,
		) error {
			return errorOf(f.SessionEnd(f.requestContext(), unknown))
		},
		"the event log": func(f *fixture,
			_ uuid.UUID,
		) error {
			return errorOf(f.Events(f.requestContext(), 0, 10))
		},
		"the history": func(f *fixture,
			_ uuid.UUID,
		) error {
			return errorOf(f.History(f.requestContext(), 0, 10))
		},
		"sessions of a POS": func(f *fixture,
			_ uuid.UUID,
		) error {
			return errorOf(f.HistoryOf(f.requestContext(), "a", 0, 10))
		},
		"acts of staff": func(f *fixture,
			_ uuid.UUID,
		) error {
			return errorOf(f.Acts(f.requestContext(), 0, 10))
		},
		"an event's redelivery": func(f *fixture,
			_ uuid.UUID,
		) error {
			return f.RedeliverOne(f.requestContext(), 100, nil)
		},

		"a stop of an unknown session": func(f *fixture, _ uuid.UUID) error { return f.tryStop(unknown) },
		"a sale on an occupied lane":   func(f *fixture, _ uuid.UUID) error { return f.tryCreate(0, 30) },
		"a sale with a key": func(f *fixture,
			_ uuid.UUID,
		) error {
			return errorOf(f.createOnce(keyed("k", "f")))
		},
		"a resume of one that runs": func(f *fixture, session uuid.UUID) error {
			return errorOf(f.On(f.requestContext(), session, lanes.Resume{Session: session}, nil))
		},
		"a resume by staff": func(f *fixture, session uuid.UUID) error {
			return errorOf(f.StaffOn(f.requestContext(), "sam", session, lanes.Resume{Session: session}))
		},
		"a command of staff to a lane": func(f *fixture, _ uuid.UUID) error {
			return f.StaffLane(f.requestContext(), "sam", f.laneID(0), f.newSale(30))
		},
		"a move to an occupied lane": func(f *fixture, session uuid.UUID) error { return f.tryMove(session, 1) },
		"a move to where it is":      func(f *fixture, session uuid.UUID) error { return f.tryMove(session, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.create(1, 30)
				f.claimElsewhere()
				require.Equal(t, lanes.ErrNotOwner, request(f, session))
				synctest.Wait()
				f.requireNotOwner(session)
			}, withWebhook(&fakeWebhook{}))
		})
	}
}

// While the store does not answer, nobody else can have taken the range. A refusal then says what this
// process knows, except to a request with a key: it may be the repeat of one that another owner has carried
// out, if it is this process alone that does not reach the store.
func TestARefusalThatTheStoreDoesNotConfirm(t *testing.T) {
	for name, cut := range map[string]func(f *fixture){
		"it cannot be read": func(f *fixture) { f.store.unreadable.Store(true) },
		"it takes nothing": func(f *fixture) {
			f.store.setHook(refuseFlush)
			require.ErrorIs(f, f.tryCreate(1, 30), lanes.ErrStoreUnavailable)
			synctest.Wait() // the refusal comes a moment before the store counts as down
		},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				f.create(0, 30)
				cut(f)
				require.ErrorIs(t, f.tryCreate(0, 30), lanes.ErrLaneOccupied)
				require.ErrorIs(t, errorOf(f.createOnce(keyed("k", "f"))), lanes.ErrStoreUnavailable)
				f.store.unreadable.Store(false)
				f.store.setHook(nil)
				f.advance(time.Minute)
				require.ErrorIs(t, errorOf(f.createOnce(keyed("k", "f"))), lanes.ErrLaneOccupied)
			})
		})
	}
}

// A stop is in force and not saved: the session has ended, unless another owner goes on with it. A request
// with a key learns that nobody knows.
func TestASessionWhoseEndIsNotSaved(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.store.setHook(refuseFlush)
		require.ErrorIs(t, f.tryStop(session), lanes.ErrNotSaved)
		require.ErrorIs(t, f.tryModify(session, 5), lanes.ErrSessionEnded)
		modify := lanes.Modify{Session: session, Minutes: 5}
		require.ErrorIs(t, errorOf(f.On(f.requestContext(), session, modify, keyed("modify", "f"))),
			lanes.ErrStoreUnavailable)
		require.ErrorIs(t, errorOf(f.Move(f.requestContext(), session, f.laneID(1), keyed("move", "f"))),
			lanes.ErrStoreUnavailable)
		require.ErrorIs(t, f.tryStopOnce(session, keyed("stop", "f")), lanes.ErrNotSaved)
		require.ErrorIs(t, f.tryStop(session), lanes.ErrNotSaved)
		f.store.setHook(nil)
		f.advance(time.Minute)
		require.ErrorIs(t, errorOf(f.On(f.requestContext(), session, modify, keyed("modify", "f"))),
			lanes.ErrSessionEnded)
	})
}

// A command comes to its lane behind a stop, and its time is over before it is known where its session is now. Nobody
// may say that there has never been one.
func TestACommandWhoseTimeIsOverAsItsSessionIsLookedFor(t *testing.T) {
	for name, command := range map[string]func(f *fixture, session uuid.UUID) error{
		"a stop":       (*fixture).tryStop,
		"an extension": func(f *fixture, session uuid.UUID) error { return f.tryModify(session, 5) },
		"a move":       func(f *fixture, session uuid.UUID) error { return f.tryMove(session, 1) },
		"an extension with a key": func(f *fixture, session uuid.UUID) error {
			return errorOf(f.On(f.requestContext(), session, lanes.Modify{Session: session, Minutes: 5},
				keyed("modify", "f")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				release := f.blockFlushes()
				stopped := f.runAsync(func() error { return f.tryStop(session) })
				behind := f.runAsync(func() error { return command(f, session) })
				f.store.suspended.Store(int64(time.Minute))
				release()
				require.NoError(t, f.answerOf(stopped, 0))
				require.ErrorIs(t, f.answerOf(behind, time.Minute), lanes.ErrTimeout)
				f.store.suspended.Store(0)
				require.ErrorIs(t, command(f, session), lanes.ErrSessionEnded)
			})
		})
	}
}

func errorOf[T any](_ T, err error) error { return err }
