package api

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
)

// request is what the log line of a request learns on the way.
type request struct{ rangeID uuid.UUID }

type requestKey struct{}

// note tells the request's log line which range it was for.
func note(ctx context.Context, rangeID uuid.UUID) {
	if r, logged := ctx.Value(requestKey{}).(*request); logged {
		r.rangeID = rangeID
	}
}

// logged writes one line about every request, and gives the request a log with its trace id for whoever works for it.
func logged(log zerolog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began := time.Now()
			traced := log.With().Str("trace_id", endpoint.TraceID(r.Context())).Logger()
			about := &request{}
			ctx := context.WithValue(traced.WithContext(r.Context()), requestKey{}, about)
			seen := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
			r = r.WithContext(ctx)
			next.ServeHTTP(seen, r)
			line := traced.Info()
			if about.rangeID != uuid.Nil {
				line = line.Stringer("range", about.rangeID)
			}
			line.Str("method", r.Method).Str("path", r.URL.Path).Str("route", chi.RouteContext(r.Context()).RoutePattern()).
				Int("status", seen.Status()).Int("bytes", seen.BytesWritten()).Dur("took", time.Since(began)).
				Str("from", r.RemoteAddr).Msg("request")
		})
	}
}
