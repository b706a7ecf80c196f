package actors

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/actors/commit"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/sqlite"
)

// nothing is a store whose flushes are durable at once: what is left is the committer.
type nothing struct{ store.Store }

func (nothing) Flush(context.Context, store.Batch) error { return nil }

var stores = []struct {
	name string
	on   func(store.Store) store.Store
}{
	{"alone", func(s store.Store) store.Store { return nothing{s} }},
	{"on SQLite", func(s store.Store) store.Store { return s }},
}

// BenchmarkCommitter saves changes of 64 lanes at a time: a lane and its event each, until it is told that they are saved.
func BenchmarkCommitter(b *testing.B) {
	for _, c := range stores {
		b.Run(c.name, func(b *testing.B) {
			r := benchRange(b, c.on, Settings{Delivery: Delivery{Slots: 1, Queue: 1}})
			now := r.Now()
			at := lanes.Instant{Wall: time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC), Mono: time.Hour}
			lane := lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true, Session: &lanes.Session{
				ID: uuid.New(), Group: uuid.New(), Customer: "Jo Smith", Sold: time.Hour, Phase: lanes.Running, Left: time.Hour,
				Since: at, Created: at, Began: &at,
			}}
			var left atomic.Int64
			left.Store(int64(b.N))
			done := make(chan struct{}, 64)
			save := func() {
				if left.Add(-1) < 0 {
					return
				}
				event := lanes.Logged{Event: lanes.Event{ID: uuid.New(), Kind: lanes.SessionModified, Session: lane.Session.ID, Lane: lane.ID, At: now.Wall}}
				event.Attempt = &lanes.Attempt{At: now.Wall, Error: lanes.NoWebhook}
				r.committer.Save(&commit.Write{Lanes: []lanes.Lane{lane}, Events: []lanes.Logged{event}, Done: func(became commit.Outcome) {
					if became != commit.Saved {
						b.Error(became.Err())
					}
					done <- struct{}{}
				}})
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range min(64, b.N) {
				save()
			}
			for range b.N {
				<-done
				save()
			}
		})
	}
}

// answersAtOnce is a webhook without a network: what is left of a delivery is how an event gets there, and its outcome
// into the log.
type answersAtOnce struct{ awaited sync.WaitGroup }

func (w *answersAtOnce) Attempt(_ context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	defer w.awaited.Done()
	return lanes.Attempt{At: event.At, Status: 204}, lanes.Answer{}
}

// BenchmarkDelivery takes saved events to their attempts, 64 at a time, until the outcome of each is saved.
func BenchmarkDelivery(b *testing.B) {
	for _, c := range stores {
		b.Run(c.name, func(b *testing.B) {
			webhook := &answersAtOnce{}
			r := benchRange(b, c.on, Settings{Webhook: webhook, Delivery: Delivery{Slots: 64, Queue: 1 << 30}})
			var events []lanes.Logged
			for range b.N {
				events = append(events, lanes.Logged{Event: lanes.Event{
					ID: uuid.New(), Kind: lanes.SessionModified, Session: uuid.New(), Lane: uuid.New(), At: r.Now().Wall,
				}})
			}
			save := func(events []lanes.Logged) {
				became := make(chan commit.Outcome, 1)
				r.committer.Save(&commit.Write{Events: events, Done: func(o commit.Outcome) { became <- o }})
				require.Equal(b, commit.Saved, <-became)
			}
			for batch := range slices.Chunk(events, 4096) {
				save(batch)
			}
			webhook.awaited.Add(b.N)
			b.ReportAllocs()
			b.ResetTimer()
			r.sendEvents(&announced{events})
			webhook.awaited.Wait()
			require.NoError(b, r.awaitDeliveries(b.Context()))
			save(nil) // behind their outcomes
			require.Empty(b, r.committer.Unattempted())
		})
	}
}

// benchRange is a range with a lane on a SQLite file.
func benchRange(b *testing.B, on func(store.Store) store.Store, s Settings) *Range {
	const long = 24 * time.Hour
	file, err := sqlite.Open(filepath.Join(b.TempDir(), "range.db"), store.Retention{Events: long, History: long, Names: long, Cap: 1_000_000})
	require.NoError(b, err)
	clock, err := clock.NewSystem()
	require.NoError(b, err)
	g := NewGateway(clock, on(file), metrics.New(prometheus.NewRegistry()), zerolog.Nop())
	s.Layout.Range, s.Grace, s.Driver = uuid.New(), time.Minute, sim.New(clock.Now)
	if s.Layout.Lanes == nil {
		s.Layout.Lanes = places(1)
	}
	require.NoError(b, g.StartRange(b.Context(), s))
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(b, g.Stop(ctx))
		require.NoError(b, file.Close())
	})
	r, err := g.Range(s.Layout.Range)
	require.NoError(b, err)
	require.Eventually(b, func() bool { return g.Ready(1) }, time.Minute, time.Millisecond)
	return r
}
