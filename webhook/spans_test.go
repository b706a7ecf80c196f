package webhook

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"rangegate/lanes"
	"rangegate/lanes/tracing"
)

// traced has a client's attempts traced, by the share of traces, and returns the spans that are recorded.
func traced(share float64) (spans *tracetest.InMemoryExporter, change func(*Settings)) {
	spans = tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(spans), sdk.WithIDGenerator(tracing.IDs{}),
		sdk.WithSampler(sdk.AlwaysSample()))
	return spans, func(s *Settings) {
		s.Tracer = tracing.New(provider.Tracer("test"), tracing.Sampling{Share: share})
	}
}

// An attempt is a span: with the status of the answer if there is one, and with the webhook's name if it has one. What
// has failed is recorded although its trace is not; what has not failed is not.
func TestAnAttemptIsASpan(t *testing.T) {
	status := http.StatusNoContent
	r := startReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	attributes := func(s tracetest.SpanStub) map[attribute.Key]string {
		all := map[attribute.Key]string{}
		for _, a := range s.Attributes {
			all[a.Key] = a.Value.String()
		}
		return all
	}
	named := func(s *Settings) { s.Name = "till" }

	spans, sampled := traced(1)
	attempt(t, newClient(t, r.URL, sampled, named))
	require.Len(t, spans.GetSpans(), 1)
	span := spans.GetSpans()[0]
	require.Equal(t, tracing.Webhook, span.Name)
	require.Equal(t, codes.Unset, span.Status.Code)
	has := attributes(span)
	require.Equal(t, []string{"204", "till", string(lanes.Help)},
		[]string{has[tracing.Status], has[tracing.Name], has[tracing.Event]})

	spans, unsampled := traced(0)
	attempt(t, newClient(t, r.URL, unsampled))
	require.Empty(t, spans.GetSpans())
	status = http.StatusTeapot
	attempt(t, newClient(t, r.URL, unsampled))
	require.Len(t, spans.GetSpans(), 1)
	span = spans.GetSpans()[0]
	require.Equal(t, codes.Error, span.Status.Code)
	require.Equal(t, "418", attributes(span)[tracing.Status])
	require.NotContains(t, attributes(span), tracing.Name)

	r.Close()
	spans, sampled = traced(1)
	attempt(t, newClient(t, r.URL, sampled))
	require.Equal(t, codes.Error, spans.GetSpans()[0].Status.Code)
	require.NotContains(t, attributes(spans.GetSpans()[0]), tracing.Status, "nobody has answered")
}
