package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/lanes/trace"
)

// lines are those of a log.
func lines(t *testing.T, log *bytes.Buffer) (all []map[string]any) {
	t.Helper()
	for decoder := json.NewDecoder(log); decoder.More(); {
		var line map[string]any
		require.NoError(t, decoder.Decode(&line))
		all = append(all, line)
	}
	return all
}

// What is asked for again and again does not drown the rest, unless something is wrong with it.
func TestHowMuchARequestIsWorth(t *testing.T) {
	for _, story := range []struct {
		method, route string
		status        int
		level         zerolog.Level
	}{
		{"GET", "/livez", 200, zerolog.DebugLevel},
		{"GET", "/readyz", 200, zerolog.DebugLevel},
		{"GET", "/readyz", 503, zerolog.DebugLevel},
		{"GET", "/metrics", 200, zerolog.DebugLevel},
		{"GET", "/metrics", 500, zerolog.InfoLevel},
		{"GET", "/actors", 200, zerolog.DebugLevel},
		{"GET", "/actors", 401, zerolog.InfoLevel},
		{"GET", "/actors/{lane_id}", 200, zerolog.DebugLevel},
		{"GET", "/screens/*", 200, zerolog.DebugLevel},
		{"GET", "/control/assets/*", 304, zerolog.DebugLevel},
		{"GET", "/control/api/health", 200, zerolog.DebugLevel},
		{"POST", "/control/api/sessions", 201, zerolog.InfoLevel},
		{"GET", "/control/stream", 200, zerolog.InfoLevel},
		{"GET", "/api/v2/pos/sessions", 200, zerolog.InfoLevel},
		{"PUT", "/log-level", 200, zerolog.InfoLevel},
		{"GET", "", 404, zerolog.InfoLevel},
	} {
		require.Equal(t, story.level, levelOf(story.method, story.route, story.status), "%s %s %d", story.method, story.route, story.status)
	}
}

// Whoever works for a request has its trace id and its range in the log, and its trace id for whom they call.
func TestTheTraceOfARequest(t *testing.T) {
	var said bytes.Buffer
	a := &endpoint.API{Errors: errors, Defect: defect, Context: carried(zerolog.New(&said))}
	r := a.Router(logged)
	const theirs = "4bf92f3577b34da6a3ce929d0e0e4736"
	r.Get("/", func(_ http.ResponseWriter, r *http.Request) {
		require.Equal(t, theirs, trace.ID(r.Context()))
		note(r.Context(), uuid.MustParse(someRange))
		logOf(r.Context()).Info().Msg("at work")
	})
	request := httptest.NewRequest("GET", "/", nil)
	request.Header.Set("traceparent", "00-"+theirs+"-00f067aa0ba902b7-01")
	r.ServeHTTP(httptest.NewRecorder(), request)
	all := lines(t, &said)
	require.Len(t, all, 2)
	for _, line := range all {
		require.Equal(t, theirs, line["trace_id"])
		require.Equal(t, someRange, line["range"])
	}
}

// The level is the process's: nothing else of this package runs beside this.
func TestTheLogLevel(t *testing.T) {
	before := zerolog.GlobalLevel()
	t.Cleanup(func() { zerolog.SetGlobalLevel(before) })
	zerolog.SetGlobalLevel(zerolog.InfoLevel)
	var said bytes.Buffer
	s := Operations{Token: "operator", Metrics: prometheus.NewRegistry(), Ready: func() error { return nil }, Log: zerolog.New(&said)}
	h := NewOperations(s)
	set := func(body string) *httptest.ResponseRecorder { return known(h, "PUT", "/log-level", body) }
	require.JSONEq(t, `{"level":"info"}`, known(h, "GET", "/log-level", "").Body.String())

	for _, level := range []string{"error", "debug", "warn", "info"} { // up and down, past info
		said.Reset()
		answer := set(`{"level":"` + level + `"}`)
		require.Equal(t, 200, answer.Code)
		require.JSONEq(t, `{"level":"`+level+`"}`, answer.Body.String())
		require.JSONEq(t, `{"level":"`+level+`"}`, known(h, "GET", "/log-level", "").Body.String())
		change := lines(t, &said)[0]
		require.Equal(t, "log level changed", change["message"], "is always told")
		require.Equal(t, []any{"info", level, "operator", "192.0.2.1:1234"}, []any{change["level"], change["is"], change["who"], change["from"]})
		require.NotEmpty(t, change["trace_id"])
	}

	zerolog.SetGlobalLevel(zerolog.WarnLevel)
	for _, wrong := range []string{``, `{}`, `{"level":"trace"}`, `{"level":"DEBUG"}`, `{"level":0}`, `{"level":"disabled"}`} {
		require.Equal(t, 400, set(wrong).Code, wrong)
	}
	require.Equal(t, 401, send(h, "PUT", "/log-level", `{"level":"debug"}`).Code)
	require.Equal(t, 401, send(h, "GET", "/log-level", "").Code)
	require.Equal(t, zerolog.WarnLevel, zerolog.GlobalLevel(), "nothing of that changed it")
}
