package control

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

const (
	lane1    = "44444444-4444-4444-8444-000000000001"
	bayA     = "55555555-5555-4555-8555-000000000001"
	session1 = "66666666-6666-4666-8666-000000000001"
	sold     = `{"lane_id":"` + lane1 +
		`","customer_name":" Jo Smith ","group_id":"33333333-3333-4333-8333-000000000001","duration":30`
)

func TestCommandsAreGivenInTheNameOfTheUser(t *testing.T) {
	for _, c := range []struct {
		method, path, body string
		status             int
		command            string
	}{
		{"POST", "sessions", sold + `}`, 201, "sam on " + lane1 +
			": {Session:00000000-0000-0000-0000-000000000000 Group:33333333-3333-4333-8333-000000000001 Customer:Jo " +
			"Smith Minutes:30 Purchasing:false AutoStart:true ByStaff:true AfterClosing:false WarnAt:[] Grace:false " +
			"OpenEnd:0 Correlation:<nil> Reservation:}, its own id: true"},
		{"POST", "sessions", sold + `,"enable_purchasing":true,"auto_start":false}`, 201, "sam on " + lane1 +
			": {Session:00000000-0000-0000-0000-000000000000 Group:33333333-3333-4333-8333-000000000001 Customer:Jo " +
			"Smith Minutes:30 Purchasing:true AutoStart:false ByStaff:true AfterClosing:false WarnAt:[] Grace:false " +
			"OpenEnd:0 Correlation:<nil> Reservation:}, its own id: true"},
		{"POST", "sessions", sold + `,"grace":true}`, 201, "sam on " + lane1 +
			": {Session:00000000-0000-0000-0000-000000000000 Group:33333333-3333-4333-8333-000000000001 Customer:Jo " +
			"Smith Minutes:30 Purchasing:false AutoStart:true ByStaff:true AfterClosing:false WarnAt:[] Grace:true " +
			"OpenEnd:0 Correlation:<nil> Reservation:}, its own id: true"},
		{"POST", "sessions/" + session1 + "/start", "", 204, "sam on " + session1 + ": enter {Session:" +
			session1 + " Age:0s}"},
		{"POST", "sessions/" + session1 + "/pause", "", 204, "sam on " + session1 + ": pause {Session:" +
			session1 + "}"},
		{"POST", "sessions/" + session1 + "/resume", "", 204, "sam on " + session1 + ": resume {Session:" +
			session1 + "}"},
		{"POST", "sessions/" + session1 + "/stop", "", 204, "sam on " + session1 + ": stop {Session:" +
			session1 + " By:staff}"},
		{"POST", "sessions", sold + `,"after_closing":true}`, 201, "sam on " + lane1 +
			": {Session:00000000-0000-0000-0000-000000000000 Group:33333333-3333-4333-8333-000000000001 Customer:Jo " +
			"Smith Minutes:30 Purchasing:false AutoStart:true ByStaff:true AfterClosing:true WarnAt:[] Grace:false " +
			"OpenEnd:0 Correlation:<nil> Reservation:}, its own id: true"},
		{"POST", "sessions/" + session1 + "/modify", `{"minutes":15,"after_closing":true}`, 204, "sam on " + session1 +
			": modify {Session:" + session1 + " Minutes:15 AfterClosing:true}"},
		{"POST", "sessions/" + session1 + "/modify", `{"minutes":-15}`, 204, "sam on " + session1 +
			": modify {Session:" + session1 + " Minutes:-15 AfterClosing:false}"},
		{"POST", "sessions/" + session1 + "/make-up", `{"give":true}`, 204, "sam on " + session1 +
			": make_up {Session:" + session1 + " Give:true}"},
		{"POST", "sessions/" + session1 + "/move", `{"lane_id":"` + lane1 + `"}`, 204, "sam moves " + session1 +
			" to " + lane1 + ", after closing: false"},
		{
			"POST", "sessions/" + session1 + "/move", `{"lane_id":"` + lane1 + `","after_closing":true}`, 204,
			"sam moves " + session1 + " to " + lane1 + ", after closing: true",
		},
		{
			"POST", "starts", `{"session_ids":["` + session1 + `"],"in_seconds":10}`, 201,
			"sam lets 1 sessions begin together",
		},
		{"DELETE", "starts/" + session1, "", 204, "sam deletes the start " + session1},
		{"POST", "sessions/" + session1 + "/reopen", `{"lane_id":"` + lane1 + `"}`, 201, "sam reopens " + session1 +
			" on " + lane1},
		{"PUT", "holds", `{"scope":"range","on":true}`, 200, "sam holds range 00000000-0000-0000-0000-000000000000"},
		{"PUT", "holds", `{"scope":"bay","id":"` + bayA + `","on":false}`, 200, "sam lifts bay " + bayA},
		{"PUT", "holds", `{"scope":"lane","id":"` + lane1 + `","on":true}`, 200, "sam holds lane " + lane1},
		{"POST", "lanes/" + lane1 + "/sale", `{"sale":"configured"}`, 204, "sam at " + lane1 +
			": offer {Sale:configured}"},
		{"POST", "lanes/" + lane1 + "/sale", `{"sale":"open"}`, 204, "sam at " + lane1 + ": offer {Sale:open}"},
		{"POST", "lanes/" + lane1 + "/sale", `{"sale":"closed"}`, 204, "sam at " + lane1 + ": offer {Sale:closed}"},
		{"POST", "lanes/" + lane1 + "/help", `{"done":false,"called_at":"2026-05-01T12:01:30.250Z"}`, 204, "sam at " +
			lane1 + ": help_coming {Called:2026-05-01 12:01:30.25 +0000 UTC}"},
		{"POST", "lanes/" + lane1 + "/help", `{"done":true,"called_at":"2026-05-01T12:01:30.250Z"}`, 204, "sam at " +
			lane1 + ": help_done {Called:2026-05-01 12:01:30.25 +0000 UTC}"},
		// a page of an earlier release
		{"POST", "lanes/" + lane1 + "/help", `{"done":false}`, 204, "sam at " + lane1 +
			": help_coming {Called:0001-01-01 00:00:00 +0000 UTC}"},
		{"POST", "lanes/" + lane1 + "/help", `{"done":true}`, 204, "sam at " + lane1 +
			": help_done {Called:0001-01-01 00:00:00 +0000 UTC}"},
		{"POST", "lanes/" + lane1 + "/end-reservation", `{"reservation_id":"` + session1 + `"}`, 204, "sam at " +
			lane1 + ": end_reservation {Reservation:" + session1 + "}"},
		{"POST", "lanes/" + lane1 + "/cleared", `{"session_id":"` + session1 + `"}`, 204, "sam at " + lane1 +
			": cleared {Session:" + session1 + "}"},
		{"POST", "lanes/" + lane1 + "/stray-hit", `{"hit_at":"2026-05-01T12:01:30.250Z"}`, 204, "sam at " + lane1 +
			": hit_noted {Hit:2026-05-01 12:01:30.25 +0000 UTC}"},
		// a page of an earlier release
		{"POST", "lanes/" + lane1 + "/cleared", "", 204, "sam at " + lane1 +
			": cleared {Session:00000000-0000-0000-0000-000000000000}"},
		{"POST", "lanes/" + lane1 + "/stray-hit", "", 204, "sam at " + lane1 +
			": hit_noted {Hit:0001-01-01 00:00:00 +0000 UTC}"},
		{
			"POST", "purchases/" + lane1 + "/settle", `{"session_id":"` + session1 + `","credit":true}`, 204,
			"sam settles " + lane1 + " of " + session1 + ": true",
		},
		{ // a page of an earlier release
			"POST", "purchases/" + lane1 + "/settle", `{"credit":false}`, 204,
			"sam settles " + lane1 + " of 00000000-0000-0000-0000-000000000000: false",
		},
	} {
		t.Run(c.path+" "+c.body, func(t *testing.T) {
			b := newFixture(t).signedIn()
			response := b.send(c.method, "/control/api/"+c.path, c.body)
			require.Equal(t, c.status, response.Code, response.Body)
			require.Equal(t, c.command, b.lastCommand())

			b.err = lanes.ErrNotSaved
			response = b.send(c.method, "/control/api/"+c.path, c.body)
			require.Equal(t, http.StatusServiceUnavailable, response.Code)
			require.Contains(t, response.Body.String(), `"code":"not_saved"`)
		})
	}
}

// Two tablets sell at one time, and neither sees what the other sells: the gateway chooses.
func TestCustomersWithoutANameHaveANumberEach(t *testing.T) {
	b := newFixture(t).signedIn()
	b.change(0, func(s *lanes.LaneStatus) { s.Lane.Session.Customer = "Walk-in 1" })
	walkIn := `{"lane_id":"` + lane1 +
		`","walk_in":"Walk-in","group_id":"33333333-3333-4333-8333-000000000001","duration":30}`
	var names []string
	b.creating = func(customer string) {
		names = append(names, customer)
		if len(names) < 3 { // while this one is not sold yet
			require.Equal(t, http.StatusCreated, b.send("POST", "/control/api/sessions", walkIn).Code)
		}
	}
	require.Equal(t, http.StatusCreated, b.send("POST", "/control/api/sessions", walkIn).Code)
	require.Equal(t, []string{"Walk-in 2", "Walk-in 3", "Walk-in 4"}, names)
	require.Equal(t, http.StatusCreated, b.send("POST", "/control/api/sessions", walkIn).Code)
	require.Equal(t, "Walk-in 2", names[3], "no sale is under way, and the board does not have it")

	response := b.send("POST", "/control/api/sessions", `{"lane_id":"`+lane1+
		`","group_id":"33333333-3333-4333-8333-000000000001","duration":30}`)
	require.Equal(t, http.StatusBadRequest, response.Code)
	require.Contains(t, response.Body.String(), `"customer_name":"must be given, or walk_in"`)
}

func TestMalformedCommandsAreRefused(t *testing.T) {
	for path, body := range map[string]string{
		"POST sessions":                           sold[:len(sold)-2] + `0}`,
		"POST sessions/x/stop":                    ``,
		"POST sessions/" + session1 + "/modify":   `{"minutes":0}`,
		"POST sessions/" + session1 + "/modify ":  `{"minutes":481}`,
		"POST sessions/" + session1 + "/modify  ": `{"minutes":"15"}`,
		"POST sessions/" + session1 + "/make-up":  `{}`,
		"POST sessions/" + session1 + "/move":     `{"lane_id":"1"}`,
		"PUT holds":                               `{"scope":"range","id":"` + lane1 + `","on":true}`,
		"PUT holds ":                              `{"scope":"lane","id":"` + bayA + `","on":true}`,
		"PUT holds  ":                             `{"scope":"bay","on":true}`,
		"PUT holds   ":                            `{"scope":"world","on":true}`,
		"PUT holds    ":                           `{"scope":"range"}`,
		"POST lanes/" + lane1 + "/sale":           `{"sale":""}`,
		"POST lanes/" + lane1 + "/help":           `{}`,
		"POST purchases/" + lane1 + "/settle":     `{"credit":"yes"}`,
		"POST purchases/" + lane1 + "/settle ":    `{"credit":true,"session_id":"1"}`,
	} {
		b := newFixture(t).signedIn()
		method, target, _ := cut(path)
		response := b.send(method, "/control/api/"+target, body)
		require.Equal(t, http.StatusBadRequest, response.Code, "%s %s", path, body)
		require.Contains(t, response.Body.String(), `"fields"`)
		require.Empty(t, b.lastCommand(), path)
	}
}

func TestAHoldReturnsTheLanesItReached(t *testing.T) {
	b := newFixture(t).signedIn()
	response := b.send("PUT", "/control/api/holds", `{"scope":"range","on":true}`)
	require.JSONEq(t, `{"confirmed":["`+lane1+`"],"sent":[],"not_reached":[],"saved":true}`, response.Body.String())
}

func TestASaleReturnsTheSession(t *testing.T) {
	b := newFixture(t).signedIn()
	response := b.send("POST", "/control/api/sessions", sold+`}`)
	require.Contains(t, response.Body.String(), `"session_id":"`+session1+`"`)
}

func TestPurchasesThatWaitForStaff(t *testing.T) {
	b := newFixture(t).signedIn()
	require.JSONEq(t, `[{"purchase_id":"77777777-7777-4777-8777-000000000001","lane_id":"`+lane1+
		`","session_id":"`+session1+
		`","items":[{"id":"time","qty":15,"name":"Lane time","price":"0.50"}],"minutes":15,"asked_at":"2026-05-01T12:00:00.250Z","reason":"timed out",`+
		`"event_id":"00000000-0000-0000-0000-000000000000","trace_id":"",`+
		`"credit_session_id":"`+session1+`","credit_lane_id":"`+lane1+`"}]`,
		b.send("GET", "/control/api/purchases", "").Body.String())
}

func TestHealth(t *testing.T) {
	b := newFixture(t).signedIn()
	require.JSONEq(t, `{"links":{"up":1,"down":0,"faulty":0},"insecure_links":5,"lanes":[{"lane_id":"`+lane1+
		`","name":"Lane 1","link":"up",`+
		`"since":"2026-05-01T12:00:00.250Z","restarts":4,"last_error":"refused"}],"store":{"writable":true,"unsaved":2},`+
		`"events":{"waiting":3,"retrying":20000,"level_at":"2026-05-01T12:02:50.250Z"},"timers":{"late_p99_ms":1.5},"actors":{"restarts":{}},"lanes_not_clear":6,"turns":{"lanes_waiting":3,"longest_minutes":41.5,"turns":2,"median_minutes":7.25},"refused_sign_ins":{"count":0,"last":null}}`, b.send("GET", "/control/api/health", "").Body.String())
}

func TestARangeThatIsNotRunning(t *testing.T) {
	b := newFixture(t).browser()
	require.Equal(t, http.StatusNoContent, b.signIn(south, "sam", "1234").Code, "signing in needs no range")
	for _, path := range []string{
		"/control/stream", "/control/history.csv", "/control/api/history",
		"/control/api/health",
	} {
		response := b.send("GET", path, "")
		require.Equal(t, http.StatusServiceUnavailable, response.Code, path)
		require.Contains(t, response.Body.String(), `"code":"starting"`)
	}
}

func TestRequestsOfOtherSitesAreRefusedForASignedInUser(t *testing.T) {
	b := newFixture(t).signedIn()
	for _, path := range []string{
		"/control/api/sessions/" + session1 + "/stop", "/control/sign-out",
		"/control/sign-in",
	} {
		response := b.send("POST", path, "", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
		require.Equal(t, http.StatusForbidden, response.Code, path)
		require.Contains(t, response.Body.String(), `"code":"cross_site"`)
	}
	require.Empty(t, b.lastCommand())
	require.True(t, b.isSignedIn())
}

func TestThePageIsPublic(t *testing.T) {
	b := newFixture(t).browser()
	var page *httptest.ResponseRecorder
	for _, path := range []string{"/control", "/control/" + north.String(), "/control/" + lane1} {
		page = b.send("GET", path, "")
		require.Equal(t, http.StatusOK, page.Code)
		require.Contains(t, page.Body.String(), "<!DOCTYPE html>")
	}
	require.Equal(t, http.StatusNotFound, b.send("GET", "/control/nowhere", "").Code)
	require.Equal(t, http.StatusOK, b.send("GET", "/control/assets/main.js", "").Code)
}
