package actors

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/trace"
)

// What would be saved of a lane is what it is, with the customer. Who reads that is on record, with the session.
func TestTheSnapshotOfALaneIsReadOnRecord(t *testing.T) {
	logs := &logRecorder{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		snapshot, found := f.Snapshot(f.laneID(0))
		require.True(t, found)
		require.Equal(t, session, snapshot.Session.ID)
		require.Equal(t, f.clock.Boot(), snapshot.Boot)
		saved, err := f.store.Load(t.Context(), store.InAnyEpoch(f.settings.Layout.Range))
		require.NoError(t, err)
		require.JSONEq(t, asJSON(t, saved.Lanes[0]), asJSON(t, snapshot), "as it is saved")
		_, found = f.Snapshot(uuid.New())
		require.False(t, found)
		require.NoError(t, f.NoteNames(f.requestContext(), "root", f.laneID(0), session))
		synctest.Wait()
		require.Equal(t, []string{"read_names "}, f.actSummaries())
		act := f.acts()[0]
		require.Equal(t, []any{"root", f.laneID(0), session}, []any{act.Who, act.Lane, act.Session})
		require.Len(t, logs.lines(t, "an operator reads a lane's snapshot with names"), 1)
		require.ErrorIs(t, f.NoteNames(f.requestContext(), "root", uuid.New(), session), lanes.ErrLaneNotFound)
		require.Len(t, f.acts(), 1, "a refusal is not on record")
	}, withLog(zerolog.New(logs)))
}

// When a lane's link was lost, with which error, and to which controller it came up again, is remembered: the newest
// changes first, also when the lane's actor was restarted or the range reloaded.
func TestTheChangesOfALinkAreRemembered(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		began := f.clock.Now().Wall
		f.advance(time.Minute)
		lost := f.clock.Now().Wall
		restoreLink := f.cutLink(0)
		f.advance(2 * lastBackoff)
		restoreLink()
		f.advance(2 * lastBackoff)
		changes := f.LinkChanges(f.laneID(0))
		require.Len(t, changes, 3, "dials that fail are no changes")
		require.True(t, changes[0].At.After(lost))
		require.Equal(t, lanes.LinkChange{
			At: changes[0].At, Link: lanes.LinkUp, Firmware: "sim", Capabilities: []string{"open_end"},
		}, changes[0])
		require.Equal(t, lanes.LinkDown, changes[1].Link)
		require.NotEmpty(t, changes[1].Error)
		require.Equal(t, lost, changes[1].At)
		require.Equal(t, lanes.LinkUp, changes[2].Link)
		require.False(t, changes[2].At.Before(began))
		require.Len(t, f.LinkChanges(f.laneID(1)), 1)
		require.Empty(t, f.LinkChanges(uuid.New()))
		require.False(t, f.ServedSince().After(began))

		require.NoError(t, f.reload(false, func(s *Settings) { s.Grace = time.Hour }))
		f.panicLane(0)
		f.advance(2 * lastBackoff)
		require.Equal(t, changes, f.LinkChanges(f.laneID(0))[2:])
		for range lanes.MaxLinkChanges {
			restoreLink := f.cutLink(0)
			f.advance(time.Second)
			restoreLink()
			f.advance(2 * lastBackoff)
		}
		require.Len(t, f.LinkChanges(f.laneID(0)), lanes.MaxLinkChanges)
	})
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	return string(encoded)
}

// What was asked in a trace is found with when it went to the controller and was confirmed, and so is the answer that
// is kept for its key, also once the store alone has its body.
func TestARequestIsFoundByItsTraceAndItsKey(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		const id = "4bf92f3577b34da6a3ce929d0e0e4736"
		session := f.create(0, 30)
		asked := f.clock.Now().Wall
		_, err := f.On(trace.With(f.requestContext(), id), session, lanes.Pause{Session: session}, nil)
		require.NoError(t, err)
		f.advance(time.Second)
		found := f.FindCommands(func(c lanes.Commanded) bool { return c.Trace == id })
		require.Len(t, found, 1)
		require.Equal(t, []any{"pause", "Lane 1", f.laneID(0)}, []any{found[0].Command, found[0].Name, found[0].Lane})
		require.False(t, found[0].Sent.Before(asked))
		require.False(t, found[0].Applied.Before(found[0].Sent))
		require.Less(t, found[0].Applied.Sub(asked), time.Second)
		require.Empty(t, f.FindCommands(func(lanes.Commanded) bool { return false }))

		f.stop(session)
		key := keyed("key 1", "f")
		sold, err := f.createOnce(key)
		require.NoError(t, err)
		f.restart()
		kept, found2, err := f.KeptAnswer(f.requestContext(), "key 1")
		require.NoError(t, err)
		require.True(t, found2)
		require.Contains(t, kept.Body, sold.String())
		_, found2, err = f.KeptAnswer(f.requestContext(), "key 2")
		require.NoError(t, err)
		require.False(t, found2)
	})
}

// Whoever looks after the store of a range sees its last flush, those that failed, and what its webhook got.
func TestTheStoreOfARangeIsObserved(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.stop(f.create(0, 30))
		synctest.Wait()
		health := f.StoreHealth()
		require.Equal(t, f.Epoch(), health.Epoch)
		require.Positive(t, health.Flush)
		require.False(t, health.LastFlush.IsZero())
		require.False(t, health.Checkpoint.IsZero())
		require.Zero(t, health.Failures)
		require.Equal(t, []any{0, 100_000}, []any{health.Keys, health.MostKeys})
		require.Len(t, health.Webhooks, 1)
		require.Zero(t, health.Webhooks[0].Waiting)

		f.store.setHook(refuseFlush)
		_ = f.tryCreate(0, 30)
		f.advance(5 * time.Second)
		down := f.StoreHealth()
		require.Positive(t, down.Failures)
		require.NotEmpty(t, down.Error)
		require.False(t, down.Outage.Since.IsZero())
		require.Equal(t, health.Flush, down.Flush)
		f.store.setHook(nil)
		f.advance(5 * time.Second)
		back := f.StoreHealth()
		require.True(t, back.Outage.Since.IsZero())
		require.Equal(t, down.Error, back.Error, "it stays known")
		require.Greater(t, back.Flush, down.Flush)
		require.True(t, back.Checkpoint.After(health.Checkpoint))
	}, withWebhook(webhook))
}
