package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/api/request"
)

const till = "https://till.example.com"

// newTillAPI returns an API that pages of the till may call.
func newTillAPI() http.Handler {
	s := settings(&fakeRange{status: 200})
	s.Origins = []string{till, "http://localhost:3000"}
	return New(s)
}

// corsHeaders are those that a response has.
func corsHeaders(h http.Header) map[string]string {
	found := map[string]string{}
	for name := range h {
		if len(name) > 14 && name[:14] == "Access-Control" {
			found[name[15:]] = h.Get(name)
		}
	}
	return found
}

// A browser asks before the request, without credentials, and from a public network whether it may go to a private one.
func TestAPreflightOfAPOSInABrowser(t *testing.T) {
	h := newTillAPI()
	ask := func(path, origin, method, headers string) *httptest.ResponseRecorder {
		return send(h, "OPTIONS", path, "Origin", origin, "Access-Control-Request-Method", method,
			"Access-Control-Request-Headers", headers, "Access-Control-Request-Private-Network", "true")
	}
	for _, method := range []string{"GET", "POST", "PATCH"} {
		response := ask(prefix2+"/sessions", till, method, "content-type,idempotency-key,range-id,token")
		require.Equal(t, http.StatusNoContent, response.Code)
		require.Empty(t, response.Body.String())
		require.Equal(t, map[string]string{
			"Allow-Origin": till, "Allow-Methods": method,
			"Allow-Headers":         "content-type,idempotency-key,range-id,token",
			"Allow-Private-Network": "true", "Max-Age": "600",
		}, corsHeaders(response.Header()))
		require.Contains(t, response.Header().Values("Vary"), "Origin, Access-Control-Request-Method, "+
			"Access-Control-Request-Headers, Access-Control-Request-Private-Network")
	}
	// of a page with OpenTelemetry and Sentry
	traced := "baggage,content-type,idempotency-key,range-id,sentry-trace,token,traceparent,tracestate"
	require.Equal(t, traced, corsHeaders(ask(prefix2+"/sessions", till, "POST", traced).Header())["Allow-Headers"])
	require.NotEmpty(t, corsHeaders(ask(prefix1+"/sessions", "http://localhost:3000", "PATCH", "token").Header()))
	for _, ends := range []string{"/reservations/1", "/starts/1"} {
		require.NotEmpty(t, corsHeaders(ask(prefix2+ends, till, "DELETE", "token").Header()))
	}
	for _, refused := range []*httptest.ResponseRecorder{
		ask(prefix2+"/sessions", "https://evil.example.com", "GET", "token"),
		ask(prefix2+"/sessions", "http://till.example.com", "GET", "token"),
		ask(prefix2+"/sessions", "null", "GET", "token"),
		ask(prefix2+"/sessions", till, "PUT", "token"),
		ask(prefix2+"/sessions", till, "GET", "authorization"),
	} {
		require.Empty(t, corsHeaders(refused.Header()))
	}
}

// Every answer may be read, a refusal too, with the headers that a POS goes by; a cookie never counts.
func TestThePOSInABrowserReadsEveryAnswer(t *testing.T) {
	h := newTillAPI()
	readable := map[string]string{
		"Allow-Origin":   till,
		"Expose-Headers": "Idempotency-Replayed, Range-Epoch, Retry-After, Trace-Id",
	}
	response := sendAuthorized(h, "GET", prefix2+"/sessions", "", "Origin", till)
	require.Equal(t, 200, response.Code)
	require.Equal(t, readable, corsHeaders(response.Header()))
	for _, path := range []string{prefix2 + "/sessions", prefix2 + "/nowhere", prefix1 + "/bays"} {
		response = send(h, "GET", path, "Origin", till)
		require.Equal(t, 401, response.Code)
		require.Equal(t, readable, corsHeaders(response.Header()))
	}
	require.Empty(t, corsHeaders(sendAuthorized(h, "GET", prefix2+"/sessions", "", "Origin",
		"https://evil.example.com").Header()))
	for _, path := range []string{
		"/control", "/control/api/history", "/lane/" + theLane, "/board/" + someRange,
		"/screens/screen.css", "/apix",
	} {
		for _, method := range []string{"GET", "OPTIONS"} {
			response := send(h, method, path, "Origin", till, "Access-Control-Request-Method", "GET")
			require.Empty(t, corsHeaders(response.Header()), "%s %s", method, path)
			require.Empty(t, response.Header().Values("Vary"))
		}
	}
}

// The node that the client has sent its request to says it; the owner of the range says nothing, as a header
// that comes twice is none.
func TestWhatAnotherNodeHandsOnHasNoOrigin(t *testing.T) {
	h := newTillAPI()
	r := httptest.NewRequest("GET", prefix2+"/sessions", nil)
	r.Header.Set("Origin", till)
	response := httptest.NewRecorder()
	h.ServeHTTP(response, r.WithContext(request.WithEntry(r.Context(), "another node", true)))
	require.Empty(t, corsHeaders(response.Header()))
}

// Without configured origins nothing is different.
func TestWithoutOriginsNothingIsAllowed(t *testing.T) {
	h := newAPI(&fakeRange{})
	for _, method := range []string{"OPTIONS", "GET"} {
		response := send(h, method, prefix2+"/sessions", "Origin", till, "Access-Control-Request-Method", "GET")
		require.Equal(t, 401, response.Code)
		require.Empty(t, corsHeaders(response.Header()))
		require.Empty(t, response.Header().Values("Vary"))
	}
}
