package api

import (
	"bytes"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// Who downloads a profile of the process is in the log, once for each. None takes longer than 30 s.
func TestProfilesAreOnRecord(t *testing.T) {
	log := &bytes.Buffer{}
	settings := operationsSettings(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
	settings.Log = zerolog.New(log)
	h := NewOperations(settings)
	downloads := func() (all []map[string]any) {
		for _, line := range logLines(t, log) {
			if line["message"] == "an operator downloads a profile of the process" {
				all = append(all, line)
			}
		}
		return all
	}
	get := func(path string) *httptest.ResponseRecorder {
		return sendAuthorized(h, "GET", "/debug/pprof/"+path, "")
	}
	for path, profile := range map[string]string{
		"profile?seconds=1": "profile", "trace?seconds=1": "trace", "heap": "heap", "goroutine?debug=1": "goroutine",
	} {
		response := get(path)
		require.Equal(t, 200, response.Code, path)
		require.NotEmpty(t, response.Body.Bytes())
		all := downloads()
		require.Len(t, all, 1, path)
		require.Equal(t, []any{profile, "operator", "192.0.2.1:1234"},
			[]any{all[0]["profile"], all[0]["who"], all[0]["from"]})
		require.NotEmpty(t, all[0]["trace_id"])
	}
	for _, path := range []string{"profile?seconds=31", "profile?seconds=0", "trace?seconds=x", "heap?seconds=3600"} {
		refused := get(path)
		require.Equal(t, 400, refused.Code, path)
		require.Contains(t, refused.Body.String(), `"fields":{"seconds":"must be a whole number from 1 to 30"}`)
	}
	require.Equal(t, 401, send(h, "GET", "/debug/pprof/heap").Code)
	require.Empty(t, downloads(), "what is refused is no download")
}
