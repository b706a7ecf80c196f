package gateway

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors"
	"rangegate/actors/clock/clocktest"
	"rangegate/actors/metrics"
	"rangegate/api"
	"rangegate/api/control"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes/link/sim"
	"rangegate/webhook"
)

// BenchmarkRuntime is what a node of a large installation builds for all ranges, at its start and at a reload
// that changes one of them: 10,000 ranges with 10 lanes each. The heap is what stays of it, without the
// configuration.
func BenchmarkRuntime(b *testing.B) {
	const ranges, lanesPerRange = 10_000, 10
	configured := manyRanges(ranges, lanesPerRange)
	s := newTestService(b)
	start := func() *gatewayRuntime {
		built, _, err := s.build(configured, nil)
		require.NoError(b, err)
		s.activate(built)
		return built
	}
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			before := heapInUse()
			built := start()
			b.ReportMetric(float64(heapInUse()-before)/ranges, "heap-B/range")
			built.cancel()
			s.current.Store(&gatewayRuntime{})
		}
	})
	b.Run("reload", func(b *testing.B) {
		running := start()
		for b.Loop() {
			changed := configured
			changed.Ranges = slices.Clone(configured.Ranges)
			changed.Ranges[7].Name += "!"
			next, _, err := s.build(changed, running)
			require.NoError(b, err)
			s.activate(next)
			running.cancel()
			running, configured = next, changed
		}
	})
}

func manyRanges(ranges, lanesPerRange int) config.Config {
	c := config.Config{Environment: config.InPlayground}
	limit := config.Limit(100)
	c.HTTP.Limits = config.Limits{Requests: &limit, Burst: &limit, Failures: &limit, Waiting: &limit}
	for i := range ranges {
		r := config.Range{
			ID: uuid.New(), Name: fmt.Sprintf("Range %d", i), LinkGrace: 30 * time.Second,
			Tokens: []config.RangeToken{{Token: config.Secret(uuid.NewString())}},
			Webhook: &config.Webhook{
				URL:     fmt.Sprintf("https://pos-%d.example/webhook", i),
				Secrets: []config.Secret{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
				Timeout: 10 * time.Second, Concurrency: 16, Queue: 10_000,
			},
			Products: &config.Products{URL: fmt.Sprintf("https://pos-%d.example", i), Timeout: 5 * time.Second},
			Staff:    []config.Staff{{Name: "sam", PinHash: "x"}, {Name: "kim", PinHash: "y"}},
		}
		for j := range lanesPerRange {
			r.Lanes = append(r.Lanes, config.Lane{
				ID: uuid.New(), Name: fmt.Sprintf("Lane %d", j+1), Accessible: true,
				ScreenKey: "0123456789abcdefghijkl",
				Link: config.Link{
					Driver:  config.DriverWebSocket,
					Address: fmt.Sprintf("wss://10.%d.%d.%d:7400/lane", i/250, i%250, j),
					Key:     "0123456789abcdefghijkl",
				},
			})
		}
		c.Ranges = append(c.Ranges, r)
	}
	return c
}

// newTestService is a gateway without a store, whose ranges never run.
func newTestService(t testing.TB) *Gateway {
	registry := prometheus.NewRegistry()
	machine, counts := clocktest.New(), metrics.New(registry)
	s := &Gateway{
		log: zerolog.Nop(), clock: machine, actors: actors.NewGateway(machine, nil, counts, zerolog.Nop()),
		hardware: sim.New(machine.Now),
		attempts: control.NewAttempts(registry), registry: registry, counts: counts,
		webhooks: webhook.NewMetrics(registry),
		catalog:  catalog.NewMetrics(registry), traffic: api.NewTraffic(registry), limiters: api.NewLimiters(),
	}
	t.Cleanup(func() { require.NoError(t, s.actors.Stop(t.Context())) })
	return s
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
