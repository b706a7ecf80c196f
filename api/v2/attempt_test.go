package v2

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// outcome is one of the words of WIRE.md. A delivery under way keeps an error: a program that knows no outcome would take null for delivered.
func TestTheOutcomeOfAnAttemptOnTheWire(t *testing.T) {
	require.Nil(t, AttemptOf(nil), "pending")
	for _, c := range []struct {
		attempt        lanes.Attempt
		outcome, error string
	}{
		{lanes.Attempt{Status: 204}, "delivered", ""},
		{lanes.Attempt{Status: 500, Error: lanes.Refused + ": 500"}, "refused", "refused: 500"},
		{lanes.Attempt{Error: lanes.TimedOut + ": after 10s"}, "failed", "timed out: after 10s"},
		{lanes.Attempt{Error: lanes.Unreachable}, "failed", "unreachable"},
		{lanes.Attempt{Error: lanes.Interrupted}, "interrupted", "interrupted"},
		{lanes.Attempt{Error: lanes.UnderWay}, "under_way", "interrupted"},
		{lanes.Attempt{Error: lanes.NoWebhook}, "not_sent", lanes.NoWebhook},
		{lanes.Attempt{Error: lanes.Dropped + ": more than 5 events waited"}, "dropped", "dropped: more than 5 events waited"},
	} {
		c.attempt.At, c.attempt.Duration = time.Now(), 35*time.Millisecond
		shown := AttemptOf(&c.attempt)
		require.Equal(t, c.outcome, shown.Outcome)
		if c.error == "" {
			require.Nil(t, shown.Error)
		} else {
			require.Equal(t, c.error, *shown.Error)
		}
	}
}
