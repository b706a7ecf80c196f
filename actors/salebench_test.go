package actors

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
)

// forgetful is a store that takes everything at once and keeps nothing.
type forgetful struct{ store.Store }

func (forgetful) Claim(context.Context, uuid.UUID, time.Time) (uint64, error) { return 1, nil }

func (forgetful) Load(context.Context, uuid.UUID) (store.Recovered, error) {
	return store.Recovered{}, nil
}

func (forgetful) Flush(context.Context, store.Batch) error { return nil }

// BenchmarkSale sells and stops sessions on 1,000 lanes, 16 at a time: all of it but HTTP and the store.
func BenchmarkSale(b *testing.B) {
	clock, err := NewSystemClock()
	require.NoError(b, err)
	g := NewGateway(clock, forgetful{}, NewMetrics(prometheus.NewRegistry()), zerolog.Nop())
	layout := lanes.Layout{Range: uuid.New(), Groups: []lanes.Group{{ID: uuid.New()}}, Lanes: places(1000)}
	require.NoError(b, g.StartRange(b.Context(), Settings{
		Layout: layout, Grace: time.Minute, Driver: sim.New(clock.Now), Delivery: Delivery{Slots: 1, Queue: 1},
	}))
	b.Cleanup(func() { require.NoError(b, g.Stop(context.Background())) })
	r, err := g.Range(layout.Range)
	require.NoError(b, err)
	for !g.Ready(1) {
		time.Sleep(time.Millisecond)
	}
	var clients sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for client := range 16 {
		clients.Go(func() {
			for n := client; n < b.N; n += 16 { // each has lanes of its own
				sale := lanes.Create{Session: uuid.New(), Group: layout.Groups[0].ID, Customer: "Jo Smith", Minutes: 60, AutoStart: true}
				_, err := r.Create(b.Context(), layout.Lanes[n%992].ID, sale, nil)
				assert.NoError(b, err)
				_, err = r.On(b.Context(), sale.Session, lanes.Stop{Session: sale.Session, By: lanes.ByPOS}, nil)
				assert.NoError(b, err)
			}
		})
	}
	clients.Wait()
}
