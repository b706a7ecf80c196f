package actors

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"rangegate/lanes"
)

// BenchmarkSale sells and stops sessions on 1,000 lanes, 16 at a time: all of it but HTTP and the store.
func BenchmarkSale(b *testing.B) {
	layout := lanes.Layout{Groups: []lanes.Group{{ID: uuid.New()}}, Lanes: places(1000)}
	r := benchRange(b, stores[0].on, Settings{Layout: layout, Delivery: Delivery{Slots: 1, Queue: 1}})
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
