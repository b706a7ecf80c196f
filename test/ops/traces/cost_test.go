package traces

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"rangegate/test/support"
)

const (
	costLanes  = 16
	costSales  = 50 // of each lane in a round, each with its stop
	costRounds = 6
)

// BenchmarkSale measures what a sale, with its stop and its three deliveries, takes of the gateway's processor time,
// and the 99th percentile of its answer: without traces, with 1 % of them, with all, and with all to a collector that
// never answers. The gateways are processes of their own and are measured in turns.
func BenchmarkSale(b *testing.B) {
	collector, hanging := support.NewCollector(b), support.NewCollector(b)
	collector.Respond(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	hanging.Respond(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	b.Setenv("OTEL_BSP_SCHEDULE_DELAY", "5000")
	modes := []*costMode{
		{name: "off"},
		{name: "off-again"},
		{name: "1pct", telemetry: collector.Setting("sample: 0.01")},
		{name: "all", telemetry: collector.Setting()},
		{name: "hanging", telemetry: hanging.Setting()},
	}
	for _, m := range modes {
		receiver := support.NewReceiver(b)
		config := support.NewConfig(b, support.Lanes(1, costLanes), receiver.Setting())
		config.HTTP, config.Sections = support.NoLimit, []string{m.telemetry}
		m.gateway = config.Serve(b)
		m.sell(b) // warm
		m.cpu, m.p99 = nil, nil
	}
	for b.Loop() {
		for range costRounds {
			for _, m := range modes {
				m.sell(b)
			}
		}
	}
	for _, m := range modes {
		b.ReportMetric(median(m.cpu), m.name+"-cpu-µs/sale")
		b.ReportMetric(median(m.p99), m.name+"-p99-ms")
	}
	b.ReportMetric(0, "ns/op")
}

// costMode is a gateway with one way of tracing.
type costMode struct {
	name, telemetry string
	gateway         *support.Gateway
	cpu, p99        []float64 // of each round
}

// sell is one round.
func (m *costMode) sell(b *testing.B) {
	before, began := m.gateway.Metrics(), make([][]time.Duration, costLanes)
	var clients sync.WaitGroup
	for lane := range costLanes {
		clients.Go(func() {
			for range costSales {
				at := time.Now()
				sold, err := m.gateway.POS().Do("POST", "/sessions", order(lane+1))
				began[lane] = append(began[lane], time.Since(at))
				var session struct {
					ID string `json:"session_id"`
				}
				if err != nil || sold.Status != 201 || json.Unmarshal([]byte(sold.Body), &session) != nil {
					b.Errorf("%s: %d %s %v", m.name, sold.Status, sold.Body, err)
					return
				}
				stopped, err := m.gateway.POS().Do("POST", "/sessions/"+session.ID+"/stop", "")
				if err != nil || stopped.Status != 204 {
					b.Errorf("%s: %d %s %v", m.name, stopped.Status, stopped.Body, err)
					return
				}
			}
		})
	}
	clients.Wait()
	var after support.Metrics
	support.Eventually(b, "everything is delivered", func() bool {
		time.Sleep(50 * time.Millisecond) // a scrape takes processor time, too
		after = m.gateway.Metrics()
		return after.Sum("rangegate_events_waiting") == 0
	})
	const cpu = "process_cpu_seconds_total"
	m.cpu = append(m.cpu, (after.Sum(cpu)-before.Sum(cpu))*1e6/(costLanes*costSales))
	took := slices.Sorted(slices.Values(slices.Concat(began...)))
	m.p99 = append(m.p99, float64(took[len(took)*99/100].Microseconds())/1000)
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}
