package routing

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"rangegate/api/request"
	"rangegate/lanes/tracing"
)

// record records the hop of a request. An exchange with an open end has none: it says how long a page was open. What
// the owner has refused or failed to do is an error of its own span.
func (r *Router) record(f *forwarding, i *request.Info, began time.Time) {
	failed := f.outcome != answered && f.outcome != ownedHere && f.outcome != cancelled
	if f.way.openEnd || !r.Tracer.Records(f.span, failed) {
		return
	}
	span := tracing.Span{
		Name:   tracing.Hop,
		Trace:  i.TraceID,
		Place:  f.span,
		Parent: i.Span,
		Kind:   trace.SpanKindClient,
		Began:  began,
		Ended:  time.Now(),
		Attributes: []attribute.KeyValue{
			tracing.RangeID.String(f.rangeID.String()),
			tracing.Node.String(f.owner.Name),
			tracing.Outcome.String(f.outcome),
		},
	}
	if f.status > 0 {
		span.Attributes = append(span.Attributes, tracing.Status.Int(f.status))
	}
	if failed {
		span.Failed = f.outcome
	}
	r.Tracer.Record(span)
}
