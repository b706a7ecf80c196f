package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/machinery"
)

// Operations is what the operators' address is made of.
type Operations struct {
	Ready   func() error // what is still missing
	Metrics prometheus.Gatherer
	Token   string // of the operator; empty: what demands it is open to nobody
	// Range is the running range with that id, or why there is none: ErrNoRange, lanes.ErrStarting,
	// lanes.ErrNotOwner.
	Range   func(id uuid.UUID) (Operated, error)
	Ranges  func() []uuid.UUID    // that are configured
	Waiting func() map[string]int // messages in mailboxes, by kind of actor
	// Reload reads the configuration again and has it take effect. Its error is a RefusedReload.
	Reload func(ctx context.Context, force bool) (Reloaded, error)
	Log    zerolog.Logger
}

// ErrNoRange: no range with that id is configured.
var ErrNoRange error = endpoint.Refusal("not_found")

// NewOperations is what operators and their tools call, on an address of its own. Health and metrics are open to all.
func NewOperations(s Operations) http.Handler {
	a := &endpoint.API{Errors: operationsErrors, Timeout: patience, Defect: defect, Context: carried(s.Log), Routed: routed}
	r := a.Router(logged)
	operators := s.operatorOnly(a.Fail)
	s.Token = "" // its digest is enough
	r.Get("/livez", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "up") })
	r.Get("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.Ready(); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		say(w, http.StatusOK, "ready")
	})
	r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{}))
	r.Route("/debug/pprof", func(r chi.Router) {
		r.Use(operators)
		r.Get("/", pprof.Index)
		r.Get("/profile", pprof.Profile)
		r.Get("/trace", pprof.Trace)
		r.Get("/{profile}", pprof.Index)
	})
	a.Mount(r, "/reload", []endpoint.Endpoint{s.reload()}, operators)
	a.Mount(r, "/ranges", office{s.Range}.endpoints(), operators)
	a.Mount(r, "/log-level", logLevelEndpoints(), operators)
	machinery.Mount(r, a, machinery.Settings{
		Ranges: s.Ranges, Waiting: s.Waiting,
		Range: func(id uuid.UUID) (machinery.Range, error) { return s.Range(id) },
	}, operators)
	return r
}

func say(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(sentence + "\n"))
}

// operatorOnly lets nobody in without the operations token.
func (s Operations) operatorOnly(fail failer) func(http.Handler) http.Handler {
	want, known := sha256.Sum256([]byte(s.Token)), s.Token != ""
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			given := sha256.Sum256([]byte(token))
			if match := subtle.ConstantTimeCompare(given[:], want[:]) == 1; !match || !bearer || !known {
				fail(w, r, noOperator{})
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

type noOperator struct{}

func (noOperator) Error() string {
	return "the header Authorization must be Bearer and the operations token"
}
func (noOperator) Code() string { return "unauthorized" }
