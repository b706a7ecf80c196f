package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// beyond is what a session with an open end shows of it.
type beyond struct {
	OpenEnd struct {
		UpTo int `json:"up_to"`
	} `json:"open_end"`
	Duration  int      `json:"duration"`
	Remaining float64  `json:"minutes_remaining"`
	Used      float64  `json:"minutes_used"`
	Beyond    *float64 `json:"minutes_beyond"`
	Settled   *float64 `json:"minutes_beyond_settled"`
	Reason    string   `json:"end_reason"`
}

// A session with an open end, from its sale to its receipt: what each version sees, and what the session takes.
func TestASessionWithAnOpenEnd(t *testing.T) {
	receiver := support.NewReceiver(t)
	config := newConfig(support.NewSQLite(t), "grace: 2m", "presets: [{minutes: 30, open_end: 60}]",
		fmt.Sprintf("webhook: {url: %q, kinds: [sessionBeyond, sessionStopped]}", receiver.URL))
	gateway, pos := serveConfig(t, config)
	show := func(path string) (shown beyond) {
		answer := pos.ask("GET", v2+path, "")
		require.Equal(t, 200, answer.Status, answer.Body)
		require.NoError(t, json.Unmarshal([]byte(answer.Body), &shown))
		return shown
	}
	do := func(method, path, body string) {
		answer := pos.ask(method, v2+path, body)
		require.Equal(t, 204, answer.Status, answer.Body)
	}
	advance := func(session string, minutes float64) {
		do("POST", "/simulate/advance", fmt.Sprintf(`{"session_id":%q,"minutes":%v}`, session, minutes))
	}
	require.Contains(t, pos.ask("GET", v2+"/range", "").Body,
		`"presets":[{"minutes":30,"group_id":null,"open_end":{"up_to":60}}]`)
	require.Contains(t, pos.ask("GET", v2+"/lanes/status", "").Body, `"open_end":true`)

	for more, fault := range map[string]string{
		`,"open_end":{"up_to":120},"grace":true`: `"open_end":"goes without grace"`,
		`,"open_end":{"up_to":30}`:               `"open_end.up_to":"must be more than duration"`,
		`,"open_end":{"up_to":481}`:              `"open_end.up_to":"must be an integer from 2 to 480"`,
		`,"open_end":{}`:                         `"open_end.up_to":"is required"`,
		`,"open_end":120`:                        `"open_end":"must be an object"`,
	} {
		answer := pos.ask("POST", v2+"/sessions", order(1, 30, more))
		require.Equal(t, 400, answer.Status, more)
		require.Contains(t, answer.Body, fault)
	}
	session := pos.sell(1, 30, `,"open_end":{"up_to":120}`)
	sold := show("/sessions/" + session)
	require.Equal(t, 120, sold.OpenEnd.UpTo)
	require.Zero(t, *sold.Beyond)
	advance(session, 55)
	shown := show("/sessions/" + session)
	require.Zero(t, shown.Remaining)
	require.InDelta(t, 25, *shown.Beyond, 1)
	old := pos.ask("GET", v1+"/sessions", "").Body
	require.Contains(t, old, `"minutes_remaining":0`)
	require.NotContains(t, old, "beyond", "version 1 stays as it is")
	require.Equal(t, "no_time_left", pos.ask("POST", v2+"/sessions/"+session+"/modify?time=-5", "").Code())

	do("POST", "/sessions/"+session+"/modify?time=10", "")
	require.Equal(t, 10.0, *show("/sessions/" + session).Settled)
	do("POST", "/sessions/"+session+"/modify?time=20", "")
	shown = show("/sessions/" + session)
	require.Equal(t, *shown.Beyond, *shown.Settled, "all is settled, and time is left")
	require.InDelta(t, 5, shown.Remaining, 1)
	do("POST", "/sessions/"+session+"/move?lane_id="+support.LaneID(3), "")
	advance(session, 7)
	do("POST", "/sessions/"+session+"/stop", "")
	receipt := show("/history/" + session)
	require.Equal(t, 60, receipt.Duration)
	require.Equal(t, 60.0, receipt.Used)
	require.InDelta(t, 27, *receipt.Beyond, 1)
	require.InDelta(t, 25, *receipt.Settled, 1)

	bound := pos.sell(2, 30, `,"open_end":{"up_to":60}`)
	advance(bound, 61)
	receipt = show("/history/" + bound)
	require.Equal(t, []any{30.0, 30.0, "simulated"}, []any{receipt.Used, *receipt.Beyond, receipt.Reason},
		"the bound closes whatever happens")

	log := pos.ask("GET", v2+"/events", "").Body
	require.Equal(t, 3, strings.Count(log, `"event":"sessionBeyond"`), "twice of the first, once of the other: %s", log)
	require.Equal(t, 2, strings.Count(log, `"minutes_beyond":`), "of each end")
	require.Zero(t, gateway.Terminate())
}
