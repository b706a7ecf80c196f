package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func TestOneOfManyCreatesWins(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		sales := make([]lanes.Create, 50)
		creates := make([]func() error, len(sales))
		for i := range sales {
			sales[i] = g.sale(30)
			creates[i] = func() error {
				_, err := g.Create(g.request(), g.lane(0), sales[i], nil)
				return err
			}
		}
		var winners []lanes.Create
		for i, err := range beside(creates...) {
			if err == nil {
				winners = append(winners, sales[i])
			} else {
				require.ErrorIs(t, err, lanes.ErrLaneOccupied)
			}
		}
		require.Len(t, winners, 1)
		require.Equal(t, winners[0].Session, g.onBoard()[0])
		require.Len(t, g.onBoard(), 1)
		require.Equal(t, 30*time.Minute, g.left(winners[0].Session))
	})
}

func TestSoManyClientsMayWaitForALane(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		first := g.begin(func() error { return g.tryModify(session, 1) })
		var waiting []<-chan error
		for range maxWaiting {
			waiting = append(waiting, g.begin(func() error { return g.tryModify(session, 1) }))
		}
		require.ErrorIs(t, g.tryModify(session, 1), lanes.ErrOverloaded)
		created := g.begin(func() error { return g.tryCreate(1, 30) })
		paused := g.begin(func() error {
			_, err := g.On(g.request(), session, lanes.Pause{Session: session}, nil)
			return err
		})
		require.False(t, g.open(0), "what closes the fire line is never too much")
		release()
		require.NoError(t, <-first)
		require.NoError(t, <-paused)
		require.NoError(t, <-created, "another lane has nothing to do with it")
		for _, answer := range waiting {
			require.NoError(t, <-answer)
		}
		require.Equal(t, (30+1+maxWaiting)*time.Minute, g.left(session))
		g.modify(session, 1)
	})
}

func TestWhoeverHasStoppedWaitingIsSkipped(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		g.begin(func() error { return g.tryModify(session, 1) })
		asking, giveUp := context.WithCancel(t.Context())
		modified := g.begin(func() error {
			_, err := g.On(asking, session, lanes.Modify{Session: session, Minutes: 10}, keyed("k", "modify"))
			return err
		})
		giveUp()
		require.ErrorIs(t, <-modified, lanes.ErrTimeout)
		release()
		synctest.Wait()
		require.Equal(t, 31*time.Minute, g.left(session))
		_, err := g.On(g.request(), session, lanes.Modify{Session: session, Minutes: 10}, keyed("k", "modify"))
		require.NoError(t, err, "its key is free")
		require.Equal(t, 41*time.Minute, g.left(session))
	})
}

func TestAStopIsDoneThoughNobodyWaitsForTheAnswer(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		g.begin(func() error { return g.tryModify(session, 1) })
		asking, giveUp := context.WithCancel(t.Context())
		stopped := g.begin(func() error {
			_, err := g.On(asking, session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
			return err
		})
		giveUp()
		require.ErrorIs(t, <-stopped, lanes.ErrTimeout)
		release()
		synctest.Wait()
		require.Empty(t, g.onBoard())
		require.Equal(t, lanes.EndReason(lanes.ByPOS), g.ended(session).Reason)
	})
}
