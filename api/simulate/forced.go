package simulate

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/request"
)

// ForcedErrors has the errors that the next requests to a range are answered with, instead of being carried out. They
// are in memory alone.
type ForcedErrors struct {
	errors endpoint.Errors
	mu     sync.Mutex
	next   map[uuid.UUID]forced // by range
}

// forced is an error, and how many requests it is still for.
type forced struct {
	code     string
	requests int
	reads    bool // requests that change nothing are among them
}

// NewForcedErrors returns a ForcedErrors for the codes in the table. No request is answered with an error yet.
func NewForcedErrors(table endpoint.Errors) *ForcedErrors {
	return &ForcedErrors{errors: table, next: map[uuid.UUID]forced{}}
}

// notForced are codes that say more than a table knows, those that no POS is answered with, by which nodes send a
// request on to another one, and a defect, which is one for whoever reads the log.
var notForced = []string{
	"after_closing", "batch_refused", "cursor_gone", "invalid_request", "lane_reserved", "method_not_allowed",
	"misdirected_request", "purchase_not_found", "wrong_node",
	"internal",
}

// codes returns the codes that may be forced, sorted.
func (e *ForcedErrors) codes() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e.errors)),
		func(code string) bool { return slices.Contains(notForced, code) })
}

// maxForced is how many requests may be answered with an error: enough for any client's retries.
const maxForced = 100

func (h Handlers) readForced(in *endpoint.Input) forced {
	return forced{
		code:     in.OneOf("code", "The error, by its code", h.Forced.codes()...),
		requests: in.Integer("requests", 0, maxForced, "How many requests are answered with it; 0: none any more", 1),
		reads:    in.Flag("reads", false, "Whether requests by GET are answered with it too"),
	}
}

// force takes effect on the node that runs the range.
func (h Handlers) force(ctx context.Context, _ Range, f forced) (endpoint.Empty, error) {
	h.Forced.set(request.RangeID(ctx), f)
	return endpoint.Empty{}, nil
}

func (e *ForcedErrors) set(rangeID uuid.UUID, f forced) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next[rangeID] = f
	if f.requests == 0 {
		delete(e.next, rangeID)
	}
}

// take returns the code that a request is answered with, and counts it; empty if it is carried out.
func (e *ForcedErrors) take(rangeID uuid.UUID, method string) (code string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f, found := e.next[rangeID]
	if !found || (method == http.MethodGet || method == http.MethodHead) && !f.reads {
		return ""
	}
	if f.requests--; f.requests == 0 {
		delete(e.next, rangeID)
	} else {
		e.next[rangeID] = f
	}
	return f.code
}

// Answer answers requests with the errors that are forced. It stands behind authentication, on the node that owns the
// range. ownPaths begins the paths of the simulation.
func (e *ForcedErrors) Answer(ownPaths string, fail endpoint.FailFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, ownPaths) {
				if code := e.take(request.RangeID(r.Context()), r.Method); code != "" {
					fail(w, r, endpoint.Refuse(code, "simulated: "+e.errors[code].Sentence, 0))
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}
