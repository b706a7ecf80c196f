// Package upgrade starts the gateway on what gateways of other versions have left, in a file and on a Redis server.
//
//	older_test.go   every older format is read, and written on
//	newer_test.go   a newer one is refused and left as it is: there is no way back
package upgrade

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

// The range that the samples of the stores were made of, which have these lanes and group (storetest.Written).
const (
	rangeID = "a5000000-0000-0000-0000-000000000000"
	token   = "22222222-2222-4222-8222-222222222222"
	group   = "a5000000-0000-0000-0000-000000000006"

	lane1, lane2, lane3 = "a5000000-0000-0000-0000-000000000001", "a5000000-0000-0000-0000-000000000003", "a5000000-0000-0000-0000-000000000005"
)

// configured writes a configuration of the range on that store, and gives its path.
func configured(t *testing.T, store string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rangegate.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `
environment: playground
http: {address: 127.0.0.1:0}
operations: {address: 127.0.0.1:0, token: operator}
store: {%s, retention: {history: 1000000h, names: 1000000h, events: 1000000h}} # the samples are old
ranges:
  - id: %s
    name: Range
    token: %s
    groups: [{id: %s, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes:
      - {id: %s, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001}
      - {id: %s, name: Lane 2, bay: 55555555-5555-4555-8555-000000000001}
      - {id: %s, name: Lane 3, bay: 55555555-5555-4555-8555-000000000001}
`, store, rangeID, token, group, lane1, lane2, lane3), 0o600))
	return path
}

// pos is a POS of the range at a gateway.
func pos(gateway *process.Process) process.Client {
	return process.Client{API: gateway.API + "/api/v2/pos", Range: rangeID, Token: token}
}

// get reads what there is at a path.
func get[T any](t *testing.T, gateway *process.Process, path string) (value T) {
	t.Helper()
	answer, err := pos(gateway).Do("GET", path, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status, answer.Body)
	require.NoError(t, json.Unmarshal([]byte(answer.Body), &value), answer.Body)
	return value
}

// session is what POS sees of one, and ended of one that is over.
type (
	session struct {
		ID       string `json:"session_id"`
		Lane     string `json:"lane_id"`
		Duration int    `json:"duration"`
	}
	ended struct {
		session
		Customer string `json:"customer_name"`
		At       string `json:"ended_at"`
		Reason   string `json:"end_reason"`
	}
)

func sessions(t *testing.T, gateway *process.Process) []session {
	t.Helper()
	return get[[]session](t, gateway, "/sessions")
}

func sell(t *testing.T, gateway *process.Process, lane string) session {
	t.Helper()
	answer, err := pos(gateway).Do("POST", "/sessions",
		fmt.Sprintf(`{"customer_name": "Jo Smith", "duration": 60, "lane_id": %q, "group_id": %q}`, lane, group))
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, answer.Status, answer.Body)
	var sold session
	require.NoError(t, json.Unmarshal([]byte(answer.Body), &sold))
	return sold
}
