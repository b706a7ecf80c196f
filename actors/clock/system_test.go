package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Mono is the kernel's boot clock.
func TestTheSystemClockReadsTheKernelsBootClock(t *testing.T) {
	c, err := NewSystem()
	require.NoError(t, err)
	require.NotEmpty(t, c.Boot())
	for range 1_000 {
		before, err := readBootClock()
		require.NoError(t, err)
		now := c.Now()
		after, err := readBootClock()
		require.NoError(t, err)
		require.LessOrEqual(t, before, now.Mono)
		require.LessOrEqual(t, now.Mono, after)
	}
}

// An interruption between the two readings makes no instant whose clocks disagree, unless the machine is
// never quick enough.
func TestAnInstantIsReadAgainAfterAnInterruption(t *testing.T) {
	for interruptions, off := range map[int]time.Duration{
		0: 0, 1: 0, maxReadings - 1: 0,
		maxReadings: 69 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			begun, reading := time.Now(), 0
			now := readTogether(time.Now, func() (time.Duration, error) {
				boot := time.Since(begun)
				if reading++; reading <= interruptions {
					time.Sleep(69 * time.Millisecond)
				}
				return boot, nil
			})
			require.Equal(t, off, now.Wall.Sub(begun)-now.Mono, "%d interruptions", interruptions)
		})
	}
}
