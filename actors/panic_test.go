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

// crash makes the actor of the i-th lane panic outside of any decision: no such flight can have landed.
func (g *rig) crash(i int) { g.toLane(i, &saveResult{}) }

// metric is the value of a counter or gauge for that kind of actor.
func (g *rig) metric(name, kind string) (value float64) {
	families, err := g.registry.Gather()
	require.NoError(g, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && m.GetLabel()[0].GetValue() == kind {
				value += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return value
}

// tryNothing gives the session no command at all, which no rule can decide.
func (g *rig) tryNothing(session uuid.UUID) error {
	_, err := g.On(g.request(), session, nil, nil)
	synctest.Wait()
	return err
}

func TestAPanicCostsALaneOneRestart(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, other := g.create(0, 30), g.create(1, 30)
		g.pass(10 * time.Minute)
		before := g.Lanes()
		require.ErrorIs(t, g.tryNothing(session), lanes.ErrInternal)
		g.pass(firstBackoff)

		after := g.Lanes()
		require.Equal(t, before[0].Lane, after[0].Lane)
		require.Equal(t, lanes.LinkUp, after[0].Link)
		require.Equal(t, before[1], after[1], "the other lane and its link never noticed")
		require.Equal(t, 20*time.Minute-firstBackoff, g.left(session))
		require.True(t, g.open(0))
		require.True(t, g.gateway.Ready(1))

		g.modify(session, 1)
		g.pass(g.left(session) - time.Millisecond)
		require.Equal(t, session, g.controller(0).Shown().Session)
		g.pass(time.Millisecond)
		require.Equal(t, uuid.Nil, g.controller(0).Shown().Session, "the timer is armed as before")
		require.Equal(t, 31*time.Minute, g.ended(session).Used)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionStopped,
		}, g.happened(session))
		require.Equal(t, 30*time.Minute, g.ended(other).Used)
		require.Equal(t, 1.0, g.metric("rangegate_actor_restarts_total", "lane"))
		require.Zero(t, g.metric("rangegate_actor_mailbox_messages", "lane"), "none is counted as waiting for ever")
	})
}

func TestAPausedAndAWaitingSessionOutliveAPanic(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		paused, waiting := g.create(0, 30), g.book(1, 30)
		g.pass(10 * time.Minute)
		g.pause(paused)
		g.crash(0)
		g.crash(1)
		g.pass(time.Minute)
		require.Equal(t, 20*time.Minute, g.left(paused))
		require.Equal(t, 30*time.Minute, g.left(waiting))
		require.False(t, g.open(0))
		require.False(t, g.open(1))
		g.resume(paused)
		g.enter(1)
		require.True(t, g.open(0))
		require.True(t, g.open(1))
	})
}

func TestAPanicWhileASaveIsUnderWay(t *testing.T) {
	for what, saving := range map[string]error{"saved": nil, "refused": store.ErrRefused} {
		t.Run(what, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				g.pass(10 * time.Minute)
				goOn := make(chan struct{})
				g.store.hook(func(_ context.Context, _ store.Batch, flush func() error) error {
					<-goOn
					if saving != nil {
						return saving
					}
					return flush()
				})
				modified := g.begin(func() error { return g.tryModify(session, 5) })
				waited := g.begin(func() error { return g.tryModify(session, 7) })
				g.crash(0)
				require.ErrorIs(t, <-modified, lanes.ErrTimeout, "nobody knows yet")
				require.ErrorIs(t, <-waited, lanes.ErrInternal, "was not begun")
				require.Equal(t, 20*time.Minute, g.left(session))

				close(goOn)
				synctest.Wait()
				g.store.hook(nil)
				g.pass(time.Second)
				want, happened := 20*time.Minute-time.Second, 2
				if saving == nil {
					want, happened = want+5*time.Minute, 3
				}
				require.Equal(t, want, g.left(session))
				require.Len(t, g.happened(session), happened)
				require.True(t, g.open(0))
				g.pass(want)
				require.Equal(t, lanes.Expired, g.ended(session).Reason)
			})
		})
	}
}

// A stop is in force as soon as it is taken; the panic does not bring the session back.
func TestAPanicWhileAStopIsBeingSaved(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(10 * time.Minute)
		release := g.holdFlushes()
		g.begin(func() error {
			_, err := g.On(g.request(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
			return err
		})
		require.False(t, g.open(0))
		g.crash(0)
		require.False(t, g.open(0))
		release()
		g.pass(time.Second)
		require.Empty(t, g.onBoard())
		require.Equal(t, 10*time.Minute, g.ended(session).Used)
		require.False(t, g.open(0))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped}, g.happened(session))
	})
}

func TestAnAnswerThatCannotBeRenderedIsADefectOfOneRequest(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		key := &lanes.Key{Name: "k", Fingerprint: "f", Render: func(*lanes.SessionView) (int, []byte) { panic("no words") }}
		_, err := g.Create(g.request(), g.lane(0), g.sale(30), key)
		require.ErrorIs(t, err, lanes.ErrInternal)
		synctest.Wait()
		require.Empty(t, g.onBoard())
		_, err = g.Create(g.request(), g.lane(0), g.sale(30), keyed("k", "f"))
		require.NoError(t, err, "the key is free again")
	})
}
