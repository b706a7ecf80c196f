package actors

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// wipeStore loses everything that was saved, as a store does that is restored from nothing. Nothing is under way.
func (g *rig) wipeStore() {
	g.Helper()
	require.NoError(g, g.store.Close())
	require.NoError(g, os.Remove(g.path))
	g.openStore()
}

// noticeLoss is the next checkpoint, before anything else is saved.
func (g *rig) noticeLoss() {
	g.committer.Checkpoint()
	synctest.Wait()
}

func TestAStoreThatLostEverythingIsRefilled(t *testing.T) {
	var said journal
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		waiting, running, paused := g.book(0, 10), g.create(1, 20), g.create(2, 30)
		key := keyed("create-1", "create")
		view, err := g.Create(t.Context(), g.lane(3), g.sale(30), key)
		require.NoError(t, err)
		g.pass(time.Minute)
		g.pause(paused)
		before := g.Lanes()
		require.NotContains(t, said.String(), "has lost")

		g.wipeStore()
		g.modify(running, 5)
		require.Contains(t, said.String(), `"level":"error"`)
		require.Contains(t, said.String(), "the store has lost acknowledged writes")
		for i, lane := range g.Lanes() {
			if i != 1 {
				require.Equal(t, before[i].Lane, lane.Lane)
			}
		}
		before = g.Lanes()
		g.restart()
		require.Equal(t, []uuid.UUID{waiting, running, paused, view.ID}, g.onBoard())
		for i, lane := range g.Lanes() {
			require.Equal(t, before[i].Lane, lane.Lane)
		}
		_, err = g.createOnce(key)
		requireRepeat(t, err, view.ID)
		g.stop(running)
		require.Equal(t, 25*time.Minute, g.ended(running).Session.Sold)
	}, withLanes(4), withWebhook(received), withLog(zerolog.New(&said)))
}

// What the logs got of late is in them again, with what became of it: no event goes out twice, no cursor is given twice.
func TestTheEndsOfTheLogsAreRefilled(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		long := g.create(0, 30)
		g.pass(2 * time.Minute)
		session := g.create(1, 30)
		g.stop(session)
		log, err := g.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		history, err := g.History(t.Context(), 0, 100)
		require.NoError(t, err)
		attempts := len(received.kinds())

		g.wipeStore()
		g.noticeLoss()
		after, err := g.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, log[2:], after, "but for those of long ago")
		again, err := g.History(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, history, again)
		g.restart()
		require.Len(t, received.kinds(), attempts)
		g.pause(long)
		after, err = g.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, log[len(log)-1].Cursor+1, after[len(after)-1].Cursor)
	}, withWebhook(received))
}

// Nothing has happened in this life of the gateway: the cursors go on all the same.
func TestCursorsGoOnAfterTheLossOfTheStore(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.stop(session)
		log, err := g.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		g.restart()
		g.wipeStore()
		g.noticeLoss()
		g.restart()
		next := g.create(0, 30)
		g.stop(next)
		after, err := g.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, log[len(log)-1].Cursor+1, after[0].Cursor)
		require.Equal(t, uint64(2), g.ended(next).Cursor)
	})
}

func TestEventsThatWaitSurviveTheLossOfTheStore(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		session := g.create(0, 30) // created is under way, started waits for it
		g.pause(session)
		g.wipeStore()
		g.resume(session)
		require.Len(t, received.kinds(), 1)

		g.kill()
		release()
		g.start()
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed,
		}, received.kinds())
		require.Equal(t, received.kinds(), g.happened(session), "they are on record again")
	}, withWebhook(received))
}

// What the store lost may have been acknowledged a moment ago: the lane has not even heard yet that it was saved.
func TestAKeySavedAMomentBeforeTheStoreIsLostIsKept(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		became := make(chan commit.Outcome, 2)
		told := func(o commit.Outcome) { became <- o }
		kept := lanes.KeptAnswer{Name: "k", Fingerprint: "f", Status: 201, Body: "b", At: g.clock.Now().Wall}
		g.committer.Save(&commit.Write{Kept: &kept, Done: told})
		require.Equal(t, commit.Saved, <-became)
		synctest.Wait()
		g.wipeStore()
		g.committer.Save(&commit.Write{Done: told})
		require.Equal(t, commit.Saved, <-became)
		recovered, err := g.store.Load(t.Context(), g.settings.Layout.Range)
		require.NoError(t, err)
		require.Equal(t, []lanes.KeptAnswer{kept}, recovered.Keys)
	})
}

func TestAStoreThatLosesItsRefillTooIsNotPressed(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		_, err := g.Create(t.Context(), g.lane(1), g.sale(30), keyed("k", "create"))
		require.NoError(t, err)
		var refills, most atomic.Int64
		g.store.hook(func(_ context.Context, batch store.Batch, _ func() error) error {
			if batch.Refill {
				refills.Add(1)
				most.Store(max(most.Load(), int64(len(batch.Keys))))
			}
			return store.ErrRolledBack
		})
		require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryStop(session) }), time.Second), lanes.ErrNotSaved)
		g.pass(time.Minute)
		require.Less(t, refills.Load(), int64(60))
		require.Equal(t, int64(1), most.Load(), "whole once, and not more at each try")
		g.storeReturns()
		require.Equal(t, lanes.EndReason(lanes.ByPOS), g.ended(session).Reason)
	})
}
