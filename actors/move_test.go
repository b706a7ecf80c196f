package actors

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func (g *rig) move(session uuid.UUID, i int) {
	g.Helper()
	require.NoError(g, g.tryMove(session, i))
	synctest.Wait()
}

func TestAMoveTakesTheTimeLeftAlong(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(10 * time.Minute)
		var together []bool
		g.store.hook(func(_ context.Context, batch store.Batch, flush func() error) error {
			if len(batch.Lanes) > 0 {
				together = append(together, len(batch.Lanes) == 2 && batch.Lanes[0].Session == nil && batch.Lanes[1].Session.ID == session)
			}
			return flush()
		})
		g.move(session, 1)
		g.store.hook(nil)
		require.Equal(t, []bool{true}, together, "both lanes change in one write")
		require.False(t, g.open(0))
		require.True(t, g.open(1))
		require.Equal(t, 20*time.Minute, g.left(session))
		require.Equal(t, g.lane(1), g.Sessions()[0].Lane)

		g.pause(session)
		g.pass(time.Minute)
		g.move(session, 0)
		require.False(t, g.open(0), "it stays paused")
		g.resume(session)
		g.restart()
		require.True(t, g.open(0))
		g.pass(20*time.Minute - time.Millisecond)
		require.True(t, g.open(0), "a millisecond before its end")
		g.pass(time.Millisecond)
		require.Equal(t, uuid.Nil, g.controller(0).Shown().Session)
		ended := g.ended(session)
		require.Equal(t, g.lane(0), ended.Lane)
		require.Equal(t, 30*time.Minute, ended.Used)
		require.Equal(t, time.Minute, ended.Paused)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionPaused,
			lanes.SessionModified, lanes.SessionResumed, lanes.SessionStopped,
		}, g.happened(session))
	})
}

func TestWhereASessionCannotMove(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, other := g.create(0, 30), g.create(1, 30)
		g.controller(3).Refuse(true)
		g.controller(3).Cut(context.Canceled)
		g.pass(time.Minute)
		require.ErrorIs(t, g.tryMove(session, 0), lanes.ErrLaneOccupied, "where it is")
		require.ErrorIs(t, g.tryMove(session, 1), lanes.ErrLaneOccupied)
		require.ErrorIs(t, g.tryMove(session, 2), lanes.ErrLaneNotAccessible)
		require.ErrorIs(t, g.tryMove(session, 3), lanes.ErrLaneNotUsable)
		_, err := g.Move(g.request(), session, uuid.New(), nil)
		require.ErrorIs(t, err, lanes.ErrLaneNotFound)
		require.ErrorIs(t, g.tryMove(uuid.New(), 4), lanes.ErrSessionNotFound)
		g.stop(other)
		require.ErrorIs(t, g.tryMove(other, 4), lanes.ErrSessionEnded)
		require.NoError(t, g.tryCreate(4, 30), "no refusal leaves a lane reserved")
		require.Equal(t, 29*time.Minute, g.left(session))
	}, withLanes(5), withClosedLane(2))
}

func TestAReservedLaneIsNotSold(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, other := g.create(0, 30), g.create(2, 30)
		release := g.holdFlushes()
		moved := g.begin(func() error { return g.tryMove(session, 1) })
		require.ErrorIs(t, g.tryCreate(1, 30), lanes.ErrLaneOccupied)
		require.ErrorIs(t, g.tryMove(other, 1), lanes.ErrLaneOccupied)
		require.Equal(t, []uuid.UUID{session, other}, g.onBoard(), "not moved before it is saved")
		require.False(t, g.open(1))
		release()
		require.NoError(t, <-moved)
		require.Equal(t, []uuid.UUID{session, other}, g.onBoard())
		require.Equal(t, g.lane(1), g.Sessions()[0].Lane)
		g.create(0, 30)
	}, withLanes(3))
}

func TestAMoveThatIsNotSavedFreesTheDestination(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.store.hook(refuseAll)
		require.ErrorIs(t, g.tryMove(session, 1), lanes.ErrStoreUnavailable)
		g.store.hook(nil)
		g.pass(time.Second)
		require.True(t, g.open(0))
		g.create(1, 30)
	})
}

func TestAMoveThatIsGivenUpFreesTheDestination(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		g.begin(func() error { return g.tryModify(session, 1) })
		asking, giveUp := context.WithCancel(t.Context())
		moved := g.begin(func() error {
			_, err := g.Move(asking, session, g.lane(1), nil)
			return err
		})
		giveUp()
		require.ErrorIs(t, <-moved, lanes.ErrTimeout)
		synctest.Wait()
		created := g.begin(func() error { return g.tryCreate(1, 30) })
		release()
		require.NoError(t, <-created)
		synctest.Wait()
		require.Equal(t, g.lane(0), g.Sessions()[0].Lane)
		require.True(t, g.open(0))
	})
}

func TestAMoveIsMadeOnceForItsKey(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		move := func() error {
			_, err := g.Move(g.request(), session, g.lane(1), keyed("m", "move to 1"))
			return err
		}
		require.NoError(t, move())
		require.ErrorAs(t, move(), new(*lanes.Repeat))
		g.move(session, 0)
		require.ErrorAs(t, move(), new(*lanes.Repeat))
		require.Equal(t, g.lane(0), g.Sessions()[0].Lane)
	})
}

// watchBoard lists the sessions again and again until it is told to end: there must be this one, once.
func (g *rig) watchBoard(session uuid.UUID) (end func()) {
	var lists sync.WaitGroup
	done := make(chan struct{})
	lists.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if shown := g.onBoard(); len(shown) != 1 || shown[0] != session {
				g.Errorf("a list with %v", shown)
				return
			}
			if _, err := g.Session(g.Context(), session); err != nil {
				g.Errorf("looked up: %v", err)
				return
			}
		}
	})
	return func() {
		close(done)
		lists.Wait()
	}
}

func TestAListShowsAMovingSessionOnce(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		end := g.watchBoard(session)
		for i := range 50 {
			if err := g.tryMove(session, (i+1)%2); err != nil {
				t.Errorf("move %d: %v", i, err)
			}
		}
		end()
	})
}

func TestAListShowsASessionOnceThoughTheLaneItLeavesPanics(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 480)
		for i := range 20 {
			from, to := i%2, (i+1)%2
			release := g.holdFlushes()
			moved := g.begin(func() error { return g.tryMove(session, to) })
			end := g.watchBoard(session)
			g.sendTo(g.lane(from), &saveResult{})
			release()
			<-moved
			on := g.lane(from)
			for tries := 0; on != g.lane(to) && tries < 1_000_000; tries++ {
				runtime.Gosched()
				lane, _ := g.board.Find(session)
				on = lane.ID
			}
			end()
			require.Equal(t, g.lane(to), on)
			g.pass(10 * time.Second)
		}
	})
}
