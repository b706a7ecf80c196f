package screens

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFiveWrongAtOnceAndThenOneEachTwelveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAttempts[string](5)
		for range 5 {
			_, ok := a.Take("sam")
			require.True(t, ok)
		}
		wait, ok := a.Take("sam")
		require.False(t, ok)
		require.Equal(t, 12*time.Second, wait.Round(time.Millisecond))
		_, ok = a.Take("alex")
		require.True(t, ok, "another one is not held up")

		time.Sleep(wait)
		_, ok = a.Take("sam")
		require.True(t, ok)
		_, ok = a.Take("sam")
		require.False(t, ok)
		time.Sleep(time.Hour)
		for range 5 {
			_, ok = a.Take("sam")
			require.True(t, ok)
		}
		_, ok = a.Take("sam")
		require.False(t, ok, "no more than five are saved up")
	})
}

func TestWhatWasRightIsNotCounted(t *testing.T) {
	a := NewAttempts[string](5)
	for range 100 {
		_, ok := a.Take("sam")
		require.True(t, ok)
		a.GiveBack("sam")
	}
}

// Whoever makes up names or addresses can make the gateway forget others of that sort, and no one it knows.
func TestMemoryIsBoundedAndTheKnownAreNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAttempts(1, -1)
		_, ok := a.Take(-1)
		require.True(t, ok)
		for i := range 5 * generation {
			_, ok := a.Take(i)
			require.True(t, ok)
		}
		require.LessOrEqual(t, len(a.recent)+len(a.before), 2*generation)
		_, ok = a.Take(-1)
		require.False(t, ok)
		_, ok = a.Take(5*generation - 1)
		require.False(t, ok, "who was wrong just now is remembered too")
	})
}
