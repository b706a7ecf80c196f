package endpoint

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
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
	// Errors has every code that any response has.
	Errors Errors
	// GuardCodes are the codes of the middlewares given to Mount, such as `unauthorized`, for the document.
	GuardCodes []string
	// WriteGuardCodes are those of the middlewares that only requests other than GET get.
	WriteGuardCodes []string
	// Context extends the context of every request. parent is the valid traceparent that the trace id is of, or
	// empty. nil: the context stays as it is.
	Context func(ctx context.Context, traceID, parent string) context.Context
	// Timeout is how long an endpoint may take, unless it is declared WithoutTimeout. Zero: no limit.
	Timeout time.Duration
	// Admit is called before a request that was read is carried out, and release after it, with what came of
	// it. closes: the input of the request has the method Closes, which says so. nil: every request is
	// admitted.
	Admit func(ctx context.Context, closes bool) (release func(error), err error)
	// ReservePage waits for the room of one page of records, for a bounded time, or refuses the request. nil:
	// there is room for every page.
	ReservePage func(context.Context) (PageRoom, error)
	// KeyReused reports whether another request has the Idempotency-Key. It is asked about malformed requests
	// only: a repeat with another content is refused as such before its fields are judged. nil: the commands
	// have no keys.
	KeyReused func(ctx context.Context, name, fingerprint string) bool
	// Defect is called once for every internal error, before the response is written. Only a panic has a stack.
	Defect func(r *http.Request, cause error, stack []byte)
}

// ownCodes are the codes that the package itself responds with.
var ownCodes = []string{
	"invalid_request", "not_found", "method_not_allowed", "request_timeout", "too_large", "unsupported_media_type",
	"timeout", "internal",
}

// Router returns a router that gives every response a trace id and every failure the one error body, also for
// unknown paths, wrong methods and panics. The observers (access log, metrics) see each request with its trace
// id and its final status. It panics if Errors lacks one of the package's own codes.
func (a *API) Router(observers ...func(http.Handler) http.Handler) *chi.Mux {
	for _, code := range ownCodes {
		a.Errors.lookUp(code)
	}
	r := chi.NewRouter()
	r.Use(a.trace)
	r.Use(observers...)
	r.Use(a.recoverPanics, routeMethods)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { a.Fail(w, r, Refusal("not_found")) })
	r.MethodNotAllowed(a.methodNotAllowed)
	return r
}

// Mount puts endpoints under prefix, behind guards: authentication and limits, outermost first. The guards run
// before the prefix's own routing, so that an unauthenticated client gets 401 for every path and method and
// cannot probe them. It panics if an endpoint names a code that Errors lacks.
func (a *API) Mount(r chi.Router, prefix string, endpoints []Endpoint, guards ...func(http.Handler) http.Handler) {
	r.Route(prefix, func(r chi.Router) {
		r.Use(guards...)
		for _, e := range endpoints {
			for _, code := range e.codes {
				a.Errors.lookUp(code)
			}
			r.MethodFunc(e.method, e.path, func(w http.ResponseWriter, r *http.Request) {
				if err := a.serve(e, w, r); err != nil {
					a.Fail(w, r, err)
				}
			})
		}
	})
}

// serve runs the endpoint within its timeout.
func (a *API) serve(e Endpoint, w http.ResponseWriter, r *http.Request) error {
	if e.withoutTimeout {
		// The server's write timeout counts from the end of the request's header. A test's recorder has no
		// deadline to set.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	if e.withoutTimeout || a.Timeout == 0 {
		return e.serve(r.Context(), a, w, r)
	}
	ctx := &lazyTimeout{Context: r.Context(), deadline: time.Now().Add(a.Timeout)}
	defer ctx.end()
	return e.serve(ctx, a, w, r)
}

// runAdmitted runs do if the request is admitted. Reading and writing, which a slow client can delay, are
// outside of it.
func runAdmitted[In, Out any](ctx context.Context, a *API, input In, do func() (Out, error)) (out Out, err error) {
	if a.Admit != nil {
		closer, closes := any(input).(interface{ Closes() bool })
		release, refusal := a.Admit(ctx, closes && closer.Closes())
		if refusal != nil {
			return out, refusal
		}
		defer func() { release(err) }()
	}
	return do()
}

// lazyTimeout creates its timer when somebody first waits for it: a request that is served from memory needs none.
type lazyTimeout struct {
	context.Context // of the request
	deadline        time.Time

	once   sync.Once
	timed  context.Context
	cancel context.CancelFunc
}

func (c *lazyTimeout) wait() context.Context {
	c.once.Do(func() { c.timed, c.cancel = context.WithDeadline(c.Context, c.deadline) })
	return c.timed
}

// Deadline is that of the context with the timeout.
func (c *lazyTimeout) Deadline() (time.Time, bool) { return c.wait().Deadline() }

// Done is that of the context with the timeout.
func (c *lazyTimeout) Done() <-chan struct{} { return c.wait().Done() }

// Err is that of the context with the timeout.
func (c *lazyTimeout) Err() error { return c.wait().Err() }

// end cancels the context. A goroutine that first waits after it finds the context already cancelled.
func (c *lazyTimeout) end() {
	c.once.Do(func() { c.timed, c.cancel = cancelled, func() {} })
	c.cancel()
}

// cancelled is the context of every finished request that nobody waited for.
var cancelled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Recorder returns w as a writer that records status and size, the same one for all observers of a request.
func Recorder(w http.ResponseWriter, r *http.Request) middleware.WrapResponseWriter {
	if recorder, ok := w.(middleware.WrapResponseWriter); ok {
		return recorder
	}
	return middleware.NewWrapResponseWriter(w, r.ProtoMajor)
}

// recoverPanics responds to a panic with `internal`, unless the response has begun.
func (a *API) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := Recorder(w, r)
		defer func() {
			switch cause := recover(); cause {
			case nil:
			case http.ErrAbortHandler: // net/http's own signal to abort a response
				panic(cause)
			default:
				a.Defect(r, fmt.Errorf("panic: %v", cause), debug.Stack())
				if recorder.Status() == 0 {
					entry, body := a.Errors.problem(Refusal("internal"))
					entry.respond(w, body)
				}
			}
		}()
		next.ServeHTTP(recorder, r)
	})
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodConnect, http.MethodOptions, http.MethodTrace,
}

// routeMethods routes HEAD as GET, as no route is declared for it: net/http sends no body in response.
// (GetHead of chi takes the path of every sub-router for one with its own HEAD.) A method that chi does not
// know is routed as TRACE: chi would respond 405 before authentication.
func routeMethods(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodHead:
			chi.RouteContext(r.Context()).RouteMethod = http.MethodGet
		case !slices.Contains(methods, r.Method):
			chi.RouteContext(r.Context()).RouteMethod = http.MethodTrace
		}
		next.ServeHTTP(w, r)
	})
}

// methodNotAllowed responds 405 with the allowed methods. chi does not export that list, so each method is tried.
func (a *API) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	var allowed []string
	for _, method := range methods {
		routed := method
		if method == http.MethodHead { // it is answered wherever GET is
			routed = http.MethodGet
		}
		if chi.RouteContext(r.Context()).Routes.Match(chi.NewRouteContext(), routed, path) {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	a.Fail(w, r, Refusal("method_not_allowed"))
}

// traceHeader is spelled as net/http canonicalizes it, which saves the conversion for every response.
const traceHeader = "Trace-Id"

// trace gives every request a trace id and its context, and every response the header `trace-id` (WIRE.md, Errors).
func (a *API) trace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, parent := newTraceID(), ""
		if parents := r.Header["Traceparent"]; len(parents) == 1 {
			if given, ok := parentTrace(parents[0]); ok {
				id, parent = given, parents[0]
			}
		}
		w.Header().Set(traceHeader, id)
		if a.Context != nil {
			r = r.WithContext(a.Context(r.Context(), id, parent))
		}
		next.ServeHTTP(w, r)
	})
}

// newTraceID returns a random id. It is unique for practical purposes, and no secret.
func newTraceID() string {
	id := binary.NativeEndian.AppendUint64(make([]byte, 0, 16), rand.Uint64())
	return hex.EncodeToString(binary.NativeEndian.AppendUint64(id, rand.Uint64()))
}

// traceparent is the header of W3C Trace Context: version, trace, parent and flags. A later version may continue.
var traceparent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// parentTrace parses the trace id of a traceparent. There is no version ff, and neither id may be all zeros.
func parentTrace(s string) (id string, ok bool) {
	parts := traceparent.FindStringSubmatch(s)
	if parts == nil || parts[1] == "ff" || parts[1] == "00" && parts[4] != "" {
		return "", false
	}
	return parts[2], strings.Trim(parts[2], "0") != "" && strings.Trim(parts[3], "0") != ""
}
