package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// claimElsewhere is another process that takes the range.
func (g *rig) claimElsewhere() {
	g.Helper()
	_, err := g.store.Claim(g.Context(), g.settings.Layout.Range, g.clock.Now().Wall)
	require.NoError(g, err)
}

// requireLetGo wants everything to be refused, at once.
func (g *rig) requireLetGo(session uuid.UUID) {
	g.Helper()
	asked := time.Now()
	for name, err := range map[string]error{
		"create": g.tryCreate(1, 30),
		"modify": g.tryModify(session, 5),
		"stop":   g.tryStop(session),
		"move":   g.tryMove(session, 1),
		"repeat": g.tryStopOnce(session, keyed("k", "f")),
	} {
		require.ErrorIs(g, err, lanes.ErrNotOwner, name)
	}
	require.Equal(g, asked, time.Now())
	_, err := g.gateway.Range(g.settings.Layout.Range)
	require.Equal(g, lanes.ErrNotOwner, err, "nothing is read from it either")
	require.False(g, g.gateway.Ready(1))
}

func TestARangeThatAnotherProcessClaimedIsLetGo(t *testing.T) {
	var hardware witness
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(time.Minute)
		g.claimElsewhere()
		claimed := time.Now()
		require.ErrorIs(t, g.tryModify(session, 5), lanes.ErrNotOwner)
		synctest.Wait()
		made, closed := hardware.connections()
		require.Equal(t, made, closed, "every link is closed")
		require.Empty(t, hardware.told(g.lane(0), claimed))
		require.True(t, g.open(0), "whose it is now has not said otherwise")
		g.requireLetGo(session)
		g.pass(time.Hour)
		again, _ := hardware.connections()
		require.Equal(t, made, again, "none is made anew")
	}, watchedBy(&hardware))
}

func TestACheckpointNoticesTheClaim(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.claimElsewhere()
		g.pass(checkpointEvery)
		g.requireLetGo(session)
	})
}

func TestWhoeverWaitsWhenTheRangeIsLetGoHearsItAtOnce(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		var sessions []uuid.UUID
		for i := range 4 {
			sessions = append(sessions, g.create(i, 30))
		}
		release := g.holdFlushes()
		var waiting []<-chan error
		for range 3 {
			for _, session := range sessions {
				waiting = append(waiting, g.begin(func() error { return g.tryModify(session, 1) }))
			}
		}
		waiting = append(waiting, g.begin(func() error { return g.tryMove(sessions[0], 4) }))
		g.claimElsewhere()
		release()
		for _, asked := range waiting {
			require.ErrorIs(t, g.answerOf(asked, 0), lanes.ErrNotOwner)
		}
	}, withLanes(5))
}

// The tree may stop before it has read everything that was asked of it.
func TestNobodyWaitsForATreeThatHasStopped(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		require.NoError(t, awaitStopped(t.Context(), g.system.Root.StopFuture(g.root.Load())))
		modified := g.begin(func() error { return g.tryModify(session, 1) })
		moved := g.begin(func() error { return g.tryMove(session, 1) })
		g.letGo()
		require.ErrorIs(t, g.answerOf(modified, 0), lanes.ErrNotOwner)
		require.ErrorIs(t, g.answerOf(moved, 0), lanes.ErrNotOwner)
	})
}

// What was sent and not answered may have been saved before the range was claimed.
func TestNobodyIsToldThatNothingChangedWhenNobodyKnows(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.store.hook(losesAnswers)
		modified := g.begin(func() error { return g.tryModify(session, 5) })
		g.claimElsewhere()
		g.store.hook(nil)
		require.ErrorIs(t, g.answerOf(modified, time.Second), lanes.ErrTimeout)
		g.requireLetGo(session)
		g.restart()
		g.pass(lastBackoff)
		require.Equal(t, 35, g.Sessions()[0].Minutes)
	})
}

func TestTheNewOwnerGoesOnUndisturbed(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(10 * time.Minute)
		newer := NewGateway(g.clock, g.store, metrics.New(prometheus.NewRegistry()), g.log)
		require.NoError(t, newer.StartRange(t.Context(), g.settings))
		defer func() { require.NoError(t, newer.Stop(context.Background())) }()
		synctest.Wait()
		require.True(t, newer.Ready(1))
		owner, err := newer.Range(g.settings.Layout.Range)

		g.pass(time.Minute)
		g.requireLetGo(session)
		require.True(t, g.open(0))
		require.NoError(t, err)
		_, err = owner.On(t.Context(), session, lanes.Modify{Session: session, Minutes: 5}, nil)
		require.NoError(t, err)
		g.pass(24*time.Minute - time.Millisecond)
		require.True(t, g.open(0))
		for _, lane := range owner.Lanes() {
			require.Equal(t, lanes.LinkUp, lane.Link)
		}
		_, err = owner.On(t.Context(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, uuid.Nil, g.controller(0).Shown().Session)
		require.Equal(t, 35*time.Minute-time.Millisecond, g.ended(session).Used)
	})
}

// Two that start at the same time: the first is fenced while it still brings its lanes back.
func TestARangeClaimedElsewhereWhileItStarts(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		for range 10 {
			g.shutDown()
			g.clock.Reboot() // so that the sessions are saved as they are brought back
			g.store.hook(func(context.Context, store.Batch, func() error) error { return store.ErrFenced })
			if err := g.tryStart(); err != nil {
				require.ErrorIs(t, err, lanes.ErrNotOwner)
			} else {
				synctest.Wait()
				g.requireLetGo(session)
			}
			g.store.hook(nil)
		}
		g.restart()
		require.Equal(t, []uuid.UUID{session}, g.onBoard())
	})
}
