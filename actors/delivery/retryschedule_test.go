package delivery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What waits to be sent again goes at 250 a second, and nothing before it is due.
func TestThePaceOfRetries(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	cursors := make([]uint64, 20_000)
	for i := range cursors {
		cursors[i] = uint64(i + 1)
	}
	schedule := newRetrySchedule(nil, now)
	require.Zero(t, schedule.levelAt(now))
	schedule.addAgain(cursors, now)
	require.Equal(t, now.Add(80*time.Second), schedule.levelAt(now))
	schedule.addAgain([]uint64{20_001}, now.Add(5*time.Minute))
	require.Equal(t, now.Add(5*time.Minute+4*time.Millisecond), schedule.levelAt(now))
}
