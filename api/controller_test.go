package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A lane says what controller its link was up to last, and since when; and nothing of one that is not remembered.
func TestTheControllerOfALane(t *testing.T) {
	fake := &fakeOperatedRange{}
	read := func() any {
		response := sendAuthorized(newOperationsWith(prometheus.NewRegistry(), fake, "operator"), "GET",
			"/observer/lanes/"+theLane, "")
		require.Equal(t, 200, response.Code)
		var lane map[string]any
		require.NoError(t, json.Unmarshal(response.Body.Bytes(), &lane))
		return lane["controller"]
	}
	require.Nil(t, read())
	fake.links = []lanes.LinkChange{{At: noon.Add(time.Hour), Link: lanes.LinkFaulty, Error: "another lane's"}, {
		At: noon, Link: lanes.LinkUp, Firmware: "2.1.0", Capabilities: []string{"open_end"}, Address: "10.0.0.12:7400",
	}, {At: noon, Link: lanes.LinkUp, Firmware: "2.0.0"}}
	require.Equal(t, map[string]any{
		"connected": false, "since": "2026-05-01T12:00:00.250Z", "firmware": "2.1.0",
		"capabilities": []any{"open_end"}, "address": "10.0.0.12:7400",
	}, read())
	fake.links = []lanes.LinkChange{{At: noon, Link: lanes.LinkUp}}
	require.Equal(t, map[string]any{
		"connected": false, "since": "2026-05-01T12:00:00.250Z", "firmware": nil, "capabilities": []any{},
		"address": nil,
	}, read())
}
