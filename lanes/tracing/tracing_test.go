package tracing

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"rangegate/lanes"
)

const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// recorded returns a Tracer and what it records.
func recorded(s Sampling) (*Tracer, *tracetest.InMemoryExporter) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(
		sdk.WithSyncer(spans),
		sdk.WithIDGenerator(IDs{}),
		sdk.WithSampler(sdk.AlwaysSample()),
	)
	return New(provider.Tracer("test"), s), spans
}

func TestASpanIsSampledAsItsParentOrByTheShare(t *testing.T) {
	yes, no := lanes.Span{ID: [8]byte{1}, Sampled: true}, lanes.Span{ID: [8]byte{1}}
	for _, c := range []struct {
		sampling Sampling
		parent   lanes.Span
		sampled  bool
	}{
		{Sampling{Share: 1, ByParent: true}, lanes.Span{}, true},
		{Sampling{Share: 0, ByParent: true}, lanes.Span{}, false},
		{Sampling{Share: 0, ByParent: true}, yes, true},
		{Sampling{Share: 1, ByParent: true}, no, false},
		{Sampling{Share: 0}, yes, false},
		{Sampling{Share: 1}, no, true},
	} {
		tracer, _ := recorded(c.sampling)
		begun := tracer.Begin(traceID, c.parent)
		require.Equal(t, c.sampled, begun.Sampled, c)
		require.NotZero(t, begun.ID)
		require.NotEqual(t, c.parent.ID, begun.ID)
	}
}

// A trace is drawn by the end of its id, which in the ids of events, UUIDs, is as random as in others.
func TestTheShareOfTracesIsThatOfEveryKind(t *testing.T) {
	tracer, _ := recorded(Sampling{Share: .1})
	for name, draw := range map[string]func(n uint64) string{
		"requests": func(uint64) string { return NewTrace() },
		"events": func(n uint64) string {
			return strings.ReplaceAll(lanes.EventID(uuid.UUID{1}, n).String(), "-", "")
		},
	} {
		sampled := 0
		for n := range uint64(20_000) {
			if tracer.Begin(draw(n), lanes.Span{}).Sampled {
				sampled++
			}
		}
		require.InDelta(t, 2_000, sampled, 300, name) // seven standard deviations
	}
}

func TestASpanHasTheIDsOfItsPlace(t *testing.T) {
	tracer, spans := recorded(Sampling{Share: 1, ByParent: true})
	caller := Parent("00-" + traceID + "-00f067aa0ba902b7-01")
	request := tracer.Begin(traceID, caller)
	decision := tracer.Begin(traceID, request)
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	tracer.Record(
		Span{
			Name:   Decide,
			Trace:  traceID,
			Place:  decision,
			Parent: request,
			Began:  began,
			Ended:  began.Add(time.Second),
		},
	)
	tracer.Record(
		Span{
			Name:   Request,
			Trace:  traceID,
			Place:  request,
			Parent: caller,
			Remote: true,
			Began:  began,
			Ended:  began.Add(-time.Hour),
			Failed: "503",
		},
	)
	tracer.Record(Span{Name: Flush, Began: began, Ended: began, Links: []trace.Link{Link(traceID, request)}})

	inner, outer, flush := spans.GetSpans()[0], spans.GetSpans()[1], spans.GetSpans()[2]
	require.Equal(t, traceID, inner.SpanContext.TraceID().String())
	require.Equal(t, trace.SpanID(decision.ID), inner.SpanContext.SpanID())
	require.Equal(t, trace.SpanID(request.ID), inner.Parent.SpanID())
	require.False(t, inner.Parent.IsRemote())
	require.Equal(t, time.Second, inner.EndTime.Sub(inner.StartTime))
	require.Equal(t, codes.Unset, inner.Status.Code)

	require.Equal(t, trace.SpanID(request.ID), outer.SpanContext.SpanID())
	require.Equal(t, "00f067aa0ba902b7", outer.Parent.SpanID().String())
	require.True(t, outer.Parent.IsRemote())
	require.Zero(t, outer.EndTime.Sub(outer.StartTime), "the wall clock was set back")
	require.Equal(t, codes.Error, outer.Status.Code)
	require.Contains(t, outer.Attributes, Cause.String("503"))

	require.NotEqual(t, traceID, flush.SpanContext.TraceID().String())
	require.False(t, flush.Parent.IsValid())
	require.Equal(t, trace.SpanID(request.ID), flush.Links[0].SpanContext.SpanID())
}

func TestATraceOfAnEventIsNeverZero(t *testing.T) {
	emptiest := lanes.Logged{Event: lanes.Event{ID: uuid.UUID{6: 0x50, 8: 0x80}}} // of the variant that all of them are
	tracer, _ := recorded(Sampling{})
	for _, tracer := range []*Tracer{nil, tracer} {
		id, parent, place := tracer.BeginEvent(emptiest)
		require.Equal(t, "00000000000050008000000000000000", id)
		require.Zero(t, parent)
		require.NotZero(t, place.ID)
	}
	id, _, place := (*Tracer)(nil).BeginEvent(emptiest)
	require.Equal(t, "00-00000000000050008000000000000000-8000000000000000-01", Header(id, place))
}

func TestAHeaderNamesThePlace(t *testing.T) {
	for _, flags := range []string{"01", "00"} {
		header := "00-" + traceID + "-00f067aa0ba902b7-" + flags
		require.Equal(t, header, Header(traceID, Parent(header)))
	}
	require.Zero(t, Parent(""))
	require.True(t, Parent("01-"+traceID+"-00f067aa0ba902b7-03-later").Sampled)
}

// Without telemetry, and for what is not sampled, nothing is made of a span but its place.
func TestWhatIsNotTracedAllocatesNothing(t *testing.T) {
	unsampled, _ := recorded(Sampling{})
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds"})
	for name, tracer := range map[string]*Tracer{"off": nil, "not sampled": unsampled} {
		allocated := testing.AllocsPerRun(1000, func() {
			place := tracer.Begin(traceID, lanes.Span{})
			if tracer.Records(place, false) {
				t.Error("it is recorded")
			}
			tracer.Observe(histogram, .001, traceID, place)
		})
		require.Zero(t, allocated, name)
	}
	require.True(t, unsampled.Records(lanes.Span{}, true), "what has failed")
	require.False(t, (*Tracer)(nil).Records(lanes.Span{Sampled: true}, true))
}

// A trace that is recorded is the exemplar of what it took.
func TestExemplarsAreOfTracesThatAreRecorded(t *testing.T) {
	for share, exemplars := range map[float64]int{0: 0, 1: 1} {
		tracer, _ := recorded(Sampling{Share: share})
		histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds", Buckets: []float64{1}})
		tracer.Observe(histogram, .5, traceID, tracer.Begin(traceID, lanes.Span{}))
		var shown dto.Metric
		require.NoError(t, histogram.Write(&shown))
		require.EqualValues(t, 1, shown.Histogram.GetSampleCount())
		found := 0
		for _, bucket := range shown.Histogram.Bucket {
			if bucket.Exemplar != nil {
				require.Equal(t, traceID, bucket.Exemplar.Label[0].GetValue())
				found++
			}
		}
		require.Equal(t, exemplars, found)
	}
}

func BenchmarkSpan(b *testing.B) {
	unsampled, _ := recorded(Sampling{})
	provider := sdk.NewTracerProvider(sdk.WithIDGenerator(IDs{}), sdk.WithSampler(sdk.AlwaysSample()))
	all := New(provider.Tracer("test"), Sampling{Share: 1})
	for _, c := range []struct {
		name   string
		tracer *Tracer
	}{{"off", nil}, {"unsampled", unsampled}, {"sampled", all}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			began := time.Now()
			for b.Loop() {
				place := c.tracer.Begin(traceID, lanes.Span{})
				if c.tracer.Records(place, false) {
					c.tracer.Record(Span{Name: Decide, Trace: traceID, Place: place, Began: began, Ended: began})
				}
			}
		})
	}
}

func ExampleHeader() {
	fmt.Println(Header(traceID, lanes.Span{ID: [8]byte{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7}, Sampled: true}))
	// Output: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
}
