// Package api is the HTTP side of the gateway. Every route of it stands in this file.
package api

import (
	"context"
	"net/http"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// patience is how long a request may take. What has no outcome by then is answered 504.
const patience = 5 * time.Second

// Settings is what the API is made of.
type Settings struct {
	Credentials Credentials
	// Range is the running range with that id; false while it is being brought back.
	Range func(id uuid.UUID) (v2.Range, bool)
	Log   zerolog.Logger
}

// New is the API that POS systems call.
func New(s Settings) http.Handler {
	a := &endpoint.API{Errors: errors, Everywhere: []string{"unauthorized"}, Defect: defect}
	r := a.Router(logged(s.Log))

	version2 := v2.Handlers{RangeOf: s.running}.Endpoints()
	document := a.Document(openapi3.Info{
		Title:   "Range POS gateway",
		Version: "2.0.0",
		Description: "Sell lane time at a shooting range. Every request carries the headers `token` and `range-id`. " +
			"Errors have one shape; quote the `trace_id` when you report an issue.",
	}, prefix2, version2)

	r.Method(http.MethodGet, prefix2+"/openapi.json", endpoint.DocumentHandler(document))
	a.Mount(r, prefix2, version2, s.authenticate(a.Fail), bounded)
	return r
}

const prefix2 = "/api/v2/pos"

// NewOperations is what operators and their tools call, on an address of its own.
func NewOperations(ready func() error, metrics prometheus.Gatherer, log zerolog.Logger) http.Handler {
	a := &endpoint.API{Errors: errors, Defect: defect}
	r := a.Router(logged(log))
	r.Get("/livez", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "up") })
	r.Get("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		say(w, http.StatusOK, "ready")
	})
	r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return r
}

func say(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(sentence + "\n"))
}

// running finds the range of the request.
func (s Settings) running(ctx context.Context) (v2.Range, error) {
	r, running := s.Range(rangeOf(ctx))
	if !running {
		return nil, lanes.ErrStarting
	}
	return r, nil
}

// bounded ends what takes too long.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// defect logs what is our own fault, under the trace id that the client was given.
func defect(r *http.Request, cause error, stack []byte) {
	zerolog.Ctx(r.Context()).Error().Err(cause).Bytes("stack", stack).
		Str("route", chi.RouteContext(r.Context()).RoutePattern()).Msg("defect")
}
