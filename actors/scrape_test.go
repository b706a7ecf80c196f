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
	"rangegate/actors/metrics"
	"rangegate/lanes"
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
	registry.MustRegister(g.Standing())
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
	r := &Range{Gateway: g, id: layout.Range, board: boardOf(layout), background: context.Background()}
	r.configured.Store(settingsOf(Settings{Layout: layout}))
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
	r.committer = &committer{flushed: now.Wall, waiting: []*write{{lanes: []lanes.Lane{{ID: first}}}}}
	return r
}

// boardOf is the board of a layout.
func boardOf(layout lanes.Layout) *board.Board {
	of := settingsOf(Settings{Layout: layout})
	return board.New(of.Layout, of.at)
}
