package actors

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store/sqlite"
)

func TestAStoreThatLostEverythingIsRefilled(t *testing.T) {
	var logs logRecorder
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		waiting, running, paused := f.createWaiting(0, 10), f.create(1, 20), f.create(2, 30)
		key := keyed("create-1", "create")
		view, err := f.Create(t.Context(), f.laneID(3), f.newSale(30), key)
		require.NoError(t, err)
		f.advance(time.Minute)
		f.pause(paused)
		before := f.Lanes()
		require.NotContains(t, logs.String(), "has lost")

		f.wipeStore()
		f.modify(running, 5)
		require.Contains(t, logs.String(), `"level":"error"`)
		require.Contains(t, logs.String(), "the store has lost acknowledged writes")
		for i, lane := range f.Lanes() {
			if i != 1 {
				require.Equal(t, before[i].Lane, lane.Lane)
			}
		}
		before = f.Lanes()
		f.restart()
		require.Equal(t, []uuid.UUID{waiting, running, paused, view.ID}, f.activeSessions())
		for i, lane := range f.Lanes() {
			require.Equal(t, before[i].Lane, lane.Lane)
		}
		_, err = f.createOnce(key)
		requireRepeat(t, err, view.ID)
		f.stop(running)
		require.Equal(t, 25*time.Minute, f.endedSession(running).Session.Sold)
	}, withLanes(4), withWebhook(webhook), withLog(zerolog.New(&logs)))
}

// A store that lacks what is saved, as the master of before a fail-over, is not read: an empty page would be taken for
// the end of the log. It is refilled at once, and nothing waits for that.
func TestWhatTheStoreLacksIsNotReadAsMissing(t *testing.T) {
	for name, read := range map[string]func(f *fixture) error{
		"the event log": func(f *fixture) error { return errorOf(f.Events(f.requestContext(), 0, 10)) },
		"the history":   func(f *fixture) error { return errorOf(f.History(f.requestContext(), 0, 10)) },
		"a refusal with a key": func(f *fixture) error {
			if err := errorOf(f.createOnce(keyed("k", "f"))); !errors.Is(err, lanes.ErrLaneOccupied) {
				return err
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				f.stop(f.create(0, 30))
				f.create(0, 30)
				f.wipeStore()
				require.ErrorIs(t, read(f), lanes.ErrStoreUnavailable)
				synctest.Wait()
				require.NoError(t, read(f))
				log, err := f.Events(t.Context(), 0, 10)
				require.NoError(t, err)
				require.Len(t, log, 5)
			})
		})
	}
}

// The recent entries of the logs are written again with their outcomes: no event is sent twice, no cursor is
// used twice.
func TestTheEndsOfTheLogsAreRefilled(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		long := f.create(0, 30)
		f.advance(2 * time.Minute)
		session := f.create(1, 30)
		f.stop(session)
		log, err := f.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		history, err := f.History(t.Context(), 0, 100)
		require.NoError(t, err)
		attempts := len(webhook.kinds())

		f.wipeStore()
		f.noticeLoss()
		after, err := f.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, log[2:], after, "except for old events")
		again, err := f.History(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, history, again)
		f.restart()
		require.Len(t, webhook.kinds(), attempts)
		f.pause(long)
		after, err = f.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, log[len(log)-1].Cursor+1, after[len(after)-1].Cursor)
	}, withWebhook(webhook))
}

// What the owner before has saved of late is written again by the next one, with its outcomes: the store lost it after
// it was loaded.
func TestWhatTheOwnerBeforeHasSavedIsRefilled(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.stop(session)
		log, err := f.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		history, err := f.History(t.Context(), 0, 100)
		require.NoError(t, err)
		attempts := len(webhook.kinds())

		f.restart()
		f.wipeStore()
		f.noticeLoss()
		after, err := f.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, log, after)
		again, err := f.History(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, history, again)
		f.restart()
		require.Len(t, webhook.kinds(), attempts, "nothing is sent twice")
	}, withWebhook(webhook))
}

// Nothing was logged since the gateway started: the cursors continue all the same.
func TestCursorsContinueAfterTheLossOfTheStore(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.stop(session)
		log, err := f.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		f.advance(3 * time.Minute)
		f.restart()
		f.wipeStore()
		f.noticeLoss()
		f.restart()
		next := f.create(0, 30)
		f.stop(next)
		after, err := f.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, log[len(log)-1].Cursor+1, after[0].Cursor)
		require.Equal(t, uint64(2), f.endedSession(next).Cursor)
	})
}

func TestWaitingEventsSurviveTheLossOfTheStore(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		session := f.create(0, 30) // created is under way, started waits for it
		f.pause(session)
		f.wipeStore()
		f.resume(session)
		require.Len(t, webhook.kinds(), 1)

		f.kill()
		release()
		f.start()
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed,
		}, webhook.kinds())
		require.Equal(t, webhook.kinds(), f.eventKinds(session), "they are in the log again")
	}, withWebhook(webhook))
}

// The logs keep their name across restarts. A store that has lost records is another one: whoever reads by a
// cursor is told, and skips nothing.
func TestTheLogsHaveTheirName(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		id := f.LogID()
		require.NotZero(t, id)
		require.LessOrEqual(t, id, uint64(lanes.MaxLogID))
		f.restart()
		require.Equal(t, id, f.LogID())
		f.kill()
		f.start()
		require.Equal(t, id, f.LogID())

		f.wipeStore()
		f.noticeLoss()
		refilled := f.LogID()
		require.NotEqual(t, id, refilled, "it was refilled, and what was not recent is missing")
		f.restart()
		require.Equal(t, refilled, f.LogID())

		f.shutDown()
		require.NoError(t, os.Remove(f.path))
		f.start()
		require.NotContains(t, []uint64{id, refilled}, f.LogID(), "another store")
	})
}

// A backup has the records of its time: cursors that were given after it are of another log.
func TestABackupHasAnotherLog(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		id, backup := f.LogID(), filepath.Join(t.TempDir(), "backup")
		f.advance(20 * time.Second)
		require.NoError(t, sqlite.Backup(t.Context(), f.path, backup, func(*sqlite.Reader) error { return nil }))
		f.create(1, 30)
		f.shutDown()
		require.NoError(t, os.Rename(backup, f.path))
		f.start()
		require.NotEqual(t, id, f.LogID())
	})
}

// What is kept of the logs begins behind a cursor that readers can go on from.
func TestWhereTheLogsBegin(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for _, keptBehind := range []func(context.Context) (uint64, error){f.EventsKeptBehind, f.HistoryKeptBehind} {
			behind, err := keptBehind(t.Context())
			require.NoError(t, err)
			require.Zero(t, behind)
		}
		for range 3 {
			f.stop(f.create(0, 30))
		}
		events, ended := f.Saved()
		require.Equal(t, []uint64{9, 3}, []uint64{events, ended})
		f.advance(2 * time.Minute)
		f.stop(f.create(0, 30))
		f.wipeStore()
		f.noticeLoss() // only what is recent is written again
		page, err := f.Events(t.Context(), 0, 1)
		require.NoError(t, err)
		behind, err := f.EventsKeptBehind(t.Context())
		require.NoError(t, err)
		require.Greater(t, behind, uint64(0), "what was before is gone")
		require.Equal(t, page[0].Cursor-1, behind)
		history, err := f.History(t.Context(), 0, 1)
		require.NoError(t, err)
		behind, err = f.HistoryKeptBehind(t.Context())
		require.NoError(t, err)
		require.Equal(t, history[0].Cursor-1, behind)
	})
}
