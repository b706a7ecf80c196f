package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// What a POS does reaches its webhook, with the bodies of SPEC.md part 6 to the byte, in order.
func TestWhatTheWebhookGets(t *testing.T) {
	receiver := newIntegrator(t)
	pos := serveWith(t, receiver)
	one := pos.sell(1, 30, `,"enable_purchasing":true`)
	require.Contains(t, pos.ask("GET", v2+"/sessions/"+one, "").Body, `"enable_purchasing":true`)
	for _, path := range []string{"/pause", "/resume", "/modify?time=5", "/move?lane_id=" + lane(2), "/stop"} {
		require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+one+path, "").Status)
	}
	event := func(kind string, n int) string {
		return `{"event":"` + kind + `","session_id":"` + one + `","lane_id":"` + lane(n) + `"}`
	}
	support.Eventually(t, "every event arrives", func() bool { return len(receiver.Arrived()) >= 7 })
	require.Equal(t, []string{
		event("sessionCreated", 1), event("sessionStarted", 1), event("sessionPaused", 1), event("sessionResumed", 1),
		event("sessionModified", 1), event("sessionModified", 2), event("sessionStopped", 2),
	}, bodies(receiver))
}

// Every path of the simulation answers what it sent.
func TestSimulatedEvents(t *testing.T) {
	receiver := newIntegrator(t)
	pos := serveWith(t, receiver)
	session := pos.sell(1, 30, "")
	support.Eventually(t, "every event is attempted", func() bool { return settled(pos) })

	send := func(path, body, want string) {
		t.Helper()
		earlier := len(receiver.Arrived())
		answer := pos.ask("POST", v2+"/simulate/"+path, body)
		require.Equal(t, 201, answer.Status, answer.Body)
		require.Equal(t, want+"\n", answer.Body)
		require.Equal(t, "200", answer.Header.Get("webhook-status"))
		require.Contains(t, bodies(receiver)[earlier:], want)
	}
	ids := `"session_id":"` + session + `","lane_id":"` + lane(1) + `"`
	for _, kind := range []string{
		"help", "carrierHit", "sessionCreated", "sessionStarted", "sessionPaused", "sessionResumed", "sessionStopped",
		"sessionModified",
	} {
		send(kind, `{"session_id":"`+session+`"}`, `{"event":"`+kind+`",`+ids+`}`)
	}
	send("purchaseRequest", `{"session_id":"`+session+`","product_id":"9mm & more","qty":2}`,
		`{"event":"purchaseRequest",`+ids+`,"items":[{"id":"9mm & more","qty":2}]}`)
	require.Contains(t, pos.ask("GET", v2+"/sessions/"+session, "").Body, `"duration":30`,
		"none of them changes anything")

	send("addTime", `{"session_id":"`+session+`","qty":15}`,
		`{"event":"purchaseRequest",`+ids+`,"items":[{"id":"time","qty":15}]}`)
	require.Contains(t, pos.ask("GET", v2+"/sessions/"+session, "").Body, `"duration":45`,
		"but for time that was accepted")

	receiver.Respond(support.Reply(409, `{"error":"declined","user_message":"No.","trace_id":"t"}`))
	refused := pos.ask("POST", v2+"/simulate/addTime", `{"session_id":"`+session+`","qty":15}`)
	require.Equal(t, 201, refused.Status)
	require.Equal(t, "409", refused.Header.Get("webhook-status"))
	require.Contains(t, pos.ask("GET", v2+"/sessions/"+session, "").Body, `"duration":45`)

	unknown := pos.ask("POST", v2+"/simulate/help", "")
	require.Equal(t, 201, unknown.Status)
	require.NotContains(t, unknown.Body, lane(1))
	require.Contains(t, bodies(receiver), strings.TrimSpace(unknown.Body), "made up, and sent all the same")

	log := pos.ask("GET", v2+"/events?limit=1000", "").Body
	require.Contains(t, log, `"simulated":true`)
	require.Contains(t, log, `"simulated":false`)
}

// settled tells whether every event of the log has been attempted.
func settled(p posClient) bool {
	log := p.ask("GET", v2+"/events", "").Body
	return !strings.Contains(log, `"attempt":null`) && !strings.Contains(log, `"interrupted"`)
}

func TestSimulationsThatAreRefused(t *testing.T) {
	receiver := newIntegrator(t)
	pos := serveWith(t, receiver)
	session := pos.sell(1, 30, "")
	for _, c := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"help", `{"session_id":"lane 1"}`, 400, `"session_id"`},
		{"addTime", `{}`, 400, `"qty":"is required"`},
		{"addTime", `{"qty":0}`, 400, `"qty"`},
		{"addTime", `{"session_id":"` + session + `","qty":451}`, 409, "duration_out_of_range"},
		{"purchaseRequest", `{"qty":1}`, 400, `"product_id":"is required"`},
		{"advance", `{"session_id":"` + session + `","minutes":0}`, 400, `"minutes"`},
		{"advance", `{"session_id":"` + support.Group + `","minutes":1}`, 404, "session_not_found"},
		{"sessionHalted", `{}`, 404, "not_found"},
	} {
		answer := pos.ask("POST", v2+"/simulate/"+c.path, c.body)
		require.Equal(t, c.status, answer.Status, "%s %s: %s", c.path, c.body, answer.Body)
		require.Contains(t, answer.Body, c.text)
	}
	require.Equal(t, 400, pos.ask("GET", v2+"/simulate/products/drinks", "").Status)

	receiver.Close()
	answer := pos.ask("POST", v2+"/simulate/help", "")
	require.Equal(t, 502, answer.Status, answer.Body)
	require.Contains(t, answer.Body, `"code":"webhook_failed"`)
	answer = pos.ask("GET", v2+"/simulate/products", "")
	require.Equal(t, 502, answer.Status, answer.Body)
	require.Contains(t, answer.Body, `"code":"products_failed"`)

	_, without := serve(t)
	require.Contains(t, without.ask("POST", v2+"/simulate/help", "").Body, `"code":"webhook_not_configured"`)
	require.Contains(t, without.ask("GET", v2+"/simulate/products", "").Body, `"code":"products_not_configured"`)
}

// On the playground a vendor brings the range into each state, and sees what a POS is answered in it.
func TestSimulatedStates(t *testing.T) {
	pos := serveWith(t, newIntegrator(t))
	expect := func(status int, path, body, in string) {
		t.Helper()
		answer := pos.ask("POST", v2+path, body)
		require.Equal(t, status, answer.Status, answer.Body)
		require.Contains(t, answer.Body, in)
	}
	status := func(n int) string {
		return strings.Split(pos.ask("GET", v2+"/lanes/status", "").Body, `{"lane_id":`)[n]
	}
	session := pos.sell(1, 30, `,"auto_start":false`)
	require.Contains(t, status(1), `"phase":"waiting"`)
	expect(204, "/simulate/enter", `{"session_id":"`+session+`"}`, "")
	require.Contains(t, status(1), `"phase":"running"`)
	expect(409, "/simulate/enter", `{"session_id":"`+session+`"}`, `"code":"not_waiting"`)

	ceasefire := func(on bool) {
		t.Helper()
		support.Eventually(t, "it is saved", func() bool {
			answer := pos.ask("POST", v2+"/simulate/ceasefire", fmt.Sprintf(`{"scope":"range","on":%v}`, on))
			require.Equal(t, 200, answer.Status, answer.Body)
			return strings.Contains(answer.Body, `"saved":true`)
		})
	}
	ceasefire(true)
	require.Contains(t, status(1), `"phase":"paused","hold":true`)
	expect(409, "/sessions/"+session+"/resume", "", `"code":"ceasefire"`)
	ceasefire(false)
	require.Contains(t, status(1), `"phase":"running","hold":false`)
	ceasefire(false)

	expect(204, "/simulate/fault", `{"lane_id":"`+lane(2)+`","on":true,"detail":"the carrier is jammed"}`, "")
	require.Contains(t, status(2), `"not_usable_because":"`)
	require.Contains(t, status(2), "the carrier is jammed")
	expect(409, "/sessions", order(2, 30, ""), `"code":"lane_not_usable"`)
	expect(204, "/simulate/fault", `{"lane_id":"`+lane(2)+`","on":false}`, "")
	pos.sell(2, 30, "")

	expect(204, "/simulate/error", `{"code":"timeout","requests":1}`, "")
	expect(504, "/sessions/"+session+"/pause", "", `"code":"timeout"`)
	require.Contains(t, status(1), `"phase":"running"`)
	expect(204, "/sessions/"+session+"/pause", "", "")
}

func TestSimulatedProductsAndTime(t *testing.T) {
	pos := serveWith(t, newIntegrator(t))
	const (
		time9 = `{"id":"time","display_name":"Lane time","price":0.50,"max_qty":120,"min_qty":15,"increment_by":15,"picture_url":""}`
		ammo  = `{"id":"9mm","display_name":"9 mm for me","price":24.50,"max_qty":4,"min_qty":1,"increment_by":1,"picture_url":"http://pos.example/9.jpg"}`
	)
	answer := pos.ask("GET", v2+"/simulate/products", "", "session-id", "me")
	require.Equal(t, `{"time":[`+time9+`],"targets":[],"ammo":[`+ammo+`],"rentals":[]}`+"\n", answer.Body)
	require.Equal(t, "["+ammo+"]\n", pos.ask("GET", v2+"/simulate/products/ammo", "", "session-id", "me").Body)
	require.Equal(t, "[]\n", pos.ask("GET", v2+"/simulate/products/rentals", "").Body)

	session := pos.sell(1, 30, "")
	advance := func(minutes string) int {
		return pos.ask("POST", v2+"/simulate/advance", `{"session_id":"`+session+`","minutes":`+minutes+`}`).Status
	}
	require.Equal(t, 204, advance("12.5"))
	require.Contains(t, pos.ask("GET", v2+"/sessions/"+session, "").Body, `"minutes_remaining":17.`)
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/pause", "").Status)
	require.Equal(t, 409, advance("1"))
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/resume", "").Status)
	require.Equal(t, 204, advance("100"))
	require.Contains(t, pos.ask("GET", v2+"/sessions/"+session, "").Body, "session_ended")
	require.Contains(t, pos.ask("GET", v2+"/history", "").Body, `"end_reason":"simulated","minutes_used":30,`)
}
