package actors

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/board"
	"rangegate/actors/clock/clocktest"
	"rangegate/actors/commit"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// scrapes reads the metrics of so many ranges with so many lanes each, every lane with a session, every range with a hold
// over one of them and a change that is not saved.
func scrapes(b *testing.B, ranges, laneCount int) {
	registry := prometheus.NewRegistry()
	g := &Gateway{clock: clocktest.New(), metrics: metrics.New(registry), log: zerolog.Nop(), ranges: map[uuid.UUID]*Range{}}
	for range ranges {
		r := populated(g, laneCount)
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

// populated is a range as its actors would leave it behind, without them.
func populated(g *Gateway, laneCount int) *Range {
	layout := lanes.Layout{Range: uuid.New(), Lanes: places(laneCount)}
	now := g.clock.Now()
	r := &Range{id: layout.Range, clock: g.clock, board: boardOf(layout), life: context.Background()}
	r.inForce.Store(newSettings(Settings{Layout: layout}))
	for _, place := range layout.Lanes {
		r.board.Publish(lanes.Lane{ID: place.ID, Session: &lanes.Session{
			ID: uuid.New(), Phase: lanes.Running, Sold: time.Hour, Left: time.Hour, Since: now, Customer: "Jo Smith",
		}})
		r.board.PublishLink(place.ID, lanes.LinkUp, now.Wall, "", false)
	}
	first := layout.Lanes[0].ID
	holds := lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverLane, ID: first}, "sam", now.Wall)
	r.holds.Store(&holds)
	r.oldestEvent.Store(&now.Wall)
	r.committer = unsavedCommitter(g, lanes.Lane{ID: first})
	return r
}

// boardOf is the board of a layout.
func boardOf(layout lanes.Layout) *board.Board {
	s := newSettings(Settings{Layout: layout})
	return board.New(s.Layout, s.at)
}

// unsavedCommitter is one whose store is down, with a change of the lane in its queue.
func unsavedCommitter(g *Gateway, lane lanes.Lane) *commit.Committer {
	quit := make(chan struct{})
	close(quit) // no flush is tried
	c := commit.New(commit.Config{Clock: g.clock, Log: zerolog.Nop(), Quit: quit, Metrics: g.metrics}, store.Recovered{})
	c.Save(&commit.Write{Lanes: []lanes.Lane{lane}, MustSave: true, Done: func(commit.Outcome) {}})
	return c
}
