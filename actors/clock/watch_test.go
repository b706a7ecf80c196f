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

// watchRecorder records what Watch reports.
type watchRecorder struct {
	clock *clocktest.Clock
	mu    sync.Mutex
	slept []time.Duration
	steps []time.Duration
	drift time.Duration // the newest
}

// runWatched runs a test while Watch compares the clocks.
func runWatched(t *testing.T, test func(*testing.T, *watchRecorder)) {
	synctest.Test(t, func(t *testing.T) {
		w, quit := &watchRecorder{clock: clocktest.New()}, make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { clock.Watch(w.clock, quit, w.record(&w.slept), w.record(&w.steps), w.setDrift) })
		defer watch.Wait()
		defer close(quit)
		synctest.Wait()
		test(t, w)
	})
}

func (w *watchRecorder) record(on *[]time.Duration) func(time.Duration) {
	return func(step time.Duration) {
		w.mu.Lock()
		defer w.mu.Unlock()
		*on = append(*on, step)
	}
}

func (w *watchRecorder) setDrift(step time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drift = step
}

func (w *watchRecorder) advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestASuspendIsReportedOnce(t *testing.T) {
	runWatched(t, func(t *testing.T, w *watchRecorder) {
		w.advance(10 * time.Minute)
		w.clock.Suspend(5 * time.Minute)
		w.advance(clock.WatchEvery)
		require.Equal(t, []time.Duration{5 * time.Minute}, w.slept)
		w.advance(time.Minute)
		w.clock.Suspend(8 * time.Hour)
		w.advance(time.Minute)
		require.Equal(t, []time.Duration{5 * time.Minute, 8 * time.Hour}, w.slept)
		require.Empty(t, w.steps, "the wall clock ran on with the boot clock")
	})
}

func TestAStepOfTheWallClockIsReportedOnce(t *testing.T) {
	runWatched(t, func(t *testing.T, w *watchRecorder) {
		w.clock.Step(time.Hour)
		w.advance(time.Minute)
		w.clock.Step(-2 * time.Hour)
		w.advance(time.Minute)
		require.Equal(t, []time.Duration{time.Hour, -2 * time.Hour}, w.steps)
		require.Empty(t, w.slept)
	})
}

func TestAStepOfTheWallClockDuringASuspendIsReportedToo(t *testing.T) {
	runWatched(t, func(t *testing.T, w *watchRecorder) {
		w.clock.Suspend(time.Hour)
		w.clock.Step(-time.Minute)
		w.advance(time.Minute)
		require.Equal(t, []time.Duration{time.Hour}, w.slept)
		require.Equal(t, []time.Duration{-time.Minute}, w.steps)
	})
}

func TestSmallCorrectionsOfTheClocksAreNotReported(t *testing.T) {
	runWatched(t, func(t *testing.T, w *watchRecorder) {
		for range 100 {
			w.clock.Step(-time.Second)
			w.clock.Suspend(time.Second)
			w.advance(time.Minute)
			w.clock.Step(time.Second)
			w.advance(time.Minute)
		}
		require.Empty(t, w.slept)
		require.Empty(t, w.steps)
	})
}

// The drift is how far the wall clock is off, until that is reported as a step.
func TestTheDriftOfTheWallClockIsMeasured(t *testing.T) {
	runWatched(t, func(t *testing.T, w *watchRecorder) {
		w.clock.Step(300 * time.Millisecond)
		w.advance(time.Minute)
		require.Equal(t, 300*time.Millisecond, w.drift)
		w.clock.Step(-500 * time.Millisecond)
		w.advance(time.Minute)
		require.Equal(t, -200*time.Millisecond, w.drift)
		w.clock.Step(time.Hour)
		w.advance(time.Minute)
		require.Zero(t, w.drift, "the drift counts from the new time")
		require.Len(t, w.steps, 1)
	})
}

// A slow drift is reported like a step, each time that it exceeds a second.
func TestASlowDriftIsReportedOnceForEachSecond(t *testing.T) {
	for _, gains := range []time.Duration{2 * time.Millisecond, -2 * time.Millisecond} {
		runWatched(t, func(t *testing.T, w *watchRecorder) {
			for range 1400 {
				w.clock.Step(gains)
				w.advance(clock.WatchEvery)
			}
			require.Equal(t, []time.Duration{501 * gains, 501 * gains}, w.steps,
				"each time it is more than a second off")
			require.Empty(t, w.slept)
		})
	}
}
