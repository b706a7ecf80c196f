package screens

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFiveWrongAttemptsAtOnceAndThenOneEveryTwelveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewAttemptLimiter[string](5)
		for range 5 {
			_, ok := l.Reserve("sam")
			require.True(t, ok)
		}
		wait, ok := l.Reserve("sam")
		require.False(t, ok)
		require.Equal(t, 12*time.Second, wait.Round(time.Millisecond))
		_, ok = l.Reserve("alex")
		require.True(t, ok, "another key is not limited")

		time.Sleep(wait)
		_, ok = l.Reserve("sam")
		require.True(t, ok)
		_, ok = l.Reserve("sam")
		require.False(t, ok)
		time.Sleep(time.Hour)
		for range 5 {
			_, ok = l.Reserve("sam")
			require.True(t, ok)
		}
		_, ok = l.Reserve("sam")
		require.False(t, ok, "no more than five accumulate")
	})
}

func TestRightAttemptsAreNotCounted(t *testing.T) {
	l := NewAttemptLimiter[string](5)
	for range 100 {
		_, ok := l.Reserve("sam")
		require.True(t, ok)
		l.Refund("sam")
	}
}

// A limit that is changed forgets no attempts.
func TestChangedLimitsForgetNoAttempts(t *testing.T) {
	l := NewAttemptLimiter[string](5)
	reserve := func(key string) bool {
		_, ok := l.Reserve(key)
		return ok
	}
	for range 4 {
		require.True(t, reserve("sam"))
	}
	l.SetPerMinute(4)
	require.False(t, reserve("sam"))
	require.True(t, reserve("kim"))
	l.SetPerMinute(0)
	for range 100 {
		require.True(t, reserve("sam"))
	}
	l.SetPerMinute(5)
	require.True(t, reserve("sam"))
	require.False(t, reserve("sam"))
}

// Invented keys can displace other invented keys, but no key that is used all the time.
func TestMemoryIsBoundedAndAKeyInUseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewAttemptLimiter[int](1)
		for i := range 5 * generation {
			_, ok := l.Reserve(i)
			require.True(t, ok)
			if i%1000 == 0 {
				_, ok := l.Reserve(-2)
				require.Equal(t, i == 0, ok, "a key that is used all the time stays limited")
			}
		}
		require.LessOrEqual(t, len(l.recent)+len(l.former), 2*generation)
		_, ok := l.Reserve(5*generation - 1)
		require.False(t, ok, "the latest key is kept too")
	})
}

func TestSlotsAreAcquiredAndReleased(t *testing.T) {
	slots := make(Slots, 1)
	require.True(t, slots.TryAcquire())
	require.False(t, slots.TryAcquire())
	slots.Release()
	require.True(t, slots.TryAcquire())
}
