package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/lanes/trace"
)

// request is what the log line of a request learns on the way.
type request struct {
	rangeID uuid.UUID
	from    string // the address
}

type requestKey struct{}

// note tells the request's log line, and the log of whoever works for it, which range it is for.
func note(ctx context.Context, rangeID uuid.UUID) {
	zerolog.Ctx(ctx).UpdateContext(func(c zerolog.Context) zerolog.Context { return c.Stringer("range", rangeID) })
	if r, logged := ctx.Value(requestKey{}).(*request); logged {
		r.rangeID = rangeID
	}
}

// addressOf is where the request comes from.
func addressOf(ctx context.Context) string {
	if r, logged := ctx.Value(requestKey{}).(*request); logged {
		return r.from
	}
	return ""
}

// logged writes one line about every request, and gives the request a log with its trace id for whoever works for it.
func logged(log zerolog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began := time.Now()
			traced := log.With().Str("trace_id", endpoint.TraceID(r.Context())).Logger()
			about := &request{from: r.RemoteAddr}
			ctx := trace.With(traced.WithContext(r.Context()), endpoint.TraceID(r.Context()))
			ctx = context.WithValue(ctx, requestKey{}, about)
			seen := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
			r = r.WithContext(ctx)
			next.ServeHTTP(seen, r)
			route := chi.RouteContext(r.Context()).RoutePattern()
			line := traced.WithLevel(levelOf(r.Method, route, seen.Status()))
			if about.rangeID != uuid.Nil {
				line = line.Stringer("range", about.rangeID)
			}
			line.Str("method", r.Method).Str("path", r.URL.Path).Str("route", route).
				Int("status", seen.Status()).Int("bytes", seen.BytesWritten()).Dur("took", time.Since(began)).
				Str("from", r.RemoteAddr).Msg("request")
		})
	}
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
