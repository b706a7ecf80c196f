package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// API is what all endpoints share.
type API struct {
	// Errors has every code that is answered anywhere.
	Errors Errors
	// Everywhere names the codes of the middlewares given to Mount, such as `unauthorized`, for the document.
	Everywhere []string
	// Context adds to the context of every request what else it is to have with it on its way. nil: nothing.
	Context func(ctx context.Context, traceID string) context.Context
	// Routed is told by which route, as chi writes its pattern, a request has come to its endpoint. nil: nobody asks.
	Routed func(ctx context.Context, route string)
	// Patience is how long an endpoint may take, unless it is Unhurried. What has no outcome by then is answered
	// `timeout`. Zero: as long as it likes.
	Patience time.Duration
	// Admit lets a request in that is read and about to be carried out, and is told when that is over. Its error is
	// answered instead. nil: every request is let in.
	Admit func(context.Context) (leave func(), err error)
	// Defect hears of every fault of ours, once, before the answer is written: its cause, and the stack if it was a panic.
	Defect func(r *http.Request, cause error, stack []byte)
}

// ownCodes are answered by the package itself.
var ownCodes = []string{
	"invalid_request", "not_found", "method_not_allowed", "too_large", "unsupported_media_type", "timeout", "internal",
}

// Router answers a router on which every response has a trace id and every failure the one shape, unknown paths, wrong
// methods and panics included. The watchers (access log, metrics) see each request with its trace id and its final status.
func (a *API) Router(watchers ...func(http.Handler) http.Handler) *chi.Mux {
	for _, code := range ownCodes {
		a.Errors.of(code)
	}
	r := chi.NewRouter()
	r.Use(a.trace)
	r.Use(watchers...)
	r.Use(a.recover, routeAnyMethod)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { a.Fail(w, r, Refusal("not_found")) })
	r.MethodNotAllowed(a.methodNotAllowed)
	return r
}

// Mount puts endpoints under prefix, behind guards: authentication and limits, outermost first. The guards stand before
// the prefix's own routing, so that a stranger is told 401 whatever the path and method, and learns of neither.
func (a *API) Mount(r chi.Router, prefix string, endpoints []Endpoint, guards ...func(http.Handler) http.Handler) {
	r.Route(prefix, func(r chi.Router) {
		r.Use(guards...)
		for _, e := range endpoints {
			for _, code := range e.codes {
				a.Errors.of(code)
			}
			var once sync.Once // there is one route to it, which chi would put together again for each request
			var route string
			r.MethodFunc(e.method, e.path, func(w http.ResponseWriter, r *http.Request) {
				if a.Routed != nil {
					once.Do(func() { route = chi.RouteContext(r.Context()).RoutePattern() })
					a.Routed(r.Context(), route)
				}
				if err := a.serve(e, w, r); err != nil {
					a.Fail(w, r, err)
				}
			})
		}
	})
}

// serve lets the endpoint answer, in the time that it has.
func (a *API) serve(e Endpoint, w http.ResponseWriter, r *http.Request) error {
	if e.unhurried {
		// The server's time-out for writing counts from the end of the request's header. A writer that has none is a test's.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		return e.serve(r.Context(), a, w, r)
	}
	if a.Patience == 0 {
		return e.serve(r.Context(), a, w, r)
	}
	ctx := &patient{Context: r.Context(), until: time.Now().Add(a.Patience)}
	defer ctx.end()
	return e.serve(ctx, a, w, r)
}

// carryOut does what a request asks for, if it is let in. Reading it and writing the answer, which a slow client can drag
// out, are no part of that.
func carryOut[Out any](ctx context.Context, a *API, do func() (Out, error)) (Out, error) {
	if a.Admit != nil {
		leave, err := a.Admit(ctx)
		if err != nil {
			var none Out
			return none, err
		}
		defer leave()
	}
	return do()
}

// Seen is the writer of an answer, which knows what it was told: one for all who watch a request.
func Seen(w http.ResponseWriter, r *http.Request) middleware.WrapResponseWriter {
	if seen, already := w.(middleware.WrapResponseWriter); already {
		return seen
	}
	return middleware.NewWrapResponseWriter(w, r.ProtoMajor)
}

// recover answers a panic with `internal`, if the answer has not begun.
func (a *API) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := Seen(w, r)
		defer func() {
			switch cause := recover(); cause {
			case nil:
			case http.ErrAbortHandler: // the server's own word for breaking a response off
				panic(cause)
			default:
				a.Defect(r, fmt.Errorf("panic: %v", cause), debug.Stack())
				if seen.Status() == 0 {
					a.Problem(Refusal("internal")).write(w, r)
				}
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodConnect, http.MethodOptions, http.MethodTrace,
}

// routeAnyMethod sends a method chi has never heard of the way of one that nothing answers to. chi itself would answer it
// 405 at the root: before authentication, and on paths that do not exist.
func routeAnyMethod(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(methods, r.Method) {
			chi.RouteContext(r.Context()).RouteMethod = http.MethodTrace
		}
		next.ServeHTTP(w, r)
	})
}

// methodNotAllowed answers 405 with what is allowed. chi keeps that list to itself, so each method is tried.
func (a *API) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	var allowed []string
	for _, method := range methods {
		if chi.RouteContext(r.Context()).Routes.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	a.Fail(w, r, Refusal("method_not_allowed"))
}
