package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// Every successful answer, key by key and in order (WIRE.md, Views and New paths of ours).
func TestSuccessfulAnswers(t *testing.T) {
	p, pos := serve(t)

	one := pos.sell(1, 30, "")
	two := pos.sell(2, 60, `,"auto_start":false,"enable_purchasing":true`)
	view := func(session, lane string, minutes, began, remaining, purchasing string) string {
		return `{"session_id":"` + session + `","lane_id":"` + lane + `","group_id":"` + support.Group +
			`","duration":` + minutes +
			`,"began_at":` + began + `,"created_at":"TIME","minutes_remaining":` + remaining + `,"enable_purchasing":` +
			purchasing + `}`
	}
	running := view("SESSION-1", lane(1), "30", `"TIME"`, "MINUTES", "false")
	// Asked for; a range without a webhook sells nothing.
	waiting := view("SESSION-2", lane(2), "60", "null", "null", "false")

	shown := func(path string, want string) {
		t.Helper()
		answer := pos.ask("GET", path, "")
		require.Equal(t, 200, answer.Status, answer.Body)
		require.Equal(t, want, masked(answer.Body, one, two))
		require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
		require.Len(t, answer.Header.Get("trace-id"), 32)
	}
	shown(v2+"/sessions", "["+running+","+waiting+"]")
	shown(v2+"/sessions/"+one, running)
	shown(v2+"/sessions/"+two, waiting)
	shown(v2+"/bays", `[{"bay_id":"`+support.Bay+`","name":"Bay A"}]`)
	shown(v2+"/groups", `[{"id":"`+support.Group+`","name":"Public"}]`)

	lanes := masked(pos.ask("GET", v2+"/lanes", "").Body)
	require.True(t, strings.HasPrefix(lanes, `[{"lane_id":"`+lane(1)+`","bay_id":"`+support.Bay+
		`","readable_name":"Lane 1","is_accessible":true,"is_usable":true},`), lanes)
	require.True(t, strings.HasSuffix(lanes, `,{"lane_id":"`+lane(8)+`","bay_id":"`+support.Bay+
		`","readable_name":"Lane 8","is_accessible":false,"is_usable":true}]`), lanes)
	status := masked(pos.ask("GET", v2+"/lanes/status", "").Body, one, two)
	require.True(t, strings.HasPrefix(status, `[{"lane_id":"`+lane(1)+
		`","session_id":"SESSION-1","phase":"running","hold":false,"link":"up","link_since":"TIME","not_usable_because":null,"open_end":true},`), status)

	done := func(path string) {
		t.Helper()
		answer := pos.ask("POST", v2+"/sessions/"+path, "")
		require.Equal(t, 204, answer.Status, answer.Body)
		require.Empty(t, answer.Body)
	}
	done(one + "/modify?time=15")
	done(one + "/modify?time=+15") // a + in a query is a space
	done(one + "/modify?time=-10")
	done(one + "/pause")
	done(one + "/resume")
	done(one + "/move?lane_id=" + lane(3))
	done(one + "/stop")
	done(two + "/start")
	done(two + "/stop")

	event := func(cursor, kind, session, lane string) string {
		return `{"cursor":"` + cursor + `","id":"ID","occurred_at":"TIME","payload":{"event":"` + kind +
			`","session_id":"` + session +
			`","lane_id":"` + lane +
			`"},"simulated":false,"attempt":{"at":"TIME","status":null,"error":"not sent: no webhook is configured","duration_ms":0,"outcome":"not_sent"}}`
	}
	shown(v2+"/events?limit=3", `{"events":[`+strings.Join([]string{
		event("1", "sessionCreated", "SESSION-1", lane(1)),
		event("2", "sessionStarted", "SESSION-1", lane(1)),
		event("3", "sessionCreated", "SESSION-2", lane(2)),
	}, ",")+`],"next":"3"}`)
	shown(v2+"/events?after=3", `{"events":[`+strings.Join([]string{
		event("4", "sessionModified", "SESSION-1", lane(1)),
		event("5", "sessionModified", "SESSION-1", lane(1)),
		event("6", "sessionModified", "SESSION-1", lane(1)),
		event("7", "sessionPaused", "SESSION-1", lane(1)),
		event("8", "sessionResumed", "SESSION-1", lane(1)),
		event("9", "sessionModified", "SESSION-1", lane(3)),
		event("10", "sessionStopped", "SESSION-1", lane(3)),
		event("11", "sessionStarted", "SESSION-2", lane(2)),
		event("12", "sessionStopped", "SESSION-2", lane(2)),
	}, ",")+`],"next":"12"}`)
	shown(v2+"/events?after=12", `{"events":[],"next":"12"}`)

	ended := func(view string) string {
		return strings.TrimSuffix(view, "}") +
			`,"customer_name":"Jo Smith","ended_at":"TIME","end_reason":"pos","minutes_used":MINUTES,"minutes_paused":MINUTES}`
	}
	shown(v2+"/history", `{"sessions":[`+
		ended(view("SESSION-1", lane(3), "50", `"TIME"`, "MINUTES", "false"))+","+
		ended(view("SESSION-2", lane(2), "60", `"TIME"`, "MINUTES", "false"))+`],"next":"2"}`)
	shown(v2+"/history/"+one, ended(view("SESSION-1", lane(3), "50", `"TIME"`, "MINUTES", "false")))
	shown(v2+"/sessions", "[]")

	require.Equal(t, 0, p.Terminate())
}

// Purchasing that the range does not have is accepted, and shown as what it is.
func TestPurchasingTakesEffectOnlyWhereTheRangeHasIt(t *testing.T) {
	p, _ := serve(t)
	other := posClient{clientOf(p, otherRange, otherToken), t}
	body := strings.NewReplacer(lane(1), otherLane, support.Group, otherGroup).
		Replace(order(1, 30, `,"enable_purchasing":true`))
	answer := other.ask("POST", v2+"/sessions", body)
	require.Equal(t, 201, answer.Status, answer.Body)
	require.Contains(t, answer.Body, `"enable_purchasing":false`)
}
