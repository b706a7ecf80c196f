package request

import (
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"rangegate/api/endpoint"
	"rangegate/lanes/tracing"
)

// Trace is the middleware that records the span of each request. One without valid credentials, which anybody can send,
// has one only if it failed. A stream has none: it says how long a page was open.
func Trace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, recorder := Of(r.Context()), endpoint.Recorder(w, r)
		next.ServeHTTP(recorder, r)
		status := recorder.Status()
		failed := status >= http.StatusInternalServerError
		if !i.Tracer.Records(i.Span, failed) || !failed && !i.authenticated ||
			recorder.Header().Get("Content-Type") == endpoint.EventStream {
			return
		}
		route := i.Route(r)
		if failed && route == "/readyz" { // it says so again and again, and is no error
			return
		}
		span := tracing.Span{
			Name:   tracing.Request,
			Trace:  i.TraceID,
			Place:  i.Span,
			Parent: i.Parent,
			Remote: true,
			Kind:   trace.SpanKindServer,
			Began:  i.Began,
			Ended:  time.Now(),
		}
		attributes := append(
			make([]attribute.KeyValue, 0, 5),
			tracing.Method.String(atMost(maxLoggedMethod, r.Method)),
			tracing.Route.String(route),
			tracing.Status.Int(status),
		)
		if i.RangeID != uuid.Nil {
			attributes = append(attributes, tracing.RangeID.String(i.RangeID.String()))
		}
		if i.Node != "" {
			attributes = append(attributes, tracing.Node.String(i.Node))
		}
		if span.Attributes = attributes; failed {
			span.Failed = strconv.Itoa(status)
		}
		i.Tracer.Record(span)
	})
}

// Observe observes how long something of the request took, in seconds.
func (i *Info) Observe(histogram prometheus.Observer, seconds float64) {
	i.Tracer.Observe(histogram, seconds, i.TraceID, i.Span)
}
