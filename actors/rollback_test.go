package actors

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
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

// The recent entries of the logs are written again with their outcomes: no event is sent twice, no cursor is used twice.
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

// Nothing was logged since the gateway started: the cursors continue all the same.
func TestCursorsContinueAfterTheLossOfTheStore(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.stop(session)
		log, err := f.Events(t.Context(), 0, 100)
		require.NoError(t, err)
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
