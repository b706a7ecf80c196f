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

// BenchmarkMemory is what a session that has ended takes in Redis while it is retained: its record in the
// history with its name, three delivered events, and the idempotency keys of its sale and its stop.
// docs/sizing.md counts with it.
func BenchmarkMemory(b *testing.B) {
	const sessions, batch = 10_000, 100
	for b.Loop() {
		server := redistest.Start(b)
		options, err := goredis.ParseURL(server.URL())
		require.NoError(b, err)
		admin := goredis.NewClient(options)
		s, err := redis.Open(b.Context(), server.URL(),
			store.Retention{Events: 72 * time.Hour, History: 720 * time.Hour, Names: 240 * time.Hour, Cap: 1_000_000})
		require.NoError(b, err)
		o := own(b, s)
		bytes := func() float64 { return used(b, admin, "used_memory") }
		flush := func(fill func(*store.Batch, int)) {
			for i := 0; i < sessions; i += batch {
				next := store.Batch{Range: o.rangeID, Epoch: o.epoch, N: o.n + 1, Now: opening}
				for j := i; j < i+batch; j++ {
					fill(&next, j)
				}
				require.NoError(b, s.Flush(b.Context(), next))
				o.n++
			}
		}
		before := bytes()
		at := lanes.Instant{Wall: opening, Mono: time.Hour}
		ids := make([]uuid.UUID, sessions)
		flush(func(next *store.Batch, i int) {
			ids[i] = uuid.New()
			next.Ended = append(next.Ended, lanes.Ended{
				Cursor: uint64(i + 1), Lane: o.lane, At: opening, Reason: lanes.Expired, Used: time.Hour,
				Session: lanes.Session{
					ID: ids[i], Group: o.lane, Customer: "Jo Smith", Purchasing: true, Sold: time.Hour,
					Phase: lanes.Running, Since: at, Created: at, Began: &at,
				},
			})
		})
		history := bytes()
		flush(func(next *store.Batch, i int) {
			for k, kind := range []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped} {
				next.Events = append(next.Events, lanes.Logged{
					Cursor: uint64(3*i + k + 1),
					Event:  lanes.Event{ID: uuid.New(), Kind: kind, Session: ids[i], Lane: o.lane, At: opening},
					Trace:  strings.Repeat("0", 32),
					Delivery: lanes.Delivery{Attempt: &lanes.Attempt{
						At: opening, Status: 204,
						Duration: 20 * time.Millisecond,
					}},
				})
			}
		})
		events := bytes()
		flush(func(next *store.Batch, _ int) {
			for range 2 {
				next.Keys = append(next.Keys, lanes.KeptAnswer{
					Name: uuid.NewString(), Fingerprint: strings.Repeat("f", 64), Status: 201,
					Body: strings.Repeat("b", 400), At: opening,
				})
			}
		})
		keys := bytes()
		b.ReportMetric((history-before)/sessions, "history-B/session")
		b.ReportMetric((events-history)/sessions, "events-B/session")
		b.ReportMetric((keys-events)/sessions, "keys-B/session")
		require.NoError(b, s.Close())
		require.NoError(b, admin.Close())
	}
}

// used returns a number of bytes from the server's INFO memory.
func used(t testing.TB, admin *goredis.Client, field string) float64 {
	t.Helper()
	info, err := admin.Info(t.Context(), "memory").Result()
	require.NoError(t, err)
	_, after, found := strings.Cut(info, "\r\n"+field+":")
	require.True(t, found, field)
	value, _, _ := strings.Cut(after, "\r\n")
	n, err := strconv.ParseFloat(value, 64)
	require.NoError(t, err)
	return n
}
