package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// The time of a session that was sold with a grace is used up: what each version sees, and what the session takes.
func TestASessionInItsGrace(t *testing.T) {
	config := newConfig(support.NewSQLite(t), "grace: 2m",
		"webhook: {url: http://127.0.0.1:1/, kinds: [sessionExpired]}")
	gateway, pos := serveConfig(t, config)
	advance := func(session string, minutes float64) {
		answer := pos.ask("POST", v2+"/simulate/advance",
			fmt.Sprintf(`{"session_id":%q,"minutes":%v}`, session, minutes))
		require.Equal(t, 204, answer.Status, answer.Body)
	}
	session, without := pos.sell(1, 30, `,"grace":true`), pos.sell(2, 30, "")
	require.NotContains(t, pos.ask("GET", v2+"/sessions/"+session, "").Body, "grace")
	require.NotContains(t, pos.ask("GET", v2+"/lanes/status", "").Body, "grace")
	advance(session, 30)
	advance(without, 30)
	require.Equal(t, 404, pos.ask("GET", v2+"/sessions/"+without, "").Status)
	shown := pos.ask("GET", v2+"/sessions/"+session, "").Body
	require.Regexp(t, `"minutes_remaining":0,.*,"grace_ends_at":"[^"]*Z"}\s*$`, shown)
	require.Regexp(t, `"phase":"paused".*,"grace_ends_at":"[^"]*Z"}`, pos.ask("GET", v2+"/lanes/status", "").Body)
	old := pos.ask("GET", v1+"/sessions", "").Body
	require.Contains(t, old, `"minutes_remaining":0`)
	require.NotContains(t, old, "grace", "version 1 stays as it is")
	require.Equal(t, "lane_occupied", pos.ask("POST", v2+"/sessions", order(1, 30, "")).Code())

	for command, code := range map[string]string{
		"pause": "in_grace", "resume": "in_grace", "start": "not_waiting", "modify?time=-5": "no_time_left",
	} {
		answer := pos.ask("POST", v2+"/sessions/"+session+"/"+command, "")
		require.Equal(t, 409, answer.Status, command)
		require.Equal(t, code, answer.Code(), command)
	}
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/modify?time=5", "").Status)
	shown = pos.ask("GET", v2+"/sessions/"+session, "").Body
	require.NotContains(t, shown, "grace_ends_at")
	require.Contains(t, shown, `"duration":35`)
	advance(session, 6)
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/move?lane_id="+support.LaneID(3), "").Status)
	require.Contains(t, pos.ask("GET", v2+"/sessions/"+session, "").Body, "grace_ends_at")
	advance(session, 1)
	require.Contains(t, pos.ask("GET", v2+"/history/"+session, "").Body, `"minutes_used":35`)

	log := pos.ask("GET", v2+"/events", "").Body
	require.Equal(t, 1, strings.Count(log, `"grace_ends_at":null`), "of the session without a grace: %s", log)
	require.Equal(t, 2, strings.Count(log, `"grace_ends_at":"`), log)
	require.Equal(t, 2, strings.Count(log, `"event":"sessionStopped"`))
	require.Zero(t, gateway.Terminate())
}

// What a batch does with sessions that are in their grace is what each operation does by itself.
func TestABatchInTheGrace(t *testing.T) {
	_, pos := serveConfig(t, newConfig(support.NewSQLite(t), "grace: 10m",
		"webhook: {url: http://127.0.0.1:1/, kinds: [sessionExpired]}"))
	read := func(path string) (view struct {
		Duration  int        `json:"duration"`
		Remaining float64    `json:"minutes_remaining"`
		GraceEnds *time.Time `json:"grace_ends_at"`
		Ended     time.Time  `json:"ended_at"`
	},
	) {
		t.Helper()
		answer := pos.ask("GET", v2+path, "")
		require.Equal(t, 200, answer.Status, answer.Body)
		require.NoError(t, json.Unmarshal([]byte(answer.Body), &view))
		return view
	}
	goesOn, stops, running := pos.sell(1, 30, `,"grace":true`), pos.sell(2, 30, `,"grace":true`), pos.sell(3, 30, "")
	for _, session := range []string{goesOn, stops} {
		answer := pos.ask("POST", v2+"/simulate/advance", fmt.Sprintf(`{"session_id":%q,"minutes":30}`, session))
		require.Equal(t, 204, answer.Status, answer.Body)
	}
	var log struct {
		Events []struct {
			At      time.Time `json:"occurred_at"`
			Payload struct {
				Event   string `json:"event"`
				Session string `json:"session_id"`
			} `json:"payload"`
		} `json:"events"`
	}
	require.NoError(t, json.Unmarshal([]byte(pos.ask("GET", v2+"/events", "").Body), &log))
	var deadline time.Time
	for _, e := range log.Events {
		if e.Payload.Session == stops && e.Payload.Event == "sessionExpired" {
			deadline = e.At
		}
	}
	require.NotZero(t, deadline)

	add := on(goesOn, "modify", `,"time":5`)
	require.Equal(t, "1 409 in_grace",
		summary(pos.batch(409, operations(true, add, on(stops, "pause"), on(running, "pause")))))
	require.NotNil(t, read("/sessions/"+goesOn).GraceEnds, "none of it was done")
	require.Equal(t, 30, read("/sessions/"+goesOn).Duration)
	require.Equal(t, "0 204, 1 409 in_grace, 2 204",
		summary(pos.batch(200, operations(false, on(running, "pause"), on(stops, "pause"), on(running, "resume")))))

	require.Equal(t, "0 204, 1 204, 2 204",
		summary(pos.batch(200, operations(true, add, on(stops, "stop"), on(goesOn, "pause")))),
		"it runs again, so it can be paused")
	view := read("/sessions/" + goesOn)
	require.Nil(t, view.GraceEnds)
	require.Equal(t, 35, view.Duration)
	require.InDelta(t, 5, view.Remaining, 1e-9, "no minute is gained or lost")
	require.Equal(t, deadline, read("/history/"+stops).Ended, "when its time was used up")
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+goesOn+"/resume", "").Status)
}
