package redis_test

import (
	"strconv"
	"strings"
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

// BenchmarkBusyRange flushes what 32 lanes of one range do at once, by turns: on each a session ends, which makes two
// events, and the attempts of these. Its logs are at their cap most of the time.
func BenchmarkBusyRange(b *testing.B) {
	server := redistest.Start(b, "--auto-aof-rewrite-percentage", "0") // which would take its time now and then
	s, err := redis.Open(b.Context(), server.URL(), store.Retention{
		Events: 24 * time.Hour, History: 24 * time.Hour, Names: 24 * time.Hour, Cap: 10_000,
	})
	require.NoError(b, err)
	defer s.Close()
	o := own(b, s)
	ids := make([]uuid.UUID, 10_000)
	for i := range ids {
		ids[i] = uuid.New()
	}
	var batch store.Batch
	before := processorTime(b, server)
	for b.Loop() {
		if o.n%2 == 0 {
			batch = ends(o, ids)
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

// ends is a flush of 32 sessions that end, on lanes with one of these ids.
func ends(o *owner, ids []uuid.UUID) store.Batch {
	const together = 32
	batch := store.Batch{Range: o.rangeID, Epoch: o.epoch, N: o.n + 1, Now: opening}
	for i := range uint64(together) {
		cursor := o.n*together + i + 1
		lane := lanes.Lane{ID: ids[cursor%uint64(len(ids))]}
		session := lanes.Session{
			ID: uuid.New(), Group: lane.ID, Customer: "Jo Smith", Sold: time.Hour, Phase: lanes.Running, Left: time.Hour,
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

// processorTime is what the server has taken of a processor, in seconds.
func processorTime(b *testing.B, of *redistest.Server) (seconds float64) {
	b.Helper()
	options, err := goredis.ParseURL(of.URL())
	require.NoError(b, err)
	c := goredis.NewClient(options)
	defer c.Close()
	all, err := c.Info(b.Context(), "cpu").Result()
	require.NoError(b, err)
	for line := range strings.Lines(all) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			part, err := strconv.ParseFloat(value, 64)
			require.NoError(b, err)
			seconds += part
		}
	}
	return seconds
}
