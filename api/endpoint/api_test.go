package endpoint

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnknownPathsAndWrongMethods(t *testing.T) {
	_, h := newDemo()
	for _, c := range []struct{ method, path, code, allow string }{
		{"GET", "/", "not_found", ""},
		{"GET", "/api/v2/posh", "not_found", ""},
		{"GET", prefix, "not_found", ""},
		{"GET", prefix + "/", "not_found", ""},
		{"GET", prefix + "/sessions/", "not_found", ""},
		{"GET", prefix + "/Sessions", "not_found", ""},
		{"GET", prefix + "/simulate/a/b", "not_found", ""},
		{"BREW", prefix + "/nowhere", "not_found", ""},
		{"DELETE", prefix + "/sessions", "method_not_allowed", "GET, HEAD, POST, PATCH"},
		{"BREW", prefix + "/sessions", "method_not_allowed", "GET, HEAD, POST, PATCH"},
		{"QUERY", prefix + "/sessions", "method_not_allowed", "GET, HEAD, POST, PATCH"},
		{"PUT", prefix + "/sessions/" + laneID, "method_not_allowed", "GET, HEAD"},
		{"GET", prefix + "/sessions/" + laneID + "/modify", "method_not_allowed", "POST"},
		{"GET", prefix + "/sessions/a%2Fb/modify", "method_not_allowed", "POST"},
		{"POST", prefix + "/openapi.json", "method_not_allowed", "GET, HEAD"},
	} {
		w := call(h, c.method, c.path, "")
		require.Equal(t, c.code, problem(t, w).Code, "%+v", c)
		require.Equal(t, c.allow, w.Header().Get("Allow"), "%+v", c)
	}
}

func TestAnUnauthenticatedClientLearnsNothing(t *testing.T) {
	_, h := newDemo()
	for _, method := range []string{
		"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE",
		"CONNECT", "BREW",
	} {
		for _, path := range []string{
			"", "/", "/sessions", "/sessions/" + laneID, "/nowhere",
			"/sessions/x/modify?%zz",
		} {
			w := serve(h, httptest.NewRequest(method, prefix+path, nil))
			require.Equal(t, "unauthorized", problem(t, w).Code, "%s %s", method, path)
			require.Empty(t, w.Header().Get("Allow"))
		}
	}
	require.Equal(t, 200, serve(h, httptest.NewRequest("GET", prefix+"/openapi.json", nil)).Code, "public")
}

func TestAPanicIsAnsweredAndReported(t *testing.T) {
	d, h := newDemo()
	d.panics = "index out of range"
	w := call(h, "POST", prefix+"/sessions", ordered)
	require.Equal(t, "internal", problem(t, w).Code)
	require.NotContains(t, w.Body.String(), "index")
	require.Len(t, d.defects, 1)
	require.Contains(t, d.defects[0], w.Header().Get("trace-id")+" panic: index out of range")
	require.Contains(t, d.defects[0], "demo_test.go", "the stack names the source file")
}

func TestAPanicInTheMiddleOfAResponseIsOnlyReported(t *testing.T) {
	d, h := newDemo()
	w := call(h, "GET", "/raw/half", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "half a resp", w.Body.String())
	require.Len(t, d.defects, 1)
}

func TestAnAbortPassesThrough(t *testing.T) {
	d, h := newDemo()
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { call(h, "GET", "/raw/abort", "") })
	require.Empty(t, d.defects)
}

func TestAResponseThatJSONCannotHoldIsADefect(t *testing.T) {
	d := &demo{}
	api := d.api()
	r := api.Router()
	api.Mount(r, prefix, []Endpoint{Handle("GET", "/x", 200, "X", NoInput,
		func(context.Context, Empty) (any, error) { return func() {}, nil })})
	require.Equal(t, "internal", problem(t, call(r, "GET", prefix+"/x", "")).Code)
	require.Len(t, d.defects, 1)
}

func TestObserversSeeTheTraceAndTheFinalStatus(t *testing.T) {
	d := &demo{panics: "boom"}
	api := d.api()
	var trace string
	var status int
	r := api.Router(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			recorder := httptest.NewRecorder()
			next.ServeHTTP(recorder, r)
			trace, status = traceOf(r.Context()), recorder.Code
		})
	})
	api.Mount(r, prefix, d.endpoints())
	w := call(r, "GET", prefix+"/sessions", "")
	require.Equal(t, w.Header().Get("trace-id"), trace)
	require.Equal(t, 500, status)
}

func TestTheTraceIDOfATraceparent(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for parent, valid := range map[string]bool{
		"00-" + id + "-00f067aa0ba902b7-01":                       true,
		"00-" + id + "-00f067aa0ba902b7-ff":                       true,
		"cc-" + id + "-00f067aa0ba902b7-01":                       true,
		"cc-" + id + "-00f067aa0ba902b7-01-future":                true,
		"cc-" + id + "-00f067aa0ba902b7-01.future":                false,
		"00-" + id + "-00f067aa0ba902b7-01-more":                  false,
		"ff-" + id + "-00f067aa0ba902b7-01":                       false,
		"0-" + id + "-00f067aa0ba902b7-01":                        false,
		"00-" + id + "-0000000000000000-01":                       false,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false,
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01": false,
		"00-" + id + "-00f067aa0ba902b7-0G":                       false,
		"00-" + id + "-00f067aa0ba902b7-1":                        false,
		"00-" + id + "-00f067aa0ba902b-001":                       false,
		"00_" + id + "_00f067aa0ba902b7_01":                       false,
		"00-4bf92f35-7b34da6a3ce929d0e0e47361-00f067aa0ba902b-01": false,
		"": false,
	} {
		t.Run(parent, func(t *testing.T) {
			_, h := newDemo()
			got := call(h, "GET", prefix+"/sessions", "", "traceparent", parent).Header().Get("trace-id")
			require.Regexp(t, "^[0-9a-f]{32}$", got)
			require.Equal(t, valid, got == id)
		})
	}
}

func TestEveryResponseHasATraceIDOfItsOwn(t *testing.T) {
	_, h := newDemo()
	seen := map[string]bool{}
	for _, path := range []string{prefix + "/sessions", prefix + "/nowhere", "/nowhere", prefix + "/openapi.json"} {
		id := call(h, "GET", path, "").Header().Get("trace-id")
		require.Len(t, id, 32, path)
		require.False(t, seen[id])
		seen[id] = true
	}
	const one = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	two := call(h, "GET", "/nowhere", "", "traceparent", one, "traceparent", one)
	require.NotEqual(t, one[3:35], two.Header().Get("trace-id"), "two parents are ignored")
}
