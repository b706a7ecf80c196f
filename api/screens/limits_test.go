package screens

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFiveWrongAttemptsAtOnceAndThenOneEveryTwelveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewAttemptLimiter[string](PerMinute(5))
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
	l := NewAttemptLimiter[string](PerMinute(5))
	for range 100 {
		_, ok := l.Reserve("sam")
		require.True(t, ok)
		l.Refund("sam")
	}
}

// A limit that is changed forgets no attempts.
func TestChangedLimitsForgetNoAttempts(t *testing.T) {
	l := NewAttemptLimiter[string](PerMinute(5))
	reserve := func(key string) bool {
		_, ok := l.Reserve(key)
		return ok
	}
	for range 4 {
		require.True(t, reserve("sam"))
	}
	l.SetRule(PerMinute(4))
	require.False(t, reserve("sam"))
	require.True(t, reserve("kim"))
	l.SetRule(PerMinute(0))
	for range 100 {
		require.True(t, reserve("sam"))
	}
	l.SetRule(PerMinute(5))
	require.True(t, reserve("sam"))
	require.False(t, reserve("sam"))
}

// Invented keys can displace other invented keys, but no key that is used all the time.
func TestMemoryIsBoundedAndAKeyInUseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewAttemptLimiter[int](PerMinute(1))
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

func TestKeptKeysAreNeverDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewAttemptLimiter[int](PerMinute(1))
		staff := map[int]bool{-1: true}
		l.Keep = func(key int) bool { return staff[key] }
		l.Reserve(-1)
		l.Reserve(-2)
		for i := range 3 * generation {
			l.Reserve(i)
		}
		_, ok := l.Reserve(-1)
		require.False(t, ok)
		_, ok = l.Reserve(-2)
		require.True(t, ok, "it was dropped")
		require.Len(t, l.kept, 1)

		staff[-2] = true
		_, ok = l.Reserve(-2)
		require.False(t, ok, "what counted counts on")
		for i := range 3 * generation {
			l.Reserve(i)
		}
		_, ok = l.Reserve(-2)
		require.False(t, ok)
	})
}

// After the free attempts each waits for twice as long as the one before, up to a limit, until a long time without one.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewAttemptLimiter[string](Backoff(2, time.Second, 5*time.Second, time.Hour))
		for range 2 {
			for range 2 {
				_, ok := l.Reserve("sam")
				require.True(t, ok)
			}
			for _, want := range []time.Duration{1, 2, 4, 5, 5} {
				wait, ok := l.Reserve("sam")
				require.False(t, ok)
				require.Equal(t, want*time.Second, wait)
				time.Sleep(wait - time.Millisecond)
				wait, ok = l.Reserve("sam")
				require.False(t, ok)
				require.Equal(t, time.Millisecond, wait, "a refused one does not count")
				time.Sleep(wait)
				_, ok = l.Reserve("sam")
				require.True(t, ok)
			}
			time.Sleep(time.Hour + time.Second)
		}
	})
}

func TestAttemptsAreForgottenAndTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewAttemptLimiter[string](Backoff(1, time.Minute, time.Hour, 24*time.Hour))
		l.Keep = func(key string) bool { return key == "sam" }
		reserve := func(key string) bool {
			_, ok := l.Reserve(key)
			return ok
		}
		forget := func(key string) bool { return l.Forget(func(k string) bool { return k == key }) }
		for _, key := range []string{"sam", "nobody"} {
			require.False(t, forget(key))
			require.True(t, reserve(key))
			l.Refund(key)
			require.False(t, forget(key), "it would not have had to wait")
			require.True(t, reserve(key))
			require.False(t, reserve(key))
		}
		require.True(t, forget("sam"))
		require.True(t, reserve("sam"))
		require.False(t, reserve("nobody"), "another key")
		require.True(t, l.Forget(func(string) bool { return true }))
		require.True(t, reserve("sam") && reserve("nobody"))
	})
}

func TestSlotsAreAcquiredAndReleased(t *testing.T) {
	slots := make(Slots, 1)
	require.True(t, slots.TryAcquire())
	require.False(t, slots.TryAcquire())
	slots.Release()
	require.True(t, slots.TryAcquire())
}
