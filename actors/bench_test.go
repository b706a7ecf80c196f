package actors

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/actors/board"
	"rangegate/actors/clock"
	"rangegate/actors/clock/clocktest"
	"rangegate/actors/commit"
	"rangegate/actors/delivery"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store"
	"rangegate/lanes/store/sqlite"
)

// discardingStore is a store whose flushes are durable at once: the benchmark then measures the committer alone.
type discardingStore struct{ store.Store }

func (discardingStore) Flush(context.Context, store.Batch) error { return nil }

var benchStores = []struct {
	name string
	wrap func(store.Store) store.Store
}{
	{"alone", func(s store.Store) store.Store { return discardingStore{s} }},
	{"on SQLite", func(s store.Store) store.Store { return s }},
}

// BenchmarkCommitter saves changes of 64 lanes at a time, each a lane and its event, until the committer
// reports them as saved.
func BenchmarkCommitter(b *testing.B) {
	for _, c := range benchStores {
		b.Run(c.name, func(b *testing.B) {
			r := benchRange(b, c.wrap, Settings{})
			now := r.Now()
			at := lanes.Instant{Wall: time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC), Mono: time.Hour}
			lane := lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true, Session: &lanes.Session{
				ID: uuid.New(), Group: uuid.New(), Customer: "Jo Smith", Sold: time.Hour, Phase: lanes.Running,
				Left:  time.Hour,
				Since: at, Created: at, Began: &at,
			}}
			var left atomic.Int64
			left.Store(int64(b.N))
			done := make(chan struct{}, 64)
			save := func() {
				if left.Add(-1) < 0 {
					return
				}
				event := lanes.Logged{Event: lanes.Event{
					ID: uuid.New(), Kind: lanes.SessionModified,
					Session: lane.Session.ID, Lane: lane.ID, At: now.Wall,
				}}
				event.Attempt = &lanes.Attempt{At: now.Wall, Error: lanes.NoWebhook}
				r.committer.Save(&commit.Write{
					Lanes: []lanes.Lane{lane}, Events: []lanes.Logged{event},
					Done: func(became commit.Outcome) {
						if became != commit.Saved {
							b.Error(became.Err())
						}
						done <- struct{}{}
					},
				})
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

// instantWebhook is a webhook without a network: the benchmark then measures how an event gets there and its
// outcome into the log.
type instantWebhook struct{ awaited sync.WaitGroup }

func (w *instantWebhook) Attempt(_ context.Context, event lanes.Logged, _ bool) (lanes.Attempt, lanes.Answer) {
	defer w.awaited.Done()
	return lanes.Attempt{At: event.Event.At, Status: 204}, lanes.Answer{}
}

// BenchmarkDelivery takes saved events to their attempts, 64 at a time, until the outcome of each is saved.
func BenchmarkDelivery(b *testing.B) {
	for _, c := range benchStores {
		b.Run(c.name, func(b *testing.B) {
			webhook := &instantWebhook{}
			r := benchRange(b, c.wrap, Settings{Receivers: oneReceiver(webhook, 64, 1<<30)})
			var events []lanes.Logged
			for range b.N {
				events = append(events, lanes.Logged{Event: lanes.Event{
					ID: uuid.New(), Kind: lanes.SessionModified, Session: uuid.New(), Lane: uuid.New(),
					At: r.Now().Wall,
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
			r.delivery.Announce(events)
			webhook.awaited.Wait()
			require.NoError(b, r.delivery.AwaitAttempts(b.Context()))
			save(nil) // queued behind the outcomes
			require.Empty(b, r.committer.Unattempted())
		})
	}
}

// benchRange starts a range with a lane on a SQLite file.
func benchRange(b *testing.B, wrap func(store.Store) store.Store, s Settings) *Range {
	const long = 24 * time.Hour
	file, err := sqlite.Open(filepath.Join(b.TempDir(), "range.db"),
		store.Retention{Events: long, History: long, Names: long, Cap: 1_000_000})
	require.NoError(b, err)
	clock, err := clock.NewSystem()
	require.NoError(b, err)
	g := NewGateway(clock, wrap(file), metrics.New(prometheus.NewRegistry()), zerolog.Nop())
	s.Layout.Range, s.Grace, s.Driver = uuid.New(), time.Minute, sim.New(clock.Now)
	if s.Layout.Lanes == nil {
		s.Layout.Lanes = makePlaces(1)
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

// BenchmarkSale sells and stops sessions on 1,000 lanes, 16 at a time: everything but HTTP and the store.
func BenchmarkSale(b *testing.B) {
	layout := lanes.Layout{Groups: []lanes.Group{{ID: uuid.New()}}, Lanes: makePlaces(1000)}
	r := benchRange(b, benchStores[0].wrap, Settings{Layout: layout})
	var clients sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for client := range 16 {
		clients.Go(func() {
			for n := client; n < b.N; n += 16 { // each client has lanes of its own
				sale := lanes.Create{
					Session: uuid.New(), Group: layout.Groups[0].ID, Customer: "Jo Smith", Minutes: 60,
					AutoStart: true,
				}
				_, err := r.Create(b.Context(), layout.Lanes[n%992].ID, sale, nil)
				assert.NoError(b, err)
				_, err = r.On(b.Context(), sale.Session, lanes.Stop{Session: sale.Session, By: lanes.ByPOS}, nil)
				assert.NoError(b, err)
			}
		})
	}
	clients.Wait()
}

// benchmarkScrape reads the metrics of that many ranges and lanes: every lane has a session, every range a
// hold over one lane and one unsaved change.
func benchmarkScrape(b *testing.B, ranges, laneCount int) {
	registry := prometheus.NewRegistry()
	g := &Gateway{
		clock: clocktest.New(), metrics: metrics.New(registry), log: zerolog.Nop(),
		ranges: map[uuid.UUID]*Range{},
	}
	for range ranges {
		r := populatedRange(g, laneCount)
		g.ranges[r.id] = r
	}
	registry.MustRegister(g.Gauges())
	scrape := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		answer := httptest.NewRecorder()
		scrape.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		require.Equal(b, http.StatusOK, answer.Code)
		size = answer.Body.Len()
	}
	b.ReportMetric(float64(size), "bytes/scrape")
}

// BenchmarkObserved is a look at 10,000 lanes, as advisories take one each second, and observers share it.
func BenchmarkObserved(b *testing.B) {
	layout := lanes.Layout{Groups: []lanes.Group{{ID: uuid.New()}}, Lanes: makePlaces(10_000)}
	r := benchRange(b, benchStores[0].wrap, Settings{Layout: layout})
	b.ReportAllocs()
	for b.Loop() {
		seen := 0
		for range r.Observed() {
			seen++
		}
		require.Equal(b, 2+2*10_000, seen)
	}
}

// populatedRange returns a range without actors, with the records that its actors would have written.
func populatedRange(g *Gateway, laneCount int) *Range {
	layout := lanes.Layout{Range: uuid.New(), Lanes: makePlaces(laneCount)}
	now := g.clock.Now()
	r := &Range{id: layout.Range, clock: g.clock, board: boardWith(layout), life: context.Background()}
	r.inForce.Store(newSettings(Settings{Layout: layout}))
	for _, place := range layout.Lanes {
		r.board.Publish(lanes.Lane{ID: place.ID, Session: &lanes.Session{
			ID: uuid.New(), Phase: lanes.Running, Sold: time.Hour, Left: time.Hour, Since: now, Customer: "Jo Smith",
		}})
		r.board.PublishLink(place.ID, lanes.LinkUp, now.Wall, board.Hardware{})
	}
	first := layout.Lanes[0].ID
	holds := lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverLane, ID: first}, "sam", now.Wall)
	r.holds.Store(&holds)
	r.delivery = delivery.Open(delivery.Deps{Clock: g.clock, Metrics: g.metrics}, nil, nil, "")
	r.committer = unsavedCommitter(g, lanes.Lane{ID: first})
	return r
}

// boardWith returns the board of a layout.
func boardWith(layout lanes.Layout) *board.Board {
	s := newSettings(Settings{Layout: layout})
	return board.New(s.Layout, s.at, func() lanes.Instant { return lanes.Instant{Wall: time.Now()} })
}

// unsavedCommitter returns a committer whose store is down, with a change of the lane in its queue.
func unsavedCommitter(g *Gateway, lane lanes.Lane) *commit.Committer {
	quit := make(chan struct{})
	close(quit) // no flush is tried
	c := commit.New(commit.Config{Clock: g.clock, Log: zerolog.Nop(), Quit: quit, Metrics: g.metrics},
		store.Recovered{})
	c.Save(&commit.Write{Lanes: []lanes.Lane{lane}, MustSave: true, Done: func(commit.Outcome) {}})
	return c
}
