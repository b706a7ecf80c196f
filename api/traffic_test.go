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
	"rangegate/api/wallboard"
	"rangegate/lanes"
)

// Requests are counted by route. Unknown paths and methods share one label.
func TestRequestsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := settings(&fakeRange{})
	s.Traffic = NewTraffic(registry)
	h := New(s)
	sendAuthorized(h, "GET", prefix2+"/sessions/"+uuid.NewString(), "")
	sendAuthorized(h, "GET", prefix2+"/sessions/"+uuid.NewString(), "")
	sendAuthorized(h, "GET", prefix1+"/bays", "")
	sendAuthorized(h, "POST", prefix2+"/sessions", "{}")
	sendAuthorized(h, "GET", prefix2+"/nowhere/"+uuid.NewString(), "")
	sendAuthorized(h, "GET", "/"+uuid.NewString(), "")
	sendAuthorized(h, "BREW", "/coffee", "")
	send(h, "GET", prefix2+"/sessions")
	send(h, "GET", "/api/v2/swagger/")
	require.Equal(t, []string{
		`rangegate_http_requests_total{method="GET",route="/api/v1/pos/bays",status="200"} 1`,
		`rangegate_http_requests_total{method="GET",route="/api/v2/pos/sessions/{id}",status="200"} 2`,
		`rangegate_http_requests_total{method="GET",route="/api/v2/swagger",status="200"} 1`,
		`rangegate_http_requests_total{method="GET",route="other",status="401"} 1`,
		`rangegate_http_requests_total{method="GET",route="other",status="404"} 2`,
		`rangegate_http_requests_total{method="POST",route="/api/v2/pos/sessions",status="400"} 1`,
		`rangegate_http_requests_total{method="other",route="other",status="404"} 1`,
	}, metricLines(registry, "rangegate_http_requests_total"))
	require.Equal(t, []string{
		`rangegate_http_request_seconds_count{route="/api/v1/pos/bays"} 1`,
		`rangegate_http_request_seconds_count{route="/api/v2/pos/sessions"} 1`,
		`rangegate_http_request_seconds_count{route="/api/v2/pos/sessions/{id}"} 2`,
		`rangegate_http_request_seconds_count{route="/api/v2/swagger"} 1`,
		`rangegate_http_request_seconds_count{route="other"} 4`,
	}, metricLines(registry, "rangegate_http_request_seconds_count"))
}

// An open screen is counted as a stream, and its duration is not observed.
func TestStreamsAreCountedSeparately(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := settings(&fakeRange{})
	s.Traffic = NewTraffic(registry)
	quiet := &quietRange{}
	s.Screens.Control = func(uuid.UUID) (control.Range, error) { return quiet, nil }
	s.Screens.Lane = func(uuid.UUID) (lanescreen.Range, error) { return quiet, nil }
	s.Screens.Board = func(uuid.UUID) (wallboard.Range, error) { return quiet, nil }
	h := New(s)
	cookies := staffCookie(h) + "; " + laneCookie(h, theLane, laneKey) + "; " + boardCookie(h, someRange, boardKey)
	before := metricLines(registry, "rangegate_http_request_seconds_count")
	server := httptest.NewServer(h)
	defer server.Close()
	open := func(path string) (cancel context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
		require.NoError(t, err)
		request.Header.Set("Cookie", cookies)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		require.Equal(t, http.StatusOK, response.StatusCode)
		return cancel
	}
	streams := func(board, control, lane int) {
		t.Helper()
		require.Eventually(t, func() bool {
			return slices.Equal(metricLines(registry, "rangegate_screen_streams"), []string{
				fmt.Sprintf(`rangegate_screen_streams{screen="board"} %d`, board),
				fmt.Sprintf(`rangegate_screen_streams{screen="control"} %d`, control),
				fmt.Sprintf(`rangegate_screen_streams{screen="lane"} %d`, lane),
				`rangegate_screen_streams{screen="shooter"} 0`,
			})
		}, time.Minute, time.Millisecond)
	}
	streams(0, 0, 0)
	office, tablet, lane, wall := open("/control/stream"), open("/control/stream"), open("/lane/"+theLane+"/stream"),
		open("/board/"+someRange+"/stream")
	streams(1, 2, 1)
	office()
	lane()
	streams(1, 1, 0)
	tablet()
	wall()
	streams(0, 0, 0)
	require.Eventually(t, func() bool {
		return slices.Contains(metricLines(registry, "rangegate_http_requests_total"),
			`rangegate_http_requests_total{method="GET",route="/control/stream",status="200"} 2`)
	}, time.Minute, time.Millisecond)
	require.Equal(t, before, metricLines(registry, "rangegate_http_request_seconds_count"))
	sendAuthorized(h, "GET", prefix2+"/bays", "")
	require.NotEqual(t, before, metricLines(registry, "rangegate_http_request_seconds_count"))
}

// metricLines returns the lines of that metric.
func metricLines(registry prometheus.Gatherer, name string) (lines []string) {
	operations := newOperations(registry)
	for line := range strings.Lines(send(operations, "GET", "/metrics").Body.String()) {
		if strings.HasPrefix(line, name+"{") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// quietRange is a range in which nothing changes.
type quietRange struct{ control.Range }

func (*quietRange) Now() lanes.Instant     { return lanes.Instant{Wall: noon} }
func (*quietRange) Ended() <-chan struct{} { return nil }
func (*quietRange) Holds() lanes.Holds     { return lanes.Holds{} }
func (*quietRange) Layout() lanes.Layout   { return new(fakeRange).Layout() }

func (*quietRange) Changes(uint64) ([]lanes.LaneStatus, uint64, <-chan struct{}) {
	return []lanes.LaneStatus{{Place: lanes.Place{ID: uuid.MustParse(theLane)}}}, 1, nil
}

func (*quietRange) LaneStatus(lane uuid.UUID) (lanes.LaneStatus, bool) {
	return lanes.LaneStatus{Place: lanes.Place{ID: lane}}, true
}

func (q *quietRange) LaneChange(
	lane uuid.UUID,
) (status lanes.LaneStatus, version uint64, wake <-chan struct{}, found bool) {
	status, found = q.LaneStatus(lane)
	return status, 1, nil, found
}

func (*quietRange) SessionChange(
	uuid.UUID,
) (status lanes.LaneStatus, version uint64, wake <-chan struct{}, found bool) {
	return status, 0, nil, false
}

func (*quietRange) LaneOn(context.Context, uuid.UUID, lanes.Command) (*lanes.SessionView, error) {
	return nil, lanes.ErrNotWaiting
}

func (*quietRange) LaneBuy(context.Context, uuid.UUID, uuid.UUID, uuid.UUID, []lanes.Item) error {
	return lanes.ErrNoPurchasing
}
