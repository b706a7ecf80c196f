package controller

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

func TestMain(m *testing.M) { process.Run(m) }

const (
	rangeID = "11111111-1111-4111-8111-111111111111"
	token   = "22222222-2222-4222-8222-222222222222"
	group   = "33333333-3333-4333-8333-000000000001"
	v2      = "/api/v2/pos"
)

func configuration(t *testing.T, lane *controller, webhook string) string {
	return fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0}
operations: {address: 127.0.0.1:0, token: operator}
store: {sqlite: %s}
ranges:
  - id: %s
    name: Range
    token: %s
    purchasing: true
    link_grace: 100ms
    webhook: {url: "%s"}
    groups: [{id: %s, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes:
      - {id: %s, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001, link: {driver: websocket, address: "ws://127.0.0.1:%d/lane", key: %q}}
`, filepath.Join(t.TempDir(), "rangegate.db"), rangeID, token, webhook, group, laneID, lane.port, key)
}

// A whole session, with everything that a controller does and is told.
func TestAWholeSession(t *testing.T) {
	lane := start(t)
	pos := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"success":true}`) }))
	t.Cleanup(pos.Close)
	gateway := process.Serve(t, configuration(t, lane, pos.URL)).Ready()
	client := process.Client{API: gateway.API, Range: rangeID, Token: token}
	ask := func(method, path, body string, status int) string {
		t.Helper()
		answer, err := client.Do(method, v2+path, body)
		require.NoError(t, err)
		require.Equal(t, status, answer.Status, answer.Body)
		return answer.Body
	}
	lanesSay := func(what string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(ask("GET", "/lanes/status", "", 200), what) },
			10*time.Second, 5*time.Millisecond, what)
	}
	lanesSay(`"link":"up"`)

	var session struct {
		ID string `json:"session_id"`
	}
	sold := ask("POST", "/sessions", `{"customer_name":"Jo Smith","duration":30,"auto_start":false,"enable_purchasing":true,`+
		`"lane_id":"`+laneID+`","group_id":"`+group+`"}`, 201)
	require.NoError(t, json.Unmarshal([]byte(sold), &session))
	lane.until("it waits, locked", func(s shown) bool { return s.Phase != nil && *s.Phase == "waiting" && !s.Open })
	lane.until("for its customer", func(s shown) bool { return *s.Customer == "Jo Smith" && *s.Remaining == 30*60_000 })

	lane.do("enter")
	lane.until("it is open once the customer has entered", func(s shown) bool { return s.Open && s.Kept == 0 })

	hold := func(on string) string {
		request, err := http.NewRequest("PUT", gateway.Operations+"/ranges/"+rangeID+"/holds",
			strings.NewReader(`{"scope":"range","on":`+on+`}`))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer operator")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return strings.TrimSpace(string(body))
	}
	confirmed := `{"confirmed":["` + laneID + `"],"sent":[],"not_reached":[],"saved":true}`
	require.Equal(t, confirmed, hold("true"))
	lane.until("a ceasefire locks it", func(s shown) bool { return s.Hold && !s.Open })
	require.Equal(t, confirmed, hold("false"))
	lane.until("its end opens it", func(s shown) bool { return s.Open })

	lane.do("buy")
	lane.until("the purchase is accepted", func(s shown) bool { return s.Purchase != nil && s.Purchase.Phase == "accepted" })
	require.Contains(t, ask("GET", "/sessions/"+session.ID, "", 200), `"duration":45`)

	lane.do("help")
	lane.do("hit")
	lane.do("unplug")
	var log string
	require.Eventually(t, func() bool {
		log = ask("GET", "/events", "", 200)
		return strings.Contains(log, `"event":"carrierHit"`)
	}, 10*time.Second, 5*time.Millisecond, "what happens arrives, whichever connection it goes over")
	lane.until("and is acknowledged", func(s shown) bool { return s.Kept == 0 })
	for kind, times := range map[string]int{"help": 1, "carrierHit": 1, "purchaseRequest": 1, "sessionStarted": 1, "sessionPaused": 1} {
		require.Equal(t, times, strings.Count(log, `"event":"`+kind+`"`), kind)
	}

	lane.do("fault")
	lanesSay(`"not_usable_because":"its hardware reports: the carrier is stuck"`)
	lane.do("mend")
	lanesSay(`"not_usable_because":null`)

	ask("POST", "/sessions/"+session.ID+"/stop", "", 204)
	lane.until("a stopped lane has stopped", func(s shown) bool { return !s.Open && s.Session == nil })
}
