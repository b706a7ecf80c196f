package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// What becomes of commands while the store is away: it says no, at once or after a while, or it says nothing.
var outages = map[string]flushHook{"it refuses": refuses, "it refuses after a while": refusesSlowly, "it hangs": hangs}

func (g *rig) tryPause(session uuid.UUID) error {
	_, err := g.On(g.Context(), session, lanes.Pause{Session: session}, nil)
	return err
}

// answerOf waits for the answer, which has to come within the time.
func (g *rig) answerOf(asked <-chan error, within time.Duration) error {
	g.Helper()
	select {
	case err := <-asked:
		synctest.Wait()
		return err
	case <-time.After(within + time.Nanosecond):
		require.FailNow(g, "no answer", "within %s", within)
		return nil
	}
}

// storeReturns ends the outage, and comes back when what was not saved is saved.
func (g *rig) storeReturns() {
	g.Helper()
	g.store.hook(nil)
	g.pass(8 * time.Second) // a flush that hangs, and the longest pause between two tries
	require.True(g, g.Ready())
}

func TestACreateThatTheStoreRefusesChangesNothing(t *testing.T) {
	var hardware witness
	inFakeTime(t, func(t *testing.T, g *rig) {
		begun := time.Now()
		told := len(hardware.told(g.lane(0), begun))
		g.store.hook(refuses)
		require.ErrorIs(t, g.tryCreate(0, 30), lanes.ErrStoreUnavailable)
		synctest.Wait()
		require.Empty(t, g.onBoard())
		require.Len(t, hardware.told(g.lane(0), begun), told, "nothing reached the hardware")
		require.False(t, g.Ready())

		g.storeReturns()
		session := g.create(0, 30)
		log, err := g.Events(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, log, 2, "created and started, of the one that was sold")
		g.restart()
		require.Equal(t, []uuid.UUID{session}, g.onBoard())
	}, watchedBy(&hardware))
}

func TestWhileAFlushHangsOthersAreRefusedAtOnce(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.store.hook(hangs)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		sold := g.begin(func() error {
			_, err := g.Create(ctx, g.lane(0), g.sale(30), nil)
			return err
		})
		g.pass(400 * time.Millisecond)
		other := g.begin(func() error { return g.tryCreate(1, 30) })
		g.pass(599 * time.Millisecond)
		require.True(t, g.Ready(), "a flush may take a second")
		require.ErrorIs(t, g.answerOf(other, time.Millisecond), lanes.ErrStoreUnavailable, "it was not sent")

		known := time.Now()
		for i := range 2 {
			require.ErrorIs(t, g.tryCreate(i, 30), lanes.ErrStoreUnavailable)
		}
		require.Equal(t, known, time.Now(), "at once")
		require.ErrorIs(t, g.answerOf(sold, 2*time.Second), lanes.ErrTimeout)
		require.Empty(t, g.onBoard())
		require.False(t, g.open(0))
	})
}

func TestAStopIsInForceWhileTheStoreIsAway(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				g.pass(10 * time.Minute)
				g.store.hook(outage)
				arrived := g.clock.Now()
				stopped := g.begin(func() error { return g.tryStop(session) })
				require.False(t, g.open(0), "locked before anyone has an answer")
				require.ErrorIs(t, g.answerOf(stopped, time.Second), lanes.ErrNotSaved)
				require.Empty(t, g.onBoard())

				asked := time.Now()
				require.ErrorIs(t, g.tryStop(session), lanes.ErrNotSaved, "repeating is safe")
				require.ErrorIs(t, g.tryModify(session, 5), lanes.ErrSessionEnded)
				_, err := g.Session(t.Context(), session)
				require.ErrorIs(t, err, lanes.ErrSessionEnded)
				require.Equal(t, asked, time.Now(), "at once")

				g.pass(time.Minute)
				g.storeReturns()
				require.ErrorIs(t, g.tryStop(session), lanes.ErrSessionEnded)
				require.Equal(t, arrived.Wall, g.ended(session).At)
				require.Equal(t, 10*time.Minute, g.ended(session).Used)
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped}, g.happened(session))
				g.create(0, 30)
			})
		})
	}
}

func TestAPauseIsInForceWhileTheStoreIsAway(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				g.pass(10 * time.Minute)
				g.store.hook(outage)
				paused := g.begin(func() error { return g.tryPause(session) })
				require.False(t, g.open(0), "locked before anyone has an answer")
				require.ErrorIs(t, g.answerOf(paused, time.Second), lanes.ErrNotSaved)
				g.pass(time.Minute)
				require.Equal(t, 20*time.Minute, g.left(session))
				require.ErrorIs(t, g.tryPause(session), lanes.ErrNotRunning)
				_, err := g.On(t.Context(), session, lanes.Resume{Session: session}, nil)
				require.ErrorIs(t, err, lanes.ErrStoreUnavailable, "nothing opens that is not saved")

				g.storeReturns()
				g.restart()
				require.Equal(t, 20*time.Minute, g.left(session))
				require.False(t, g.open(0))
				g.resume(session)
				require.True(t, g.open(0))
				require.Equal(t, []lanes.Kind{
					lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed,
				}, g.happened(session))
			})
		})
	}
}

func TestAnExpiryIsInForceWhileTheStoreIsAway(t *testing.T) {
	var hardware witness
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				begun := g.clock.Now()
				session := g.create(0, 10)
				g.pass(9 * time.Minute)
				g.store.hook(outage)
				late := time.Now()
				g.pass(2 * time.Minute)
				told := hardware.told(g.lane(0), late)
				require.Len(t, told, 1)
				require.Nil(t, told[0].state.Session, "the lane is cleared")
				require.Equal(t, late.Add(time.Minute), told[0].at, "at the deadline")
				require.Empty(t, g.onBoard())

				g.storeReturns()
				require.Equal(t, lanes.Expired, g.ended(session).Reason)
				require.Equal(t, begun.Wall.Add(10*time.Minute), g.ended(session).At)
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped}, g.happened(session))
			}, watchedBy(&hardware))
		})
	}
}

func TestWhatHappenedInAnOutageIsSavedInOrder(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				first, second, third := g.create(0, 30), g.create(1, 30), g.create(2, 30)
				g.store.hook(outage)
				for _, closing := range []func() error{
					func() error { return g.tryPause(second) },
					func() error { return g.tryStop(third) },
					func() error { return g.tryStop(second) },
					func() error { return g.tryStop(first) },
				} {
					require.ErrorIs(t, g.answerOf(g.begin(closing), time.Second), lanes.ErrNotSaved)
					g.pass(100 * time.Millisecond) // into the next try
				}
				g.storeReturns()

				history, err := g.History(t.Context(), 0, 10)
				require.NoError(t, err)
				var ended []uuid.UUID
				for _, record := range history {
					ended = append(ended, record.Session.ID)
				}
				require.Equal(t, []uuid.UUID{third, second, first}, ended)
				log, err := g.Events(t.Context(), 6, 10)
				require.NoError(t, err)
				var happened []lanes.Kind
				for _, logged := range log {
					happened = append(happened, logged.Event.Kind)
				}
				require.Equal(t, []lanes.Kind{
					lanes.SessionPaused, lanes.SessionStopped, lanes.SessionStopped, lanes.SessionStopped,
				}, happened)
				g.restart()
				require.Empty(t, g.onBoard())
			}, withLanes(3))
		})
	}
}

// The store counts as away at the very moment that it answers.
func TestAFlushThatTakesASecondToTheDot(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 100)
		for range 100 {
			g.store.hook(func(_ context.Context, _ store.Batch, flush func() error) error {
				g.store.hook(nil)
				<-time.After(commit.SlowAfter)
				return flush()
			})
			require.NoError(t, g.tryModify(session, 1))
			g.pass(100 * time.Millisecond)
			require.True(t, g.Ready(), "and is back soon")
		}
	})
}
