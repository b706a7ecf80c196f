package redis_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

// BenchmarkFlush flushes 64 ranges at once, a lane and an attempted event each, on a server that syncs every write.
func BenchmarkFlush(b *testing.B) {
	server := redistest.Start(b)
	s, err := redis.Open(b.Context(), server.URL(), retention)
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
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

// BenchmarkBusyRange flushes, by turns, the end of a session on 32 lanes of one range, with two events each, and the
// attempts of these. The logs are at their cap most of the time.
func BenchmarkBusyRange(b *testing.B) {
	server := redistest.Start(b, "--auto-aof-rewrite-percentage", "0") // no rewrites during the measurement
	s, err := redis.Open(b.Context(), server.URL(), store.Retention{
		Events: 24 * time.Hour, History: 24 * time.Hour, Names: 24 * time.Hour, Cap: 10_000,
	})
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	o := own(b, s)
	ids := make([]uuid.UUID, 10_000)
	for i := range ids {
		ids[i] = uuid.New()
	}
	var batch store.Batch
	before := processorTime(b, server)
	for b.Loop() {
		if o.n%2 == 0 {
			batch = endSessions(o, ids)
		} else {
			batch.N, batch.Lanes, batch.Ended = o.n+1, nil, nil
			for i := range batch.Events {
				batch.Events[i].Attempt = &lanes.Attempt{At: opening, Status: 204}
			}
		}
		if err := s.Flush(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		o.n++
	}
	b.ReportMetric((processorTime(b, server)-before)*1e6/float64(b.N), "server-µs/op")
}

// endSessions returns a flush that ends 32 sessions, on lanes with these ids.
func endSessions(o *owner, ids []uuid.UUID) store.Batch {
	const count = 32
	batch := store.Batch{Range: o.rangeID, Epoch: o.epoch, N: o.n + 1, Now: opening}
	for i := range uint64(count) {
		cursor := o.n*count + i + 1
		lane := lanes.Lane{ID: ids[cursor%uint64(len(ids))]}
		session := lanes.Session{
			ID: uuid.New(), Group: lane.ID, Customer: "Jo Smith", Sold: time.Hour, Phase: lanes.Running,
			Left: time.Hour,
		}
		lane.Session = &session
		batch.Lanes = append(batch.Lanes, lanes.Snapshot{Boot: "boot", Lane: lane})
		batch.Ended = append(batch.Ended, lanes.Ended{Cursor: cursor, Session: session, Lane: lane.ID, At: opening})
		for j, kind := range []lanes.Kind{lanes.SessionModified, lanes.SessionStopped} {
			batch.Events = append(batch.Events, lanes.Logged{Cursor: 2*cursor + uint64(j), Event: lanes.Event{
				ID: uuid.New(), Kind: kind, Session: session.ID, Lane: lane.ID, At: opening,
			}})
		}
	}
	return batch
}

// processorTime is the processor time that the server has used, in seconds.
func processorTime(b *testing.B, server *redistest.Server) (seconds float64) {
	b.Helper()
	options, err := goredis.ParseURL(server.URL())
	require.NoError(b, err)
	c := goredis.NewClient(options)
	defer func() { require.NoError(b, c.Close()) }()
	stats, err := c.Info(b.Context(), "cpu").Result()
	require.NoError(b, err)
	for line := range strings.Lines(stats) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			part, err := strconv.ParseFloat(value, 64)
			require.NoError(b, err)
			seconds += part
		}
	}
	return seconds
}
