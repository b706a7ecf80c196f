// Package tracing records spans of OpenTelemetry. Only package gateway knows where they go.
//
// A span is recorded once it is over. What lies below it needs no more than its place, a lanes.Span, which is drawn
// when it begins:
//
//	place := tracer.Begin(traceID, parent)            sampled as the parent, or by the share of traces
//	…                                                 what it causes has place as the parent
//	if tracer.Records(place, failed) {                no attribute is made before
//		tracer.Record(tracing.Span{Place: place, …})
//	}
//
// So a request that is not sampled costs its place, and what has failed is recorded although its trace is not: that
// is known when the span is. A nil *Tracer records nothing; then Begin returns the parent, which goes on to whoever is
// asked next.
package tracing

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"rangegate/lanes"
)

// Sampling says which traces are recorded.
type Sampling struct {
	Share    float64 // of the traces, 0 to 1
	ByParent bool    // a parent decides instead, where there is one
}

// Tracer records spans. Its methods may be called from any goroutine, and do not block.
type Tracer struct {
	spans    trace.Tracer
	byParent bool
	least    uint64 // the randomness from which on a trace is sampled
}

// New returns a Tracer that records with spans, whose provider draws ids with IDs and samples everything.
func New(spans trace.Tracer, s Sampling) *Tracer {
	return &Tracer{spans: spans, byParent: s.ByParent, least: uint64(math.Round((1 - s.Share) * randomness))}
}

// randomness is how many values the random part of a trace id has: its last 56 bits, as in W3C Trace Context level 2.
// The variant of a UUID is before them.
const randomness = 1 << 56

// Begin returns the place of a span that begins now in the trace, below the parent, which is zero for the first
// one. It is sampled as the parent, or by the share of traces.
func (t *Tracer) Begin(traceID string, parent lanes.Span) lanes.Span {
	if t == nil || traceID == "" {
		return parent
	}
	begun := lanes.Span{Sampled: parent.Sampled}
	binary.BigEndian.PutUint64(begun.ID[:], rand.Uint64()|1) // zero is none
	if !t.byParent || parent == (lanes.Span{}) {
		begun.Sampled = t.samples(traceID)
	}
	return begun
}

// samples reports whether the trace is within the share. Every process with the same share says the same of it.
func (t *Tracer) samples(traceID string) bool {
	if len(traceID) != hexTrace {
		return false
	}
	random, err := strconv.ParseUint(traceID[hexTrace-14:], 16, 64)
	return err == nil && random >= t.least
}

// Records reports whether a span at that place is recorded: it is sampled, or has failed.
func (t *Tracer) Records(place lanes.Span, failed bool) bool {
	return t != nil && (failed || place.Sampled)
}

// Span is a span that is over.
type Span struct {
	Name         string // see names.go
	Trace        string // its trace id
	Place        lanes.Span
	Parent       lanes.Span // zero: it is the first one of its trace, as far as is known
	Remote       bool       // the parent is in another process
	Kind         trace.SpanKind
	Began, Ended time.Time
	Attributes   []attribute.KeyValue
	Links        []trace.Link
	Failed       string // why, in one word; empty: it has not
}

// Record records it. A place that is zero is drawn.
func (t *Tracer) Record(s Span) {
	if t == nil {
		return
	}
	parent := contextOf(s.Trace, s.Parent).WithRemote(s.Remote)
	ctx := context.Context(&beginning{Context: context.Background(), trace: parent.TraceID(), span: s.Place.ID})
	if parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, parent)
	}
	options := make([]trace.SpanStartOption, 0, 4)
	options = append(
		options,
		trace.WithTimestamp(s.Began),
		trace.WithSpanKind(s.Kind),
		trace.WithAttributes(s.Attributes...),
	)
	if len(s.Links) > 0 {
		options = append(options, trace.WithLinks(s.Links...))
	}
	_, span := t.spans.Start(ctx, s.Name, options...)
	if s.Failed != "" {
		span.SetStatus(codes.Error, s.Failed)
		span.SetAttributes(Cause.String(s.Failed))
	}
	span.End(trace.WithTimestamp(latest(s.Began, s.Ended)))
}

// latest keeps a span from ending before it began, where the wall clock was set in between.
func latest(began, ended time.Time) time.Time {
	if ended.Before(began) {
		return began
	}
	return ended
}

// Link is a link to the span at that place of the trace.
func Link(traceID string, place lanes.Span) trace.Link {
	return trace.Link{SpanContext: contextOf(traceID, place)}
}

func contextOf(traceID string, place lanes.Span) trace.SpanContext {
	config := trace.SpanContextConfig{SpanID: place.ID}
	if len(traceID) == hexTrace {
		_, _ = hex.Decode(config.TraceID[:], []byte(traceID)) // zero, which is none, if it is no id
	}
	if place.Sampled {
		config.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(config)
}

// Observe observes seconds, with the trace as its exemplar if that is recorded.
func (t *Tracer) Observe(histogram prometheus.Observer, seconds float64, traceID string, place lanes.Span) {
	if t != nil && place.Sampled && traceID != "" {
		if with, ok := histogram.(prometheus.ExemplarObserver); ok {
			with.ObserveWithExemplar(seconds, prometheus.Labels{"trace_id": traceID})
			return
		}
	}
	histogram.Observe(seconds)
}

// beginning is the context in which a span begins. It knows the ids that the span has to get.
type beginning struct {
	context.Context
	trace trace.TraceID
	span  trace.SpanID
}

type beginningKey struct{}

// Value implements context.Context.
func (b *beginning) Value(key any) any {
	if key == (beginningKey{}) {
		return b
	}
	return b.Context.Value(key)
}

// IDs gives spans the ids that their places have. It is the id generator of the provider.
type IDs struct{}

// NewIDs returns the ids of the first span of a trace.
func (IDs) NewIDs(ctx context.Context) (traceID trace.TraceID, spanID trace.SpanID) {
	if b, ok := ctx.Value(beginningKey{}).(*beginning); ok {
		traceID, spanID = b.trace, b.span
	}
	if !traceID.IsValid() {
		binary.BigEndian.PutUint64(traceID[:8], rand.Uint64())
		binary.BigEndian.PutUint64(traceID[8:], rand.Uint64()|1)
	}
	if !spanID.IsValid() {
		spanID = newSpanID()
	}
	return traceID, spanID
}

// NewSpanID returns the id of a span below another one.
func (IDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if b, ok := ctx.Value(beginningKey{}).(*beginning); ok && b.span.IsValid() {
		return b.span
	}
	return newSpanID()
}

func newSpanID() (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}
