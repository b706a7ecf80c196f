package redis_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

// BenchmarkFlush flushes 64 ranges at once, a lane and an attempted event each, on a server that syncs every write.
func BenchmarkFlush(b *testing.B) {
	server := redistest.Start(b)
	s, err := redis.Open(b.Context(), server.URL(), retention)
	require.NoError(b, err)
	defer s.Close()
	var left atomic.Int64
	left.Store(int64(b.N))
	var working sync.WaitGroup
	owners := make([]*owner, 64)
	for i := range owners {
		owners[i] = own(b, s)
	}
	before := processorTime(b, server)
	b.ResetTimer()
	for _, o := range owners {
		working.Go(func() {
			for left.Add(-1) >= 0 {
				batch := o.next()
				batch.Events[0].Attempt = &lanes.Attempt{At: opening, Status: 200}
				batch.Holds = nil
				if err := s.Flush(context.Background(), batch); err != nil {
					b.Error(err)
					return
				}
				o.n++
			}
		})
	}
	working.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "flushes/s")
	b.ReportMetric((processorTime(b, server)-before)*1e6/float64(b.N), "server-µs/op")
}
