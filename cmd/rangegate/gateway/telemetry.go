package gateway

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"rangegate/config"
	"rangegate/lanes/tracing"
)

// The bounds of what traces may take. A collector that is slow or dead fills the queue, and then spans are dropped.
const (
	maxQueuedSpans = 4096
	exportTimeout  = 10 * time.Second // of one post of spans; OTEL_EXPORTER_OTLP_TIMEOUT may be less
	// lastExport is the time of the last post at a stop: what the ranges have left of the 10 s of a stop.
	lastExport = 400 * time.Millisecond
)

// startTelemetry begins to trace where the configuration says so. No connection is made before there are spans. Its
// end, after that of everything that is traced, posts what is left.
func (g *Gateway) startTelemetry(ctx context.Context) error {
	spans := promauto.With(g.registry).NewCounterVec(prometheus.CounterOpts{
		Namespace: "rangegate",
		Name:      "trace_spans_total",
		Help: "Spans by what became of them: exported to the collector, failed (it could not be reached, or refused " +
			"them), or dropped, because too many waited for it. None without telemetry; nothing else waits for the " +
			"collector. Normal is exported alone.",
	}, []string{"outcome"})
	for _, outcome := range []string{"exported", "failed", "dropped"} {
		spans.WithLabelValues(outcome)
	}
	t := g.settings.Config.Telemetry
	if t == nil {
		return nil
	}
	collector, err := otlptracehttp.New(ctx, collectorOptions(*t)...)
	if err != nil {
		return Misconfigured{err}
	}
	life, end := context.WithCancel(context.Background())
	counts := &spanCounts{spans: spans}
	post := &spanPost{SpanExporter: collector, spanCounts: counts, log: g.log, life: life}
	queue := spanQueue{
		sdk.NewBatchSpanProcessor(post, sdk.WithMaxQueueSize(maxQueuedSpans), sdk.WithExportTimeout(exportTimeout)),
		counts,
	}
	limits := sdk.NewSpanLimits()
	limits.LinkCountLimit = maxLinks
	provider := sdk.NewTracerProvider(
		sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithIDGenerator(tracing.IDs{}),
		sdk.WithSpanProcessor(queue),
		sdk.WithRawSpanLimits(limits),
		sdk.WithResource(resource.NewSchemaless(resourceOf(*t, g.version, g.settings.Config.Nodes)...)),
	)
	g.tracer = tracing.New(
		provider.Tracer("rangegate"),
		tracing.Sampling{Share: float64(*t.Sample), ByParent: t.Sampler == config.ParentDecides},
	)
	g.onClose(func() error {
		defer end()
		defer time.AfterFunc(lastExport, end).Stop()
		_ = provider.Shutdown(context.Background()) // what the collector has not taken by then is lost, and counted
		return nil
	})
	return nil
}

// maxLinks is at least the number of writes in one flush.
const maxLinks = 4096

// resourceOf returns what every span is of.
func resourceOf(t config.Telemetry, version string, nodes *config.Nodes) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("service.version", version)}
	if nodes != nil {
		all = append(all, attribute.String("service.instance.id", nodes.Name))
	}
	for _, given := range t.Attributes {
		name, value, _ := strings.Cut(given, "=")
		all = append(all, attribute.String(strings.TrimSpace(name), strings.TrimSpace(value)))
	}
	return append(all, attribute.String("service.name", t.Service)) // of two with one name the last counts
}

// spanCounts counts what becomes of spans: each once, as exported, failed or dropped.
type spanCounts struct {
	spans   *prometheus.CounterVec
	waiting atomic.Int64 // for the collector, with those of the post under way
}

// spanQueue is the library's queue with a bound of its own: that says nothing of what it drops.
type spanQueue struct {
	sdk.SpanProcessor
	*spanCounts
}

// OnEnd queues a span, or drops it. It does not block. The library's queue has room: what is being posted is not in it
// any more.
func (q spanQueue) OnEnd(span sdk.ReadOnlySpan) {
	if q.waiting.Add(1) > maxQueuedSpans {
		q.waiting.Add(-1)
		q.spans.WithLabelValues("dropped").Inc()
		return
	}
	q.SpanProcessor.OnEnd(span)
}

// spanPost posts spans to the collector, one batch at a time.
type spanPost struct {
	sdk.SpanExporter
	*spanCounts
	log     zerolog.Logger
	life    context.Context // until which posts may take
	failing bool            // the last one failed
}

// ExportSpans logs the first of several failures, and returns none: the library would write each to standard error.
func (p *spanPost) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	defer p.waiting.Add(-int64(len(spans)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	err := p.SpanExporter.ExportSpans(ctx, spans)
	outcome := "exported"
	if err != nil {
		outcome = "failed"
	}
	p.spans.WithLabelValues(outcome).Add(float64(len(spans)))
	switch {
	case err != nil && !p.failing:
		reason := err.Error()
		p.log.Warn().Str("error", reason[:min(len(reason), maxReason)]).Int("spans", len(spans)).
			Msg("traces: the collector did not take them; they are lost, and nothing waits for it")
	case err == nil && p.failing:
		p.log.Info().Msg("traces: the collector takes them again")
	}
	p.failing = err != nil
	return nil
}

// maxReason bounds what a line of the log has of the collector's own text.
const maxReason = 300
