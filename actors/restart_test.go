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

func TestARestartKeepsEverySession(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		waiting, running, paused := g.book(0, 10), g.create(1, 20), g.create(2, 30)
		g.pass(4 * time.Minute)
		g.pause(paused)
		before := g.Lanes()
		g.shutDown()
		require.True(t, g.open(1), "the hardware goes on by itself")
		g.pass(3 * time.Minute)
		g.start()

		require.Equal(t, []uuid.UUID{waiting, running, paused}, g.onBoard())
		require.Equal(t, 10*time.Minute, g.left(waiting))
		require.Equal(t, 13*time.Minute, g.left(running))
		require.Equal(t, 26*time.Minute, g.left(paused))
		ranOn := *before[1].Lane.Session
		ranOn.RanOn = 3 * time.Minute
		before[1].Lane.Session = &ranOn
		for i, now := range g.Lanes() {
			require.Equal(t, before[i].Lane, now.Lane)
		}
		g.enter(0)
		g.resume(paused)
		for i := range 3 {
			require.True(t, g.open(i))
		}
		g.pass(26 * time.Minute)
		for _, session := range []uuid.UUID{waiting, running, paused} {
			require.Equal(t, lanes.Expired, g.ended(session).Reason)
			require.Equal(t, g.ended(session).Session.Sold, g.ended(session).Used)
		}
	}, withLanes(3))
}

func TestWhatEndedWhileDownIsOnRecordBeforeTheRangeIsReady(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		begun := g.clock.Now()
		session := g.create(0, 10)
		g.shutDown()
		g.pass(time.Hour)
		save := make(chan struct{})
		g.store.hook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if len(batch.Ended) > 0 {
				<-save
			}
			return flush()
		})
		require.NoError(t, g.tryStart())
		synctest.Wait()
		require.False(t, g.gateway.Ready(1))
		close(save)
		synctest.Wait()
		require.True(t, g.gateway.Ready(1))

		ended := g.ended(session)
		require.Equal(t, lanes.Expired, ended.Reason)
		require.Equal(t, begun.Wall.Add(10*time.Minute), ended.At)
		require.Equal(t, 10*time.Minute, ended.Used)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped}, g.happened(session))
		require.Equal(t, uuid.Nil, g.controller(0).Shown().Session)
		g.create(0, 10)
	})
}

func TestStoppingTheGatewaySavesWhatIsUnderWay(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		modified := g.begin(func() error { return g.tryModify(session, 5) })
		stopping := g.gateway
		g.gateway = nil
		stopped := g.begin(func() error { return stopping.Stop(t.Context()) })
		require.Empty(t, stopped, "it waits")
		release()
		require.NoError(t, <-stopped)
		require.Contains(t, []error{nil, lanes.ErrTimeout}, <-modified, "nobody is told that it was not done")
		require.Error(t, g.tryModify(session, 1), "it is over")
		require.NoError(t, g.store.Close())
		g.start()
		require.Equal(t, 35*time.Minute, g.left(session))
	})
}

func TestALaneInUseCannotLeaveTheLayout(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		gone, due, stays := g.create(0, 30), g.create(1, 5), g.create(2, 30)
		all := g.settings.Layout.Lanes
		g.shutDown()
		g.pass(10 * time.Minute)

		g.settings.Layout.Lanes = all[2:]
		err := g.tryStart()
		require.ErrorIs(t, err, ErrLayout)
		require.ErrorContains(t, err, all[0].ID.String())
		require.ErrorContains(t, err, all[1].ID.String())
		require.ErrorContains(t, err, "20m0s left")

		g.settings.Retire = []uuid.UUID{all[0].ID}
		require.ErrorIs(t, g.tryStart(), ErrLayout, "the other one is still in use")
		g.pass(time.Second)
		g.settings.Retire = []uuid.UUID{all[0].ID, all[1].ID}
		g.start()
		require.Equal(t, lanes.EndReason(lanes.ByStaff), g.ended(gone).Reason)
		require.Equal(t, 10*time.Minute+time.Second, g.ended(gone).Used, "a start that fails ends nothing")
		require.Equal(t, lanes.Expired, g.ended(due).Reason)
		require.Equal(t, 5*time.Minute, g.ended(due).Used)
		require.Equal(t, 20*time.Minute-time.Second, g.left(stays))

		g.settings.Retire = nil
		g.restart()
		require.Equal(t, []uuid.UUID{stays}, g.onBoard())
	}, withLanes(3))
}

// However long it takes to save it.
func TestTheEndOfARetiredSessionIsAnnounced(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.shutDown()
		g.settings.Retire = []uuid.UUID{g.lane(0)}
		g.settings.Layout.Lanes = g.settings.Layout.Lanes[1:]
		release := g.holdFlushes()
		require.NoError(t, g.tryStart())
		synctest.Wait()
		release()
		synctest.Wait()
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped}, received.kinds())
		require.Equal(t, lanes.EndReason(lanes.ByStaff), g.ended(session).Reason)
	}, withWebhook(received))
}

// A POS that reads while the range is being brought back must not think that its sessions are gone.
func TestEverySessionIsShownFromTheFirstMoment(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		var sessions []uuid.UUID
		for i := range g.settings.Layout.Lanes {
			sessions = append(sessions, g.create(i, 30))
		}
		for range 20 {
			before := g.Lanes()
			g.shutDown()
			require.NoError(t, g.tryStart())
			require.Equal(t, sessions, g.onBoard())
			require.NoError(t, g.tryModify(sessions[len(sessions)-1], 1))
			synctest.Wait()
			for i, lane := range g.Lanes()[:len(sessions)-1] {
				require.Equal(t, before[i].Lane, lane.Lane)
			}
		}
	}, withLanes(10))
}
