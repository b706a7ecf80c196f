package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
)

// logged writes one line about every request.
func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		about, seen := requestOf(r.Context()), endpoint.Recorder(w, r)
		about.from = r.RemoteAddr
		next.ServeHTTP(seen, r)
		route := about.routeOf(r)
		line := about.log.WithLevel(levelOf(r.Method, route, seen.Status())).Str("trace_id", about.trace)
		if about.rangeID != uuid.Nil {
			line = line.Str("range", about.rangeID.String())
		}
		line.Str("method", r.Method).Str("path", r.URL.Path).Str("route", route).
			Int("status", seen.Status()).Int("bytes", seen.BytesWritten()).Dur("took", time.Since(about.began)).
			Str("from", r.RemoteAddr).Msg("request")
	})
}

// levelOf is how much a request is worth a line. What programs and open pages ask for again and again, and the files of pages,
// are for debugging, as long as nothing is wrong with them; that a gateway is not ready is nothing wrong.
func levelOf(method, route string, status int) zerolog.Level {
	switch {
	case route == "/readyz":
		return zerolog.DebugLevel
	case method != http.MethodGet || status >= http.StatusBadRequest:
		return zerolog.InfoLevel
	case slices.Contains([]string{"/livez", "/metrics", "/actors", "/actors/{lane_id}"}, route),
		strings.HasPrefix(route, "/control/api/"), strings.HasPrefix(route, "/screens/"), strings.Contains(route, "/assets/"):
		return zerolog.DebugLevel
	}
	return zerolog.InfoLevel
}
