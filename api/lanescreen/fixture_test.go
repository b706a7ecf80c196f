package lanescreen

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/catalog"
	"rangegate/lanes"
)

const (
	lane1, lane2 = "44444444-4444-4444-8444-000000000001", "44444444-4444-4444-8444-000000000002"
	session1     = "66666666-6666-4666-8666-000000000001"
	purchase1    = "77777777-7777-4777-8777-000000000001"
	key1, key2   = "the-key-of-lane-one", "the-key-of-lane-two"
)

var (
	theRange = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	noon     = lanes.Instant{Wall: time.Date(2026, 5, 1, 12, 0, 0, 250_000_000, time.UTC), Mono: time.Hour}
)

// fakeRange is a range of two lanes. A session runs on the first one.
type fakeRange struct {
	mu      sync.Mutex
	lanes   []lanes.LaneStatus
	version []uint64
	wake    []chan struct{}
	reads   int // of LaneChange

	last     string // the last command
	err      error
	shop     catalog.Catalogue
	shopping string // the session that the integrator was sent
	noShop   error
	starting bool
}

func newFakeRange() *fakeRange {
	s := &fakeRange{wake: []chan struct{}{make(chan struct{}), make(chan struct{})}, version: []uint64{1, 1}}
	for i, id := range []string{lane1, lane2} {
		s.lanes = append(s.lanes, lanes.LaneStatus{
			Place: lanes.Place{ID: uuid.MustParse(id), Name: fmt.Sprintf("Lane %d", i+1)},
			Lane:  lanes.Lane{ID: uuid.MustParse(id), Purchasing: true},
		})
	}
	s.lanes[0].Lane.Session = &lanes.Session{
		ID: uuid.MustParse(session1), Customer: "Jo Smith", Purchasing: true, Sold: time.Hour, Phase: lanes.Running,
		Left: 50 * time.Minute, Since: noon,
	}
	return s
}

func (f *fakeRange) change(i int, update func(*lanes.Lane)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	update(&f.lanes[i].Lane)
	f.version[i] = max(f.version[0], f.version[1]) + 1
	close(f.wake[i])
	f.wake[i] = make(chan struct{})
}

func (f *fakeRange) LaneStatus(lane uuid.UUID) (status lanes.LaneStatus, found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.lanes, func(s lanes.LaneStatus) bool { return s.ID == lane })
	return f.lanes[i], true
}

func (f *fakeRange) LaneChange(
	lane uuid.UUID,
) (status lanes.LaneStatus, version uint64, wake <-chan struct{}, found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	i := slices.IndexFunc(f.lanes, func(s lanes.LaneStatus) bool { return s.ID == lane })
	return f.lanes[i], f.version[i], f.wake[i], true
}

func (f *fakeRange) SessionChange(
	session uuid.UUID,
) (status lanes.LaneStatus, version uint64, wake <-chan struct{}, found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.lanes, func(s lanes.LaneStatus) bool {
		return s.Lane.Session != nil && s.Lane.Session.ID == session
	})
	if i < 0 {
		return status, 0, nil, false
	}
	return f.lanes[i], f.version[i], f.wake[i], true
}

func (f *fakeRange) Ended() <-chan struct{} { return nil }

func (f *fakeRange) Layout() lanes.Layout { return lanes.Layout{Range: theRange, Currency: "EUR"} }

func (f *fakeRange) Now() lanes.Instant { return noon.Add(90 * time.Second) }

func (f *fakeRange) LaneOn(_ context.Context, lane uuid.UUID, c lanes.Command) (*lanes.SessionView, error) {
	f.last = fmt.Sprintf("%s: %s %+v", lane, c.Name(), c)
	return nil, f.err
}

func (f *fakeRange) LaneBuy(_ context.Context, lane, session, purchase uuid.UUID, items []lanes.Item) error {
	f.last = fmt.Sprintf("%s: %s buys %v in %s", lane, session, items, purchase)
	return f.err
}

func (f *fakeRange) All(_ context.Context, session string) (catalog.Catalogue, error) {
	f.shopping = session
	return f.shop, f.noShop
}

func (f *fakeRange) Fetch(ctx context.Context, t catalog.Type, session string) ([]catalog.Product, error) {
	all, err := f.All(ctx, session)
	return map[catalog.Type][]catalog.Product{catalog.Time: all.Time}[t], err
}

// fixture is the lane screens of a fake range whose lanes have a key each.
type fixture struct {
	*fakeRange
	t       *testing.T
	handler http.Handler
	cookies map[string]*http.Cookie // by lane
	from    string
}

func newFixture(t *testing.T) *fixture { return newFixtureWithTransport(t, http.DefaultTransport) }

func newFixtureWithTransport(t *testing.T, transport http.RoundTripper) *fixture {
	f := &fixture{fakeRange: newFakeRange(), t: t, cookies: map[string]*http.Cookie{}, from: "192.0.2.1:1234"}
	f.restart(transport, key1)
	return f
}

// restart starts the gateway anew, with that key of the first lane.
func (f *fixture) restart(transport http.RoundTripper, key string) {
	table := endpoint.Errors{}
	for status, codes := range map[int][]string{
		400: {"invalid_request", "purchase_malformed"}, 401: {"unauthorized"}, 403: {"cross_site"},
		404: {"not_found", "session_not_found", "session_ended"},
		405: {"method_not_allowed"}, 409: {
			"not_waiting", "no_purchasing", "purchase_pending", "too_many_unresolved",
			"duration_out_of_range", "products_not_configured",
		},
		408: {"request_timeout"}, 413: {"too_large"}, 415: {"unsupported_media_type"}, 500: {"internal"},
		502: {"products_failed"},
		503: {"store_unavailable", "starting", "overloaded", "not_owner"}, 504: {"timeout"},
	} {
		for _, code := range codes {
			table[code] = endpoint.Error{Status: status, Sentence: code}
		}
	}
	a := &endpoint.API{
		Errors: table, Timeout: 5 * time.Second,
		Defect: func(_ *http.Request, cause error, stack []byte) { f.t.Errorf("defect: %v\n%s", cause, stack) },
	}
	router := a.Router()
	Mount(router, a, Settings{
		WrongKeys: screens.NewAttemptLimiter[netip.Prefix](screens.PerMinute(screens.MaxWrongKeys)),
		Lanes:     map[uuid.UUID]Lane{uuid.MustParse(lane1): {theRange, key}, uuid.MustParse(lane2): {theRange, key2}},
		Range: func(uuid.UUID) (Range, error) {
			if f.starting {
				return nil, lanes.ErrStarting
			}
			return f.fakeRange, nil
		},
		Shop:     func(uuid.UUID) (Shop, error) { return f.fakeRange, nil },
		Pictures: NewPictures("rangegate/test", map[uuid.UUID]http.RoundTripper{theRange: transport}),
		Streams:  prometheus.NewGauge(prometheus.GaugeOpts{}),
	})
	f.handler = router
}

// send sends a request with the cookie of the path's lane, and keeps the cookie of the response.
func (f *fixture) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	return f.sendAs(path[len("/lane/"):][:len(lane1)], method, path, body, headers...)
}

// sendAs sends a request with the cookie of another lane.
func (f *fixture) sendAs(lane, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.RemoteAddr = f.from
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if cookie := f.cookies[lane]; cookie != nil {
		request.AddCookie(cookie)
	}
	response := httptest.NewRecorder()
	f.handler.ServeHTTP(response, request)
	for _, cookie := range response.Result().Cookies() {
		f.cookies[lane] = cookie
	}
	return response
}

// opened returns the fixture with the screen of the first lane open.
func (f *fixture) opened() *fixture {
	require.Equal(f.t, http.StatusSeeOther, f.send("GET", "/lane/"+lane1+"?key="+key1, "").Code)
	return f
}
