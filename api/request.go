package api

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/lanes/trace"
)

// request is what is learned of a request on its way, by the goroutine that serves it and by no other.
type request struct {
	log     *zerolog.Logger
	began   time.Time
	trace   string
	from    string    // the address
	rangeID uuid.UUID // uuid.Nil until it is known
	route   string    // see routeOf
}

type requestKey struct{}

// requestOf is nil outside of a request.
func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// carried is what every request carries with it: its trace id, for whoever works for it, and what is learned of it.
func carried(log zerolog.Logger) func(context.Context, string) context.Context {
	return func(ctx context.Context, traceID string) context.Context {
		return context.WithValue(trace.With(ctx, traceID), requestKey{}, &request{log: &log, began: time.Now(), trace: traceID})
	}
}

// note tells the request's log which range it is for.
func note(ctx context.Context, rangeID uuid.UUID) {
	if r := requestOf(ctx); r != nil {
		r.rangeID = rangeID
	}
}

// rangeOf is the range that the request was authenticated for.
func rangeOf(ctx context.Context) uuid.UUID {
	if r := requestOf(ctx); r != nil {
		return r.rangeID
	}
	return uuid.Nil
}

// routed tells the request's log and its counts which route it has come by. What is no endpoint of an API does not say so.
func routed(ctx context.Context, route string) {
	if r := requestOf(ctx); r != nil {
		r.route = route
	}
}

// routeOf is the pattern of the path that the request was found under, or of as much of it as was: asked once it has
// found its way.
func (q *request) routeOf(r *http.Request) string {
	if q.route == "" {
		q.route = chi.RouteContext(r.Context()).RoutePattern()
	}
	return q.route
}

// addressOf is where the request comes from.
func addressOf(ctx context.Context) string {
	if r := requestOf(ctx); r != nil {
		return r.from
	}
	return ""
}

// logOf is a log for whoever works for the request: its lines have the trace id, and the range.
func logOf(ctx context.Context) *zerolog.Logger {
	r := requestOf(ctx)
	if r == nil {
		nowhere := zerolog.Nop()
		return &nowhere
	}
	with := r.log.With().Str("trace_id", r.trace)
	if r.rangeID != uuid.Nil {
		with = with.Stringer("range", r.rangeID)
	}
	log := with.Logger()
	return &log
}
