package api

import (
	"net/http"
	"strings"

	"github.com/rs/cors"

	"rangegate/api/request"
	"rangegate/api/routing"
)

// allowOrigins lets the pages of these origins call the API, from a public network too, and read the headers
// that a POS needs. It answers preflights itself: browsers send them without credentials. The screens are
// called by the gateway's own pages only, and stay closed. Without origins it does nothing.
func allowOrigins(origins []string) func(http.Handler) http.Handler {
	if len(origins) == 0 {
		return func(next http.Handler) http.Handler { return next }
	}
	policy := cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{
			"Content-Type", "Idempotency-Key", "Last-Event-ID", "Range-Id", "Session-Id", "Token",
			// what OpenTelemetry and Sentry add to every fetch of a page
			"Traceparent", "Tracestate", "Baggage", "Sentry-Trace",
		},
		ExposedHeaders: []string{"Idempotency-Replayed", routing.EpochHeader, "Retry-After", "Trace-Id"},
		MaxAge:         600, // seconds; after a change of the origins browsers go by the old ones for so long

		AllowPrivateNetwork: true,
	})
	return func(next http.Handler) http.Handler {
		allowed := policy.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// The node that the client has sent the request to has done this already.
			if !strings.HasPrefix(r.URL.Path, "/api/") || request.Entry(r.Context()) != "" {
				next.ServeHTTP(w, r)
				return
			}
			allowed.ServeHTTP(w, r)
		})
	}
}
