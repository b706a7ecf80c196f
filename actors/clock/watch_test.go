package clock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/actors/clock/clocktest"
)

// watchman is what was noticed of the clocks.
type watchman struct {
	clock *clocktest.Clock
	mu    sync.Mutex
	slept []time.Duration
	steps []time.Duration
	drift time.Duration // as told last
}

// onWatch tells a story while the clocks are watched.
func onWatch(t *testing.T, story func(*testing.T, *watchman)) {
	synctest.Test(t, func(t *testing.T) {
		w, quit := &watchman{clock: clocktest.New()}, make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { clock.Watch(w.clock, quit, w.note(&w.slept), w.note(&w.steps), w.drifts) })
		defer watch.Wait()
		defer close(quit)
		synctest.Wait()
		story(t, w)
	})
}

func (w *watchman) note(on *[]time.Duration) func(time.Duration) {
	return func(by time.Duration) {
		w.mu.Lock()
		defer w.mu.Unlock()
		*on = append(*on, by)
	}
}

func (w *watchman) drifts(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drift = by
}

func (w *watchman) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestASuspendIsNoticedOnce(t *testing.T) {
	onWatch(t, func(t *testing.T, w *watchman) {
		w.pass(10 * time.Minute)
		w.clock.Suspend(5 * time.Minute)
		w.pass(clock.WatchEvery)
		require.Equal(t, []time.Duration{5 * time.Minute}, w.slept)
		w.pass(time.Minute)
		w.clock.Suspend(8 * time.Hour)
		w.pass(time.Minute)
		require.Equal(t, []time.Duration{5 * time.Minute, 8 * time.Hour}, w.slept)
		require.Empty(t, w.steps, "the wall clock went on with the other")
	})
}

func TestAWallClockThatIsSetIsNoticedOnce(t *testing.T) {
	onWatch(t, func(t *testing.T, w *watchman) {
		w.clock.Step(time.Hour)
		w.pass(time.Minute)
		w.clock.Step(-2 * time.Hour)
		w.pass(time.Minute)
		require.Equal(t, []time.Duration{time.Hour, -2 * time.Hour}, w.steps)
		require.Empty(t, w.slept)
	})
}

func TestAWallClockThatIsSetInASuspend(t *testing.T) {
	onWatch(t, func(t *testing.T, w *watchman) {
		w.clock.Suspend(time.Hour)
		w.clock.Step(-time.Minute)
		w.pass(time.Minute)
		require.Equal(t, []time.Duration{time.Hour}, w.slept)
		require.Equal(t, []time.Duration{-time.Minute}, w.steps)
	})
}

func TestSmallCorrectionsOfTheClocksAreNotWorthAWord(t *testing.T) {
	onWatch(t, func(t *testing.T, w *watchman) {
		for range 100 {
			w.clock.Step(-time.Second)
			w.clock.Suspend(time.Second)
			w.pass(time.Minute)
			w.clock.Step(time.Second)
			w.pass(time.Minute)
		}
		require.Empty(t, w.slept)
		require.Empty(t, w.steps)
	})
}

// It is told by how much the wall clock is off, until that is acted upon.
func TestTheDriftOfTheWallClock(t *testing.T) {
	onWatch(t, func(t *testing.T, w *watchman) {
		w.clock.Step(300 * time.Millisecond)
		w.pass(time.Minute)
		require.Equal(t, 300*time.Millisecond, w.drift)
		w.clock.Step(-500 * time.Millisecond)
		w.pass(time.Minute)
		require.Equal(t, -200*time.Millisecond, w.drift)
		w.clock.Step(time.Hour)
		w.pass(time.Minute)
		require.Zero(t, w.drift, "from now on it is held against the new time")
		require.Len(t, w.steps, 1)
	})
}

// A wall clock that goes wrong little by little is as wrong in the end as one that is set.
func TestASlowDriftIsNoticedOnceForEachSecond(t *testing.T) {
	for _, gains := range []time.Duration{2 * time.Millisecond, -2 * time.Millisecond} {
		onWatch(t, func(t *testing.T, w *watchman) {
			for range 1400 {
				w.clock.Step(gains)
				w.pass(clock.WatchEvery)
			}
			require.Equal(t, []time.Duration{501 * gains, 501 * gains}, w.steps, "each time it is more than a second off")
			require.Empty(t, w.slept)
		})
	}
}
