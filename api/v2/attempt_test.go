package v2

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// outcome is one of the words of WIRE.md. A delivery under way has no error yet.
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
		{lanes.Attempt{Error: lanes.UnderWay}, "under_way", ""},
		{lanes.Attempt{Error: lanes.NoWebhook}, "not_sent", lanes.NoWebhook},
		{
			lanes.Attempt{Error: lanes.Dropped + ": more than 5 events waited"},
			"dropped",
			"dropped: more than 5 events waited",
		},
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

// What follows from a failed delivery is there where events are tried again, and nowhere else.
func TestWhatFollowsFromAnAttemptOnTheWire(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 5, 5, 0, time.UTC)
	failed := lanes.Attempt{At: at, Status: 503, Error: lanes.Refused}
	keys := func(attempt lanes.Attempt) (keys map[string]any) {
		text, err := json.Marshal(AttemptOf(&attempt))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &keys))
		return keys
	}
	require.NotContains(t, keys(failed), "retry_at")
	require.NotContains(t, keys(failed), "given_up")
	failed.RetryAt = at
	require.Equal(t, "2026-05-01T10:05:05.000Z", keys(failed)["retry_at"])
	failed.RetryAt, failed.GivenUp = time.Time{}, true
	require.Equal(t, true, keys(failed)["given_up"])
	require.NotContains(t, keys(failed), "retry_at")
}
