package gateway

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/tracing"
)

// spansOfSale is how many spans a sale with its stop has: two requests, four of the lane, two states, three deliveries,
// and two flushes, which under load many sales share.
const spansOfSale = 13

// BenchmarkTraceOfSale measures the processor time that the spans of one sale with its stop take, from their places to
// the body that is posted, with the collector that throws it away: when nothing is traced, one trace in a hundred, and
// all of them.
func BenchmarkTraceOfSale(b *testing.B) {
	b.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer collector.Close()
	for name, share := range map[string]config.Share{"off": -1, "1pct": .01, "all": 1} {
		b.Run(name, func(b *testing.B) {
			g := &Gateway{registry: prometheus.NewRegistry(), log: zerolog.Nop()}
			if share >= 0 {
				g.settings.Config.Telemetry = &config.Telemetry{
					Endpoint: collector.URL, Sample: &share, Sampler: config.ParentDecides, Service: "rangegate",
				}
			}
			require.NoError(b, g.startTelemetry(b.Context()))
			defer func() { require.NoError(b, g.Close()) }()
			b.ReportAllocs()
			recorded, taken, before := 0, 0, processorTime(b)
			for b.Loop() {
				recorded += recordSale(g.tracer)
				if recorded-taken >= maxQueuedSpans/2 { // the queue is never full
					taken = awaitExported(b, g, recorded)
				}
			}
			awaitExported(b, g, recorded)
			b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/sale")
		})
	}
}

// recordSale records the spans of a sale, and returns how many those are.
func recordSale(tracer *tracing.Tracer) (recorded int) {
	id, now, some := tracing.NewTrace(), time.Now(), uuid.New()
	request := tracer.Begin(id, lanes.Span{})
	for range spansOfSale {
		if tracer.Records(request, false) {
			recorded++
			tracer.Record(tracing.Span{
				Name: tracing.Decide, Trace: id, Place: tracer.Begin(id, request), Parent: request,
				Began: now, Ended: now,
				Attributes: append(make([]attribute.KeyValue, 0, 6),
					tracing.RangeID.String(some.String()), tracing.LaneID.String(some.String()),
					tracing.SessionID.String(some.String()), tracing.EventID.String(hex.EncodeToString(some[:])),
					tracing.Command.String("create"), tracing.Outcome.String("ok")),
			})
		}
	}
	return recorded
}

// awaitExported waits until the collector has taken so many spans.
func awaitExported(b *testing.B, g *Gateway, many int) int {
	for exported(b, g) < many {
		time.Sleep(5 * time.Millisecond)
	}
	return many
}

// exported is how many spans the collector has taken.
func exported(b *testing.B, g *Gateway) int {
	families, err := g.registry.Gather()
	require.NoError(b, err)
	for _, family := range families {
		for _, metric := range family.Metric {
			if label(metric, "outcome") == "exported" {
				return int(metric.Counter.GetValue())
			}
		}
	}
	return 0
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.Label {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// processorTime is what this process has had.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
