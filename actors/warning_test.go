package actors

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

func withWarnings(f *fixture) {
	f.settings.Layout.Warnings = []time.Duration{5 * time.Minute, time.Minute}
}

// endings returns how much was left at each warning of the session.
func (f *fixture) endings(session uuid.UUID) (left []time.Duration) {
	f.Helper()
	for _, logged := range f.eventLog() {
		if e := logged.Event; e.Session == session && e.Kind == lanes.SessionEnding {
			require.Equal(f, e.At.Add(e.Ending.Remaining), e.Ending.EndsAt)
			left = append(left, e.Ending.Remaining)
		}
	}
	return left
}

func TestASessionIsWarnedExactly(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 10)
		f.advance(5*time.Minute - time.Millisecond)
		require.Empty(t, f.endings(session))
		require.False(t, f.controller(0).Shown().Warns)
		f.advance(time.Millisecond)
		require.True(t, f.controller(0).Shown().Warns, "the controller warns by itself")
		require.Equal(t, []time.Duration{5 * time.Minute}, f.endings(session))
		f.pause(session)
		f.advance(time.Hour)
		f.resume(session)
		f.restart()
		f.advance(4*time.Minute - time.Millisecond)
		require.Len(t, f.endings(session), 1, "neither a pause nor a restart brings it back")
		f.advance(time.Millisecond)
		require.Equal(t, []time.Duration{5 * time.Minute, time.Minute}, f.endings(session))

		f.modify(session, 10)
		f.advance(6 * time.Minute)
		require.Equal(t, []time.Duration{5 * time.Minute, time.Minute, 5 * time.Minute}, f.endings(session),
			"the deadline has moved behind it")
		f.advance(5 * time.Minute)
		require.Equal(t, 20*time.Minute, f.endedSession(session).Used)
		require.Equal(t, lanes.SessionStopped, f.eventLog()[len(f.eventLog())-1].Event.Kind)
	}, withWarnings)
}

// What was reached while the gateway was down is told once, with what is left by then.
func TestAWarningThatWasMissedComesLateAndIsTrue(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 10)
		f.advance(time.Minute)
		f.kill()
		f.clock.Suspend(8*time.Minute + 30*time.Second)
		f.start()
		f.advance(0)
		require.Len(t, f.endings(session), 1)
		require.InDelta(t, 30*time.Second, f.endings(session)[0], float64(time.Second))
		f.advance(time.Minute)
		require.Len(t, f.endings(session), 1)
		require.Equal(t, 10*time.Minute, f.endedSession(session).Used)
	}, withWarnings)
}

func TestASessionHasWarningsOfItsOwn(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		sale := f.newSale(10)
		sale.WarnAt = []time.Duration{3 * time.Minute}
		own := f.sell(0, sale)
		sale.Session, sale.WarnAt = uuid.New(), []time.Duration{}
		never := f.sell(1, sale)
		f.advance(9*time.Minute + 59*time.Second)
		require.Equal(t, []time.Duration{3 * time.Minute}, f.endings(own))
		require.Empty(t, f.endings(never))
	}, withWarnings)
}

// A warning that cannot be saved keeps nothing from its way, costs the store little, and comes once it returns.
func TestAWarningWaitsForTheStore(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session, stopped := f.create(0, 10), f.create(1, 10)
				f.advance(4 * time.Minute)
				var tries atomic.Int64
				f.store.setHook(func(ctx context.Context, batch store.Batch, flush func() error) error {
					tries.Add(1)
					return outage(ctx, batch, flush)
				})
				f.advance(2 * time.Minute)
				require.Less(t, tries.Load(), int64(300), "in two minutes")
				require.Empty(t, f.endings(session))
				stop := f.runAsync(func() error { return f.tryStop(stopped) })
				f.advance(time.Second)
				require.False(t, f.isOpen(1), "a lane stops while its warning waits")
				f.storeReturns()
				require.ErrorIs(t, <-stop, lanes.ErrNotSaved)
				require.Len(t, f.endings(session), 1, "with what is left by then")
				require.InDelta(t, 4*time.Minute, f.endings(session)[0], float64(15*time.Second))
				require.Empty(t, f.endings(stopped))
				f.advance(4 * time.Minute)
				require.Len(t, f.endings(session), 2)
				require.Equal(t, 10*time.Minute, f.endedSession(session).Used)
				require.Equal(t, 6*time.Minute, f.endedSession(stopped).Used)
			}, withWarnings)
		})
	}
}

// The new kinds go only to a webhook that names them, whatever the others get.
func TestNewKindsGoToWhoeverNamesThem(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 2)
		f.advance(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, []lanes.Kind{lanes.SessionEnding, lanes.SessionExpired}, books.kinds())
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped}, pos.kinds())
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionEnding, lanes.SessionExpired, lanes.SessionStopped,
		}, f.eventKinds(session))
	}, withWarnings, func(f *fixture) { f.settings.Layout.TellsExpired = true },
		withWebhooks(pos, books, lanes.SessionEnding, lanes.SessionExpired))
}

// A reload changes what the sessions under way are warned of.
func TestAReloadChangesTheWarnings(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 10)
		f.advance(time.Minute)
		require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Warnings = []time.Duration{8 * time.Minute} }))
		f.advance(time.Minute)
		require.Equal(t, []time.Duration{8 * time.Minute}, f.endings(session))
		require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Warnings = nil }))
		f.advance(8 * time.Minute)
		require.Len(t, f.endings(session), 1)
	}, withWarnings)
}
