package clock

import (
	"testing"

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
