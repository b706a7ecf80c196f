package api

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/catalog"
	"rangegate/lanes"
)

// Each path sends its event to the webhook and returns the same.
func TestSimulatedEvents(t *testing.T) {
	minutes := []lanes.Item{{ID: "time", Qty: 30}}
	for path, c := range map[string]struct {
		fields string
		kind   lanes.Kind
		items  []lanes.Item
		sent   string
	}{
		"help":            {"", lanes.Help, nil, ""},
		"carrierHit":      {"", lanes.CarrierHit, nil, ""},
		"sessionCreated":  {"", lanes.SessionCreated, nil, ""},
		"sessionStarted":  {"", lanes.SessionStarted, nil, ""},
		"sessionPaused":   {"", lanes.SessionPaused, nil, ""},
		"sessionResumed":  {"", lanes.SessionResumed, nil, ""},
		"sessionStopped":  {"", lanes.SessionStopped, nil, ""},
		"sessionModified": {"", lanes.SessionModified, nil, ""},
		"purchaseRequest": {
			`"product_id":"9mm","qty":2`, lanes.PurchaseRequest,
			[]lanes.Item{{ID: "9mm", Qty: 2}},
			`,"items":[{"id":"9mm","qty":2}]`,
		},
		"addTime": {`"qty":30`, lanes.PurchaseRequest, minutes, `,"items":[{"id":"time","qty":30}]`},
	} {
		t.Run(path, func(t *testing.T) {
			s := &fakeRange{status: 202}
			h := newAPI(s)
			for session, with := range map[string]string{
				uuid.Nil.String(): "{" + c.fields + "}",
				theSession:        strings.TrimSuffix(`{"session_id":"`+theSession+`",`+c.fields, ",") + "}",
			} {
				response := sendAuthorized(h, "POST", prefix2+"/simulate/"+path, with)
				require.Equal(t, 201, response.Code, response.Body)
				require.Equal(t, "202", response.Header().Get("webhook-status"))
				require.Equal(t, `{"event":"`+string(c.kind)+`","session_id":"`+theSession+`","lane_id":"`+theLane+
					`"`+c.sent+"}\n",
					response.Body.String())
				require.Equal(t, c.kind, s.kind)
				require.Equal(t, session, s.session.String())
				require.Equal(t, c.items, s.items)
			}
			bare := sendAuthorized(h, "POST", prefix2+"/simulate/"+path, "").Code
			require.Equal(t, c.fields == "", bare == 201, "a body is required only if it has required fields")
		})
	}
}

func TestRefusedSimulations(t *testing.T) {
	h := newAPI(&fakeRange{status: 200})
	for _, c := range [][3]string{
		{"help", `{"session_id":"x"}`, "session_id"},
		{"purchaseRequest", `{"qty":1}`, "product_id"},
		{"purchaseRequest", `{"product_id":"","qty":1}`, "product_id"},
		{"purchaseRequest", `{"product_id":"` + strings.Repeat("x", 256) + `","qty":1}`, "product_id"},
		{"purchaseRequest", `{"product_id":"a","qty":0}`, "qty"},
		{"purchaseRequest", `{"product_id":"a","qty":1000001}`, "qty"},
		{"addTime", `{"qty":1.5}`, "qty"},
		{"addTime", `{}`, "qty"},
		{"advance", `{"minutes":1}`, "session_id"},
		{"advance", `{"session_id":"` + theSession + `","minutes":0}`, "minutes"},
		{"enter", `{}`, "session_id"},
		{"ceasefire", `{"scope":"range"}`, "on"},
		{"ceasefire", `{"scope":"bay","id":"` + theLane + `","on":true}`, "id"},
		{"fault", `{"lane_id":"` + theLane + `"}`, "on"},
		{"fault", `{"lane_id":"` + theLane + `","on":true,"detail":""}`, "detail"},
		{"error", `{"code":"lane_occupied"}`, "requests"},
		{"error", `{"code":"lane_occupied","requests":101}`, "requests"},
		{"error", `{"code":"no_such_code","requests":1}`, "code"},
		{"error", `{"code":"internal","requests":1}`, "code"},
	} {
		response := sendAuthorized(h, "POST", prefix2+"/simulate/"+c[0], c[1])
		require.Equal(t, 400, response.Code, c)
		require.Contains(t, response.Body.String(), `"fields":{"`+c[2]+`":"`)
	}
	for status, err := range map[int]error{
		409: lanes.ErrWebhookNotConfigured, 502: lanes.ErrWebhookFailed, 503: lanes.ErrStoreUnavailable,
	} {
		response := sendAuthorized(newAPI(&fakeRange{err: err}), "POST", prefix2+"/simulate/help", "")
		require.Equal(t, status, response.Code)
		require.Contains(t, response.Body.String(), err.Error())
		require.Empty(t, response.Header().Get("webhook-status"))
	}
	response := sendAuthorized(newAPI(&fakeRange{err: lanes.ErrDurationOutOfRange}), "POST", prefix2+
		"/simulate/addTime", `{"qty":481}`)
	require.Equal(t, 409, response.Code)
}

// An event without a response of the receiver counts as not sent.
func TestAWebhookWithoutAStatus(t *testing.T) {
	response := sendAuthorized(newAPI(&fakeRange{}), "POST", prefix2+"/simulate/help", "")
	require.Equal(t, 502, response.Code)
	require.Contains(t, response.Body.String(), `"code":"webhook_failed"`)
}

func TestAdvancingAClock(t *testing.T) {
	s := &fakeRange{}
	h := newAPI(s)
	for minutes, jump := range map[string]time.Duration{
		"1": time.Minute, "0.25": 15 * time.Second, "12.5": 12*time.Minute + 30*time.Second, "1e-300": 1,
		"1000000": 1_000_000 * time.Minute,
	} {
		response := sendAuthorized(h, "POST", prefix2+"/simulate/advance", `{"session_id":"`+theSession+
			`","minutes":`+minutes+`}`)
		require.Equal(t, 204, response.Code, response.Body)
		require.Empty(t, response.Body.String())
		require.Equal(t, lanes.Advance{Session: uuid.MustParse(theSession), By: jump}, s.command)
	}
	s.err = lanes.ErrNotRunning
	response := sendAuthorized(h, "POST", prefix2+"/simulate/advance", `{"session_id":"`+theSession+`","minutes":1}`)
	require.Equal(t, 409, response.Code)
}

// A customer enters, staff set a ceasefire, hardware breaks: each is what would have come from there.
func TestSimulatedStates(t *testing.T) {
	s := &fakeRange{}
	h := newAPI(s)
	post := func(path, body string, status int) string {
		t.Helper()
		response := sendAuthorized(h, "POST", prefix2+"/simulate/"+path, body)
		require.Equal(t, status, response.Code, response.Body)
		return response.Body.String()
	}
	require.Empty(t, post("enter", `{"session_id":"`+theSession+`"}`, 204))
	require.Equal(t, lanes.Enter{Session: uuid.MustParse(theSession)}, s.command)

	require.JSONEq(t, `{"confirmed":["`+theLane+`"],"sent":[],"not_reached":[],"saved":true}`,
		post("ceasefire", `{"scope":"range","on":true}`, 200))
	require.Equal(t, "held by simulation: range", s.held)
	require.JSONEq(t, `{"confirmed":[],"sent":["`+theLane+`"],"not_reached":[],"saved":true}`,
		post("ceasefire", `{"scope":"bay","id":"`+theBay+`","on":false}`, 200))
	require.Equal(t, "lifted by simulation: bay", s.held)

	for body, faults := range map[string][]string{
		`"on":true`:                    {"simulated"},
		`"on":true,"detail":"jammed"`:  {"jammed"},
		`"on":false`:                   nil,
		`"on":false,"detail":"jammed"`: nil,
	} {
		require.Empty(t, post("fault", `{"lane_id":"`+theLane+`",`+body+`}`, 204))
		require.Equal(t, lanes.Inspect{Faults: faults}, s.command)
		require.Equal(t, theLane, s.lane.String())
	}
	for path, err := range map[string]*lanes.Error{
		"enter": lanes.ErrNotWaiting, "fault": lanes.ErrLaneNotFound,
		"ceasefire": lanes.ErrNotSaved,
	} {
		s.err = err
		body := map[string]string{"enter": `{"session_id":"` + theSession + `"}`, "fault": `{"lane_id":"` + theLane +
			`","on":true}`, "ceasefire": `{"scope":"range","on":true}`}[path]
		require.Contains(t, sendAuthorized(h, "POST", prefix2+"/simulate/"+path, body).Body.String(),
			`"code":"`+err.Code()+`"`)
	}
}

// The next requests are answered with an error of choice, and the one after them as ever. Nothing comes of them.
func TestAForcedError(t *testing.T) {
	s := &fakeRange{}
	h := newAPI(s)
	force := func(body string, status int) {
		t.Helper()
		require.Equal(t, status, sendAuthorized(h, "POST", prefix2+"/simulate/error", body).Code)
	}
	pause := func() *httptest.ResponseRecorder {
		s.command = nil
		return sendAuthorized(h, "POST", prefix2+"/sessions/"+theSession+"/pause", "")
	}
	force(`{"code":"lane_occupied","requests":2}`, 204)
	for _, method := range []string{"GET", "HEAD"} {
		require.Equal(t, 200, sendAuthorized(h, method, prefix2+"/lanes", "").Code,
			"nothing that only reads is refused")
	}
	for range 2 {
		refused := pause()
		require.Equal(t, 409, refused.Code)
		require.Contains(t, refused.Body.String(), `{"error":"simulated: `+lanes.ErrLaneOccupied.Error()+
			`","code":"lane_occupied","trace_id":"`)
		require.Nil(t, s.command)
	}
	require.Equal(t, 204, pause().Code)
	require.NotNil(t, s.command)

	force(`{"code":"store_unavailable","requests":100,"reads":true}`, 204)
	refused := sendAuthorized(h, "GET", prefix2+"/lanes", "")
	require.Equal(t, 503, refused.Code)
	require.Equal(t, "1", refused.Header().Get("Retry-After"), "as the real one")
	require.Equal(t, 204, sendAuthorized(h, "POST", prefix2+"/simulate/advance", `{"session_id":"`+theSession+
		`","minutes":1}`).Code, "the simulation itself goes on")
	require.Equal(t, 200, sendAuthorized(h, "GET", prefix1+"/lanes", "").Code, "version 1 stays as it is")
	require.Equal(t, 401, send(h, "GET", prefix2+"/lanes").Code, "it is no way around authentication")
	force(`{"code":"store_unavailable","requests":0}`, 204)
	require.Equal(t, 200, sendAuthorized(h, "GET", prefix2+"/lanes", "").Code)
}

// Every code that may be forced is answered as the table has it. Those that say more than their text may not, nor those
// by which nodes send a request on.
func TestEveryErrorCanBeForced(t *testing.T) {
	h := newAPI(&fakeRange{})
	var refused []string
	for code, entry := range posErrors {
		if sendAuthorized(h, "POST", prefix2+"/simulate/error", `{"code":"`+code+`","requests":1}`).Code == 400 {
			refused = append(refused, code)
			continue
		}
		answer := sendAuthorized(h, "POST", prefix2+"/sessions/"+theSession+"/pause", "")
		require.Equal(t, entry.Status, answer.Code, code)
		require.Contains(t, answer.Body.String(), `"code":"`+code+`"`)
	}
	require.ElementsMatch(t, []string{
		"after_closing", "batch_refused", "cursor_gone", "invalid_request", "lane_reserved", "method_not_allowed",
		"misdirected_request", "purchase_not_found", "wrong_node", "internal",
	}, refused)
}

func TestProductsOfTheIntegrator(t *testing.T) {
	s := &fakeRange{}
	h := newAPI(s)
	product := func(productType string) string {
		return `[{"id":"a","display_name":"A of ` + productType +
			`","price":12.50,"max_qty":5,"min_qty":1,"increment_by":1,"picture_url":""}]`
	}
	for _, productType := range catalog.Types {
		response := sendAuthorized(h, "GET", prefix2+"/simulate/products/"+string(productType), "")
		require.Equal(t, 200, response.Code)
		require.Equal(t, product(string(productType))+"\n", response.Body.String())
		require.Empty(t, s.productsSession)
	}
	response := sendAuthorized(h, "GET", prefix2+"/simulate/products", "", "session-id", "pos-7")
	require.Equal(t, `{"time":[],"targets":[],"ammo":`+product("ammo")+`,"rentals":[]}`+"\n", response.Body.String())
	require.Equal(t, "pos-7", s.productsSession)

	require.Equal(t, 400, sendAuthorized(h, "GET", prefix2+"/simulate/products/beer", "").Code)
	require.Equal(t, 400, sendAuthorized(h, "GET", prefix2+"/simulate/products", "", "session-id", "two words").Code)
	response = sendAuthorized(newStartingAPI(), "GET", prefix2+"/simulate/products", "")
	require.Equal(t, 409, response.Code)
	require.Contains(t, response.Body.String(), `"code":"products_not_configured"`)
	s.err = &catalog.Failed{Type: catalog.Ammo, Reason: "did not response with a JSON array"}
	response = sendAuthorized(h, "GET", prefix2+"/simulate/products/ammo", "")
	require.Equal(t, 502, response.Code)
	require.Contains(t, response.Body.String(),
		`{"error":"products of type ammo: the products API did not response with a JSON array","code":"products_failed"`)
}
