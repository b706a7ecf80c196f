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
		{"DELETE", prefix + "/sessions", "method_not_allowed", "GET, POST, PATCH"},
		{"BREW", prefix + "/sessions", "method_not_allowed", "GET, POST, PATCH"},
		{"QUERY", prefix + "/sessions", "method_not_allowed", "GET, POST, PATCH"},
		{"PUT", prefix + "/sessions/" + laneID, "method_not_allowed", "GET"},
		{"GET", prefix + "/sessions/" + laneID + "/modify", "method_not_allowed", "POST"},
		{"GET", prefix + "/sessions/a%2Fb/modify", "method_not_allowed", "POST"},
		{"POST", prefix + "/openapi.json", "method_not_allowed", "GET"},
	} {
		w := call(h, c.method, c.path, "")
		require.Equal(t, c.code, problem(t, w).Code, "%+v", c)
		require.Equal(t, c.allow, w.Header().Get("Allow"), "%+v", c)
	}
}

func TestAStrangerLearnsNothing(t *testing.T) {
	_, h := newDemo()
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"} {
		for _, path := range []string{"", "/", "/sessions", "/sessions/" + laneID, "/nowhere", "/sessions/x/modify?%zz"} {
			w := serve(h, httptest.NewRequest(method, prefix+path, nil))
			require.Equal(t, "unauthorized", problem(t, w).Code, "%s %s", method, path)
			require.Empty(t, w.Header().Get("Allow"))
		}
	}
	require.Equal(t, 200, serve(h, httptest.NewRequest("GET", prefix+"/openapi.json", nil)).Code, "open to all")
}

func TestAPanicIsAnsweredAndTold(t *testing.T) {
	d, h := newDemo()
	d.panics = "index out of range"
	w := call(h, "POST", prefix+"/sessions", ordered)
	require.Equal(t, "internal", problem(t, w).Code)
	require.NotContains(t, w.Body.String(), "index")
	require.Len(t, d.defects, 1)
	require.Contains(t, d.defects[0], w.Header().Get("trace-id")+" panic: index out of range")
	require.Contains(t, d.defects[0], "demo_test.go", "the stack leads to the place")
}

func TestAPanicInTheMiddleOfAnAnswerIsOnlyTold(t *testing.T) {
	d, h := newDemo()
	w := call(h, "GET", "/raw/half", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "half an ans", w.Body.String())
	require.Len(t, d.defects, 1)
}

func TestAnAbortPassesThrough(t *testing.T) {
	d, h := newDemo()
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { call(h, "GET", "/raw/abort", "") })
	require.Empty(t, d.defects)
}

func TestAnAnswerThatJSONCannotHoldIsADefect(t *testing.T) {
	d := &demo{}
	api := d.api()
	r := api.Router()
	api.Mount(r, prefix, []Endpoint{Handle("GET", "/x", 200, "X", NoInput,
		func(context.Context, Empty) (any, error) { return func() {}, nil })})
	require.Equal(t, "internal", problem(t, call(r, "GET", prefix+"/x", "")).Code)
	require.Len(t, d.defects, 1)
}

func TestWatchersSeeTheTraceAndTheFinalStatus(t *testing.T) {
	d := &demo{panics: "boom"}
	api := d.api()
	var trace string
	var status int
	r := api.Router(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			trace, status = TraceID(r.Context()), answer.Code
		})
	})
	api.Mount(r, prefix, d.endpoints())
	w := call(r, "GET", prefix+"/sessions", "")
	require.Equal(t, w.Header().Get("trace-id"), trace)
	require.Equal(t, 500, status)
}
