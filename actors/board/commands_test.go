package board

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// The log keeps the newest commands of a busy lane, and nothing of a lane without commands.
func TestTheCommandLogIsBounded(t *testing.T) {
	var log CommandLog
	lane, now := uuid.New(), lanes.Instant{Wall: time.Now(), Mono: time.Hour}
	for i := range 3 * lanes.MaxCommands {
		log.Add(lane, now, lanes.Commanded{Command: "modify", Took: time.Duration(i) * time.Millisecond})
	}
	newest := log.Newest(lane)
	require.Len(t, newest, lanes.MaxCommands)
	require.Equal(t, time.Duration(3*lanes.MaxCommands-1)*time.Millisecond, newest[0].Took)
	require.Equal(t, time.Duration(2*lanes.MaxCommands)*time.Millisecond, newest[lanes.MaxCommands-1].Took)
	require.LessOrEqual(t, cap(log.lanes[lane].newest), 2*lanes.MaxCommands)
	require.Nil(t, log.Newest(uuid.New()))
	log.Forget(lane)
	require.Nil(t, log.Newest(lane))
}

// A bounded number of timers counts, and only those of the last hour.
func TestLatenessIsBounded(t *testing.T) {
	var lateness Lateness
	now := lanes.Instant{Mono: time.Hour}
	lateness.Add(now, time.Second)
	for range latenessSize {
		lateness.Add(now, time.Millisecond)
	}
	require.Len(t, lateness.timers, latenessSize)
	require.Equal(t, time.Millisecond, lateness.P99(now))
	now.Mono += latenessTerm + 1
	require.Zero(t, lateness.P99(now))
	require.Empty(t, lateness.timers)
}
