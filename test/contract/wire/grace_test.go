package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// The time of a session that was sold with a grace is used up: what each version sees, and what the session takes.
func TestASessionInItsGrace(t *testing.T) {
	config := newConfig(support.NewSQLite(t), "grace: 2m", "webhook: {url: http://127.0.0.1:1/, kinds: [sessionExpired]}")
	gateway, pos := serveConfig(t, config)
	advance := func(session string, minutes float64) {
		answer := pos.ask("POST", v2+"/simulate/advance", fmt.Sprintf(`{"session_id":%q,"minutes":%v}`, session, minutes))
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
