package request

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/lanes/trace"
)

// Successful requests that are repeated all the time are logged at debug.
func TestTheLevelOfARequest(t *testing.T) {
	for _, c := range []struct {
		method, route string
		status        int
		level         zerolog.Level
	}{
		{"GET", "/livez", 200, zerolog.DebugLevel},
		{"GET", "/observer", 200, zerolog.DebugLevel},
		{"GET", "/log-level", 200, zerolog.DebugLevel},
		{"GET", "/observer/lanes/{lane_id}/snapshot", 200, zerolog.InfoLevel},
		{"GET", "/readyz", 200, zerolog.DebugLevel},
		{"GET", "/readyz", 503, zerolog.DebugLevel},
		{"GET", "/metrics", 200, zerolog.DebugLevel},
		{"GET", "/metrics", 500, zerolog.InfoLevel},
		{"GET", "/actors", 200, zerolog.DebugLevel},
		{"GET", "/actors", 401, zerolog.InfoLevel},
		{"GET", "/actors/{lane_id}", 200, zerolog.DebugLevel},
		{"GET", "/advisories", 200, zerolog.DebugLevel},
		{"GET", "/screens/*", 200, zerolog.DebugLevel},
		{"GET", "/control/assets/*", 304, zerolog.DebugLevel},
		{"GET", "/control/api/health", 200, zerolog.DebugLevel},
		{"POST", "/control/api/sessions", 201, zerolog.InfoLevel},
		{"GET", "/control/stream", 200, zerolog.InfoLevel},
		{"GET", "/api/v2/pos/sessions", 200, zerolog.InfoLevel},
		{"PUT", "/log-level", 200, zerolog.InfoLevel},
		{"GET", "", 404, zerolog.InfoLevel},
	} {
		require.Equal(t, c.level, levelOf(c.method, c.route, c.status), "%s %s %d", c.method, c.route, c.status)
	}
}

// Whoever has the address of a shooter's page may see it: the log has its route instead.
func TestTheAddressOfAShootersPageIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	r := chi.NewRouter()
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(Track(zerolog.New(&log), nil)(r.Context(), "trace", "")))
		})
	}, AccessLog(nil))
	page := func(http.ResponseWriter, *http.Request) {}
	r.Get("/my/{token}", page)
	r.Get("/my/{token}/stream", page)
	r.Get("/my/assets/*", page)
	for _, path := range []string{"/my/the-token", "/my/the-token/stream", "/my/assets/main.js"} {
		r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	require.NotContains(t, log.String(), "the-token")
	require.Contains(t, log.String(), `"path":"/my/{token}/stream"`)
	require.Contains(t, log.String(), `"path":"/my/{token}"`)
}

// The access log, and the log and the context of the code that works for a request, have its trace id and its range.
func TestTheTraceOfARequest(t *testing.T) {
	var log bytes.Buffer
	codes := endpoint.Errors{}
	for _, code := range []string{
		"invalid_request", "not_found", "method_not_allowed", "request_timeout", "too_large", "unsupported_media_type",
		"timeout", "internal",
	} {
		codes[code] = endpoint.Error{Status: http.StatusBadRequest}
	}
	a := &endpoint.API{Errors: codes, Context: Track(zerolog.New(&log), nil)}
	r := a.Router(AccessLog(nil))
	rangeID := uuid.MustParse("11111111-1111-4111-8111-111111111111")
	const parent = "4bf92f3577b34da6a3ce929d0e0e4736"
	r.Get("/", func(_ http.ResponseWriter, r *http.Request) {
		require.Equal(t, parent, trace.ID(r.Context()))
		SetRange(r.Context(), rangeID)
		require.Equal(t, rangeID, RangeID(r.Context()))
		Log(r.Context()).Info().Msg("at work")
	})
	received := httptest.NewRequest("GET", "/", nil)
	received.Header.Set("traceparent", "00-"+parent+"-00f067aa0ba902b7-01")
	r.ServeHTTP(httptest.NewRecorder(), received)
	lines := 0
	for decoder := json.NewDecoder(&log); decoder.More(); lines++ {
		var line map[string]any
		require.NoError(t, decoder.Decode(&line))
		require.Equal(t, parent, line["trace_id"])
		require.Equal(t, rangeID.String(), line["range_id"])
	}
	require.Equal(t, 2, lines)
}

func TestTheNetworkOfAClient(t *testing.T) {
	for remote, prefix := range map[string]string{
		"192.0.2.1:80":           "192.0.2.1/32",
		"[::ffff:192.0.2.1]:80":  "192.0.2.1/32",
		"[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":      "fe80::/64",
		"@":                      "invalid Prefix",
		"":                       "invalid Prefix",
	} {
		require.Equal(t, prefix, ClientNetwork(&http.Request{RemoteAddr: remote}).String(), remote)
	}
}
