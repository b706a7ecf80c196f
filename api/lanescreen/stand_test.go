package lanescreen

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
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

// stand is a range of two lanes. A session runs on the first one.
type stand struct {
	mu      sync.Mutex
	lanes   []lanes.LaneStatus
	version []uint64
	wake    chan struct{}

	did      string // the last thing that was asked for
	refuses  error
	shop     catalog.Catalogue
	shopping string // the session that was told to the integrator
	noShop   error
	starting bool
}

func newStand() *stand {
	s := &stand{wake: make(chan struct{}), version: []uint64{1, 1}}
	for i, id := range []string{lane1, lane2} {
		s.lanes = append(s.lanes, lanes.LaneStatus{
			Place: lanes.Place{ID: uuid.MustParse(id), Name: fmt.Sprintf("Lane %d", i+1)},
			Lane:  lanes.Lane{ID: uuid.MustParse(id), Purchasing: true},
		})
	}
	s.lanes[0].Lane.Session = &lanes.Session{
		ID: uuid.MustParse(session1), Customer: "Jo Smith", Purchasing: true, Sold: time.Hour, Phase: lanes.Running, Left: 50 * time.Minute, Since: noon,
	}
	return s
}

func (s *stand) change(i int, how func(*lanes.Lane)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how(&s.lanes[i].Lane)
	s.version[i] = max(s.version[0], s.version[1]) + 1
	close(s.wake)
	s.wake = make(chan struct{})
}

func (s *stand) Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, each := range s.lanes {
		if s.version[i] > after {
			changed = append(changed, each)
		}
	}
	return changed, max(s.version[0], s.version[1]), s.wake
}

func (s *stand) Layout() lanes.Layout { return lanes.Layout{Range: theRange} }

func (s *stand) Now() lanes.Instant { return noon.Add(90 * time.Second) }

func (s *stand) LaneOn(_ context.Context, lane uuid.UUID, c lanes.Command) (*lanes.SessionView, error) {
	s.did = fmt.Sprintf("%s: %s %+v", lane, c.Name(), c)
	return nil, s.refuses
}

func (s *stand) LaneBuy(_ context.Context, lane, session, purchase uuid.UUID, items []lanes.Item) error {
	s.did = fmt.Sprintf("%s: %s buys %v in %s", lane, session, items, purchase)
	return s.refuses
}

func (s *stand) All(_ context.Context, session string) (catalog.Catalogue, error) {
	s.shopping = session
	return s.shop, s.noShop
}

// rig is the lane screens of the stand. Its lanes have a key each.
type rig struct {
	*stand
	t       *testing.T
	handler http.Handler
	cookies map[string]*http.Cookie // by lane
	from    string
}

func newRig(t *testing.T) *rig { return newRigWith(t, http.DefaultTransport) }

func newRigWith(t *testing.T, transport http.RoundTripper) *rig {
	r := &rig{stand: newStand(), t: t, cookies: map[string]*http.Cookie{}, from: "192.0.2.1:1234"}
	r.restart(transport, key1)
	return r
}

// restart is another life of the gateway, with that key of the first lane.
func (r *rig) restart(transport http.RoundTripper, key string) {
	table := endpoint.Errors{}
	for status, codes := range map[int][]string{
		400: {"invalid_request", "purchase_malformed"}, 401: {"unauthorized"}, 403: {"cross_site"}, 404: {"not_found", "session_not_found", "session_ended"},
		405: {"method_not_allowed"}, 409: {"not_waiting", "no_purchasing", "purchase_pending", "too_many_unresolved", "duration_out_of_range", "products_not_configured"},
		413: {"too_large"}, 415: {"unsupported_media_type"}, 500: {"internal"}, 502: {"products_failed"},
		503: {"store_unavailable", "starting", "overloaded", "not_owner"}, 504: {"timeout"},
	} {
		for _, code := range codes {
			table[code] = endpoint.Error{Status: status, Sentence: code}
		}
	}
	a := &endpoint.API{
		Errors: table, Timeout: 5 * time.Second,
		Defect: func(_ *http.Request, cause error, stack []byte) { r.t.Errorf("defect: %v\n%s", cause, stack) },
	}
	router := a.Router()
	Mount(router, a, Settings{
		Lanes: map[uuid.UUID]Lane{uuid.MustParse(lane1): {theRange, key}, uuid.MustParse(lane2): {theRange, key2}},
		Range: func(uuid.UUID) (Range, error) {
			if r.starting {
				return nil, lanes.ErrStarting
			}
			return r.stand, nil
		},
		Shop:     func(uuid.UUID) (Shop, error) { return r.stand, nil },
		Pictures: NewPictures("rangegate/test", map[uuid.UUID]http.RoundTripper{theRange: transport}),
		Network: func(remote string) netip.Prefix {
			address := netip.MustParseAddrPort(remote).Addr()
			return netip.PrefixFrom(address, address.BitLen())
		},
		Note:    func(context.Context, uuid.UUID) {},
		Log:     zerolog.Ctx,
		Streams: prometheus.NewGauge(prometheus.GaugeOpts{}),
	})
	r.handler = router
}

// ask sends a request with the cookie of the lane that the path is about, and keeps the one that comes back.
func (r *rig) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	return r.askAs(path[len("/lane/"):][:len(lane1)], method, path, body, headers...)
}

// askAs sends a request with the cookie of some lane.
func (r *rig) askAs(lane, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.RemoteAddr = r.from
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if cookie := r.cookies[lane]; cookie != nil {
		request.AddCookie(cookie)
	}
	answer := httptest.NewRecorder()
	r.handler.ServeHTTP(answer, request)
	for _, cookie := range answer.Result().Cookies() {
		r.cookies[lane] = cookie
	}
	return answer
}

// opened is the rig with the screen of the first lane open.
func (r *rig) opened() *rig {
	require.Equal(r.t, http.StatusSeeOther, r.ask("GET", "/lane/"+lane1+"?key="+key1, "").Code)
	return r
}
