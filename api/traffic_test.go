package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/api/control"
	"rangegate/api/lanescreen"
	"rangegate/lanes"
)

// Requests are counted by the pattern of their path. Whatever somebody makes up falls under one label.
func TestRequestsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := settings(&stand{})
	s.Traffic = NewTraffic(registry)
	h := New(s)
	known(h, "GET", prefix2+"/sessions/"+uuid.NewString(), "")
	known(h, "GET", prefix2+"/sessions/"+uuid.NewString(), "")
	known(h, "GET", prefix1+"/bays", "")
	known(h, "POST", prefix2+"/sessions", "{}")
	known(h, "GET", prefix2+"/nowhere/"+uuid.NewString(), "")
	known(h, "GET", "/"+uuid.NewString(), "")
	known(h, "BREW", "/coffee", "")
	ask(h, "GET", prefix2+"/sessions")
	ask(h, "GET", "/api/v2/swagger/")
	require.Equal(t, []string{
		`rangegate_http_requests_total{method="GET",route="/api/v1/pos/bays",status="200"} 1`,
		`rangegate_http_requests_total{method="GET",route="/api/v2/pos/sessions/{id}",status="200"} 2`,
		`rangegate_http_requests_total{method="GET",route="/api/v2/swagger",status="200"} 1`,
		`rangegate_http_requests_total{method="GET",route="other",status="401"} 1`,
		`rangegate_http_requests_total{method="GET",route="other",status="404"} 2`,
		`rangegate_http_requests_total{method="POST",route="/api/v2/pos/sessions",status="400"} 1`,
		`rangegate_http_requests_total{method="other",route="other",status="404"} 1`,
	}, counted(registry, "rangegate_http_requests_total"))
	require.Equal(t, []string{
		`rangegate_http_request_seconds_count{route="/api/v1/pos/bays"} 1`,
		`rangegate_http_request_seconds_count{route="/api/v2/pos/sessions"} 1`,
		`rangegate_http_request_seconds_count{route="/api/v2/pos/sessions/{id}"} 2`,
		`rangegate_http_request_seconds_count{route="/api/v2/swagger"} 1`,
		`rangegate_http_request_seconds_count{route="other"} 4`,
	}, counted(registry, "rangegate_http_request_seconds_count"))
}

// A screen that is open for an evening is one of so many streams, and no request that took hours.
func TestStreamsAreCountedApart(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := settings(&stand{})
	s.Traffic = NewTraffic(registry)
	watched := &watchedRange{}
	s.Screens.Control = func(uuid.UUID) (control.Range, error) { return watched, nil }
	s.Screens.Lane = func(uuid.UUID) (lanescreen.Range, error) { return watched, nil }
	h := New(s)
	cookies := signedIn(h) + "; " + atTheLane(h, theLane, laneKey)
	before := counted(registry, "rangegate_http_request_seconds_count")
	server := httptest.NewServer(h)
	defer server.Close()
	open := func(path string) (shut func()) {
		request, err := http.NewRequest(http.MethodGet, server.URL+path, nil)
		require.NoError(t, err)
		request.Header.Set("Cookie", cookies)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode)
		return func() { _ = response.Body.Close() }
	}
	streams := func(control, lane int) {
		t.Helper()
		require.Eventually(t, func() bool {
			return slices.Equal(counted(registry, "rangegate_screen_streams"), []string{
				fmt.Sprintf(`rangegate_screen_streams{screen="control"} %d`, control),
				fmt.Sprintf(`rangegate_screen_streams{screen="lane"} %d`, lane),
			})
		}, 10*time.Second, time.Millisecond)
	}
	streams(0, 0)
	desk, tablet, lane := open("/control/stream"), open("/control/stream"), open("/lane/"+theLane+"/stream")
	streams(2, 1)
	desk()
	lane()
	streams(1, 0)
	tablet()
	streams(0, 0)
	require.Eventually(t, func() bool {
		return slices.Contains(counted(registry, "rangegate_http_requests_total"),
			`rangegate_http_requests_total{method="GET",route="/control/stream",status="200"} 2`)
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, before, counted(registry, "rangegate_http_request_seconds_count"))
	known(h, "GET", prefix2+"/bays", "")
	require.NotEqual(t, before, counted(registry, "rangegate_http_request_seconds_count"))
}

// counted is the metrics of that name, as an operator reads them.
func counted(registry prometheus.Gatherer, name string) (lines []string) {
	operations := operationsOf(registry)
	for line := range strings.Lines(ask(operations, "GET", "/metrics").Body.String()) {
		if strings.HasPrefix(line, name+"{") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// watchedRange is a range on which nothing happens while screens look at it.
type watchedRange struct{ control.Range }

func (*watchedRange) Now() lanes.Instant   { return lanes.Instant{Wall: noon} }
func (*watchedRange) Holds() lanes.Holds   { return lanes.Holds{} }
func (*watchedRange) Layout() lanes.Layout { return new(stand).Layout() }

func (*watchedRange) Changes(uint64) ([]lanes.LaneStatus, uint64, <-chan struct{}) {
	return []lanes.LaneStatus{{Place: lanes.Place{ID: uuid.MustParse(theLane)}}}, 1, nil
}

func (*watchedRange) LaneOn(context.Context, uuid.UUID, lanes.Command) (*lanes.SessionView, error) {
	return nil, lanes.ErrNotWaiting
}

func (*watchedRange) LaneBuy(context.Context, uuid.UUID, uuid.UUID, uuid.UUID, []lanes.Item) error {
	return lanes.ErrNoPurchasing
}
