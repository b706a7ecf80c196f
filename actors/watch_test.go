package actors

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// watchman is what was noticed of the clocks.
type watchman struct {
	clock *handClock
	mu    sync.Mutex
	slept []time.Duration
	steps []time.Duration
	drift time.Duration // as told last
}

// onWatch tells a story while the clocks are watched.
func onWatch(t *testing.T, story func(*testing.T, *watchman)) {
	synctest.Test(t, func(t *testing.T) {
		w, quit := &watchman{clock: newHandClock()}, make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { watchClocks(w.clock, quit, w.note(&w.slept), w.note(&w.steps), w.drifts) })
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
		w.clock.suspend(5 * time.Minute)
		w.pass(watchEvery)
		require.Equal(t, []time.Duration{5 * time.Minute}, w.slept)
		w.pass(time.Minute)
		w.clock.suspend(8 * time.Hour)
		w.pass(time.Minute)
		require.Equal(t, []time.Duration{5 * time.Minute, 8 * time.Hour}, w.slept)
		require.Empty(t, w.steps, "the wall clock went on with the other")
	})
}

func TestAWallClockThatIsSetIsNoticedOnce(t *testing.T) {
	onWatch(t, func(t *testing.T, w *watchman) {
		w.clock.step(time.Hour)
		w.pass(time.Minute)
		w.clock.step(-2 * time.Hour)
		w.pass(time.Minute)
		require.Equal(t, []time.Duration{time.Hour, -2 * time.Hour}, w.steps)
		require.Empty(t, w.slept)
	})
}

func TestAWallClockThatIsSetInASuspend(t *testing.T) {
	onWatch(t, func(t *testing.T, w *watchman) {
		w.clock.suspend(time.Hour)
		w.clock.step(-time.Minute)
		w.pass(time.Minute)
		require.Equal(t, []time.Duration{time.Hour}, w.slept)
		require.Equal(t, []time.Duration{-time.Minute}, w.steps)
	})
}

func TestSmallCorrectionsOfTheClocksAreNotWorthAWord(t *testing.T) {
	onWatch(t, func(t *testing.T, w *watchman) {
		for range 100 {
			w.clock.step(-tolerance)
			w.clock.suspend(tolerance)
			w.pass(time.Minute)
			w.clock.step(tolerance)
			w.pass(time.Minute)
		}
		require.Empty(t, w.slept)
		require.Empty(t, w.steps)
	})
}

// It is told by how much the wall clock is off, until that is acted upon.
func TestTheDriftOfTheWallClock(t *testing.T) {
	onWatch(t, func(t *testing.T, w *watchman) {
		w.clock.step(300 * time.Millisecond)
		w.pass(time.Minute)
		require.Equal(t, 300*time.Millisecond, w.drift)
		w.clock.step(-500 * time.Millisecond)
		w.pass(time.Minute)
		require.Equal(t, -200*time.Millisecond, w.drift)
		w.clock.step(time.Hour)
		w.pass(time.Minute)
		require.Zero(t, w.drift, "from now on it is held against the new time")
		require.Len(t, w.steps, 1)
	})
}
