package catalog

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"rangegate/lanes"
	"rangegate/lanes/trace"
	"rangegate/lanes/tracing"
)

const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// traced has the requests to the API traced, by the share of traces, and returns the spans that are recorded.
func (r *fixture) traced(share float64) *tracetest.InMemoryExporter {
	spans := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(spans), sdk.WithIDGenerator(tracing.IDs{}),
		sdk.WithSampler(sdk.AlwaysSample()))
	r.client.settings.Tracer = tracing.New(provider.Tracer("test"), tracing.Sampling{Share: share})
	return spans
}

// attributesOf returns the attributes of a span by their names.
func attributesOf(s tracetest.SpanStub) map[attribute.Key]string {
	all := map[attribute.Key]string{}
	for _, a := range s.Attributes {
		all[a.Key] = a.Value.String()
	}
	return all
}

// A request is a span of the trace that needs it, and the integrator is told its place. What has failed is recorded
// although its trace is not; what has not failed is not.
func TestARequestIsASpan(t *testing.T) {
	var traceparent string
	fails := false
	r := newFixture(t, func(w http.ResponseWriter, request *http.Request) {
		traceparent = request.Header.Get("traceparent")
		if fails {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		answer(`[]`)(w, request)
	})
	parent := lanes.Span{ID: [8]byte{7}}
	ctx := trace.WithSpan(t.Context(), traceID, parent)

	spans := r.traced(1)
	_, err := r.client.Fetch(ctx, Time, "")
	require.NoError(t, err)
	require.Len(t, spans.GetSpans(), 1)
	span := spans.GetSpans()[0]
	require.Equal(t, tracing.Products, span.Name)
	require.Equal(t, traceID, span.SpanContext.TraceID().String())
	require.Equal(t, "0700000000000000", span.Parent.SpanID().String())
	require.Equal(t, map[attribute.Key]string{
		tracing.Type: "time", tracing.Outcome: "ok", tracing.Host: "127.0.0.1",
	}, attributesOf(span))
	require.Equal(t, codes.Unset, span.Status.Code)
	require.Equal(t, "00-"+traceID+"-"+span.SpanContext.SpanID().String()+"-01", traceparent)

	spans = r.traced(0)
	_, err = r.client.Fetch(ctx, Time, "")
	require.NoError(t, err)
	require.Empty(t, spans.GetSpans())
	fails = true
	_, err = r.client.Fetch(ctx, Time, "")
	require.Error(t, err)
	require.Len(t, spans.GetSpans(), 1)
	require.Equal(t, codes.Error, spans.GetSpans()[0].Status.Code)
	require.Equal(t, attributesOf(spans.GetSpans()[0])[tracing.Outcome], spans.GetSpans()[0].Status.Description)

	spans = r.traced(1)
	_, err = r.client.Fetch(t.Context(), Time, "")
	require.Error(t, err)
	require.Empty(t, spans.GetSpans(), "it is of no trace")
	require.Empty(t, traceparent, "nor is the integrator told one")
}

// A request that nobody waits for any more has not failed.
func TestAnAbandonedRequestIsNoFailure(t *testing.T) {
	asked := make(chan struct{})
	r := newFixture(t, func(_ http.ResponseWriter, request *http.Request) {
		close(asked)
		<-request.Context().Done()
	})
	ctx, cancel := context.WithCancel(trace.With(t.Context(), traceID))
	spans := r.traced(0)
	go func() {
		<-asked
		cancel()
	}()
	_, err := r.client.Fetch(ctx, Time, "")
	require.Equal(t, context.Canceled, err)
	require.Empty(t, spans.GetSpans())

	spans = r.traced(1)
	r.client.observe(trace.With(t.Context(), traceID), lanes.Span{Sampled: true}, Time, "abandoned", time.Now())
	require.Equal(t, codes.Unset, spans.GetSpans()[0].Status.Code)
}
