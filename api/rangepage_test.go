package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func (s *fakeOperatedRange) StoreHealth() lanes.StoreHealth {
	return lanes.StoreHealth{
		Epoch: 7, Flush: 42, LastFlush: noon, Took: 3 * time.Millisecond, Failures: 2, FailedAt: noon.Add(-time.Hour),
		Error: "i/o timeout", Unsaved: 4, Outage: lanes.StoreOutage{Since: noon, Attempts: 6, Error: "refused"},
		Checkpoint: noon, Offset: &lanes.Offset{Ahead: -12 * time.Millisecond, Clock: "redis 1"},
		Keys: 31, MostKeys: 100_000,
		Webhooks: []lanes.WebhookState{
			{Name: "pos", Waiting: 2, Retrying: 1, Oldest: noon, Failing: lanes.Failing{Count: 3, Error: "refused"}},
			{Name: "accounting", Gone: true},
		},
	}
}

// What an operator has to know of a range's store, owner and webhooks is one answer.
func TestTheStoreOfARange(t *testing.T) {
	fake := &fakeOperatedRange{storedRecords: aPause()}
	h := newOperationsWith(prometheus.NewRegistry(), fake, "operator")
	at := "/observer/range?range=" + someRange
	require.Equal(t, 401, send(h, "GET", at).Code)
	response := sendAuthorized(h, "GET", at, "")
	require.Equal(t, 200, response.Code, response.Body)
	var body map[string]any
	require.NoError(t, json.Unmarshal(response.Body.Bytes(), &body))
	require.Equal(t, []any{"north-1", 7.0, "2026-05-01T11:00:00.250Z", "2026-05-01T12:00:00.250Z"},
		[]any{body["node"], body["epoch"], body["served_since"], body["last_checkpoint_at"]})
	require.Equal(t, map[string]any{
		"last_at": "2026-05-01T12:00:00.250Z", "last_took_ms": 3.0, "number": 42.0, "failures": 2.0,
		"last_failed_at": "2026-05-01T11:00:00.250Z", "last_error": "i/o timeout", "changes_unsaved": 4.0,
	}, body["flushes"])
	require.Equal(t, map[string]any{"since": "2026-05-01T12:00:00.250Z", "attempts": 6.0, "error": "refused"},
		body["outage"])
	require.Equal(t, map[string]any{"ahead_ms": -12.0, "clock": "redis 1"}, body["clock_offset"])
	require.Equal(t, map[string]any{"kept": 31.0, "most": 100_000.0}, body["idempotency_keys"])
	require.Equal(t, map[string]any{"event": "5", "ended": "0", "act": "3"}, body["logs"])
	webhooks := body["webhooks"].([]any)
	pos, accounting := webhooks[0].(map[string]any), webhooks[1].(map[string]any)
	require.Equal(t, map[string]any{
		"webhook": "pos", "waiting": 2.0, "retrying": 1.0, "oldest_at": "2026-05-01T12:00:00.250Z", "gone": false,
		"failures": 3.0, "last_error": "refused",
	}, without(pos, "newest"))
	require.Len(t, pos["newest"], 4)
	newest := pos["newest"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"5", "sessionResumed", "a third"},
		[]any{newest["cursor"], newest["event"], newest["trace_id"]})
	require.Equal(t, "delivered", newest["attempt"].(map[string]any)["outcome"])
	require.Equal(t, true, accounting["gone"])
	require.Nil(t, accounting["newest"].([]any)[0].(map[string]any)["attempt"])

	code := func(path string) string { return codeOf(t, sendAuthorized(h, "GET", path, "")) }
	require.Equal(t, "not_owner", code("/observer/range?range="+otherRange))
	require.Equal(t, "not_found", code("/observer/range?range="+theLane))
	require.Equal(t, "invalid_request", code("/observer/range"))
}
