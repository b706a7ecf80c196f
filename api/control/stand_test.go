package control

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
	"rangegate/lanes"
)

var (
	north = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	south = uuid.MustParse("11111111-1111-4111-8111-111111111112")

	theGroup    = uuid.MustParse("33333333-3333-4333-8333-000000000001")
	theLane     = uuid.MustParse("44444444-4444-4444-8444-000000000001")
	theBay      = uuid.MustParse("55555555-5555-4555-8555-000000000001")
	theSession  = uuid.MustParse("66666666-6666-4666-8666-000000000001")
	thePurchase = uuid.MustParse("77777777-7777-4777-8777-000000000001")

	noon = lanes.Instant{Wall: time.Date(2026, 5, 1, 12, 0, 0, 250_000_000, time.UTC), Mono: time.Hour}
)

// stand is a range that does what it is told, remembers it, and changes when a test changes it.
type stand struct {
	mu       sync.Mutex
	lanes    []lanes.LaneStatus
	versions []uint64
	version  uint64
	wake     chan struct{}
	holds    lanes.Holds
	history  []lanes.Ended
	events   []lanes.Logged
	acts     []lanes.Act

	did     string // the last thing that was asked for
	refuses error
	reading func() error // of the history; nil: it can be read
}

func newStand() *stand {
	s := &stand{wake: make(chan struct{})}
	began := noon
	s.add(lanes.LaneStatus{
		Place: lanes.Place{ID: theLane, Bay: theBay, Name: "Lane 1"},
		Lane: lanes.Lane{ID: theLane, Accessible: true, Purchasing: true, Session: &lanes.Session{
			ID: theSession, Group: theGroup, Customer: "Jo Smith", Purchasing: true, Sold: time.Hour, Phase: lanes.Running,
			Left: 50 * time.Minute, Since: noon, Created: noon, Began: &began, RanOn: 90 * time.Second,
			Purchase: &lanes.Purchase{ID: thePurchase, Phase: lanes.Pending, Items: []lanes.Item{{ID: lanes.TimeItem, Qty: 15}}},
		}},
		Link: lanes.LinkUp, LinkSince: noon.Wall,
	})
	return s
}

func (s *stand) add(status lanes.LaneStatus) {
	s.lanes, s.versions = append(s.lanes, status), append(s.versions, 0)
	s.change(len(s.lanes)-1, func(*lanes.LaneStatus) {})
}

// change changes a lane and wakes whoever watches.
func (s *stand) change(i int, how func(*lanes.LaneStatus)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how(&s.lanes[i])
	s.version++
	s.versions[i] = s.version
	close(s.wake)
	s.wake = make(chan struct{})
}

func (s *stand) setHolds(h lanes.Holds) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = h
	close(s.wake)
	s.wake = make(chan struct{})
}

func (s *stand) Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, each := range s.lanes {
		if s.versions[i] > after {
			changed = append(changed, each)
		}
	}
	return changed, s.version, s.wake
}

func (s *stand) Layout() lanes.Layout {
	return lanes.Layout{
		Range: north, Name: "North", Purchasing: true,
		Bays: []lanes.Bay{{ID: theBay, Name: "Bay A"}}, Groups: []lanes.Group{{ID: theGroup, Name: "Public"}},
		Lanes: []lanes.Place{{ID: theLane, Bay: theBay, Name: "Lane 1"}},
	}
}

func (s *stand) Now() lanes.Instant { return noon.Add(90 * time.Second) }

func (s *stand) Holds() lanes.Holds {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds
}

func (s *stand) Health() lanes.Health {
	return lanes.Health{
		Links: map[lanes.LinkState]int{lanes.LinkUp: 1, lanes.LinkDown: 0, lanes.LinkFaulty: 0}, Writable: true, Unsaved: 2, Waiting: 3,
		Lanes:   []lanes.LinkHealth{{Lane: theLane, Name: "Lane 1", Link: lanes.LinkUp, Since: noon.Wall, Restarts: 4, LastError: "refused"}},
		LateP99: 1500 * time.Microsecond,
	}
}

func (s *stand) do(format string, what ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = fmt.Sprintf(format, what...)
	return s.refuses
}

func (s *stand) done() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.did
}

func (s *stand) Hold(_ context.Context, over lanes.Scope, who string) (lanes.Reached, error) {
	return lanes.Reached{Confirmed: []uuid.UUID{theLane}, Saved: true}, s.do("%s holds %s %s", who, over.Kind, over.ID)
}

func (s *stand) Lift(_ context.Context, over lanes.Scope, who string) (lanes.Reached, error) {
	return lanes.Reached{Sent: []uuid.UUID{theLane}, Saved: true}, s.do("%s lifts %s %s", who, over.Kind, over.ID)
}

func (s *stand) view() *lanes.SessionView { return s.lanes[0].Lane.View(s.Now()) }

func (s *stand) StaffCreate(_ context.Context, who string, lane uuid.UUID, c lanes.Create) (*lanes.SessionView, error) {
	fresh := c.Session != uuid.Nil
	c.Session = uuid.Nil
	return s.view(), s.do("%s on %s: %+v, its own id: %t", who, lane, c, fresh)
}

func (s *stand) StaffOn(_ context.Context, who string, session uuid.UUID, c lanes.Command) (*lanes.SessionView, error) {
	return s.view(), s.do("%s on %s: %s %+v", who, session, c.Name(), c)
}

func (s *stand) StaffMove(_ context.Context, who string, session, to uuid.UUID) (*lanes.SessionView, error) {
	return s.view(), s.do("%s moves %s to %s", who, session, to)
}

func (s *stand) StaffLane(_ context.Context, who string, lane uuid.UUID, c lanes.Command) error {
	return s.do("%s at %s: %s %+v", who, lane, c.Name(), c)
}

func (s *stand) Unresolved() []lanes.OpenPurchase {
	return []lanes.OpenPurchase{{Lane: theLane, Purchase: lanes.Purchase{
		ID: thePurchase, Session: theSession, At: noon, Items: []lanes.Item{{ID: lanes.TimeItem, Qty: 15}}, Reason: "timed out",
	}}}
}

func (s *stand) Clear(_ context.Context, who string, purchase uuid.UUID, credit bool) error {
	return s.do("%s settles %s: %t", who, purchase, credit)
}

func (s *stand) Events(_ context.Context, after uint64, limit int) ([]lanes.Logged, error) {
	return behind(s.events, func(e lanes.Logged) uint64 { return e.Cursor }, after, limit), s.refuses
}

func (s *stand) History(_ context.Context, after uint64, limit int) ([]lanes.Ended, error) {
	if s.reading != nil {
		if err := s.reading(); err != nil {
			return nil, err
		}
	}
	return behind(s.history, func(e lanes.Ended) uint64 { return e.Cursor }, after, limit), s.refuses
}

func (s *stand) Acts(_ context.Context, after uint64, limit int) ([]lanes.Act, error) {
	return behind(s.acts, func(a lanes.Act) uint64 { return a.Cursor }, after, limit), s.refuses
}

func (s *stand) Latest(context.Context) (lastEvent, lastEnded, lastAct uint64) {
	return uint64(len(s.events)), uint64(len(s.history)), uint64(len(s.acts))
}

func behind[E any](all []E, cursor func(E) uint64, after uint64, limit int) (some []E) {
	for _, each := range all {
		if cursor(each) > after && len(some) < limit {
			some = append(some, each)
		}
	}
	return some
}

// production is what hashing a PIN costs outside of tests.
var production = strength

// hashes are of the PINs 1234 of sam and 5678 of alex, as weak as can be: the tests compare many.
var hashes = func() map[string]string {
	strength.Memory, strength.Iterations = 64, 1
	hashed := map[string]string{}
	for name, pin := range map[string]string{"sam": "1234", "alex": "5678"} {
		hash, err := HashPIN(pin)
		if err != nil {
			panic(err)
		}
		hashed[name] = hash
	}
	return hashed
}()

// rig is a control screen of two ranges: sam is staff of both, alex of the north one only. Only that one runs.
type rig struct {
	*stand
	t       *testing.T
	handler http.Handler
	closing chan struct{}
}

func newRig(t *testing.T) *rig {
	r := &rig{stand: newStand(), t: t, closing: make(chan struct{})}
	r.restart(map[uuid.UUID]map[string]string{north: hashes, south: {"sam": hashes["sam"]}})
	return r
}

// restart is another life of the gateway, with the same configuration or another one.
func (r *rig) restart(staff map[uuid.UUID]map[string]string) {
	a := &endpoint.API{
		Errors: table(), Timeout: 5 * time.Second,
		Defect: func(_ *http.Request, cause error, stack []byte) { r.t.Errorf("defect: %v\n%s", cause, stack) },
	}
	router := a.Router()
	Mount(router, a, Settings{
		Seen:  NewSeen(),
		Staff: staff, Closing: r.closing, Streams: prometheus.NewGauge(prometheus.GaugeOpts{}),
		Range: func(id uuid.UUID) (Range, error) {
			if id == north {
				return r.stand, nil
			}
			return nil, lanes.ErrStarting
		},
		Network: func(remote string) netip.Prefix {
			address := netip.MustParseAddrPort(remote).Addr()
			return netip.PrefixFrom(address, address.BitLen())
		},
		Note: func(context.Context, uuid.UUID) {}, Log: zerolog.Ctx,
	})
	r.handler = router
}

// table has every code with a status of its own kind.
func table() endpoint.Errors {
	all := endpoint.Errors{}
	for status, codes := range map[int][]string{
		400: {"invalid_request"}, 401: {"unauthorized"}, 403: {"cross_site"}, 404: {"not_found", "lane_not_found", "group_not_found", "session_not_found", "session_ended", "purchase_not_found"},
		405: {"method_not_allowed"}, 409: {"lane_occupied", "lane_not_accessible", "lane_not_usable", "duration_out_of_range", "no_time_left", "not_waiting", "not_running", "not_paused", "ceasefire"},
		413: {"too_large"}, 415: {"unsupported_media_type"}, 429: {"too_many_requests"}, 500: {"internal"},
		503: {"store_unavailable", "starting", "overloaded", "not_owner", "not_saved"}, 504: {"timeout"},
	} {
		for _, code := range codes {
			all[code] = endpoint.Error{Status: status, Sentence: code}
		}
	}
	return all
}

// browser may have a cookie.
type browser struct {
	*rig
	from   string
	cookie *http.Cookie // of the session
	device *http.Cookie
}

func (r *rig) browser() *browser { return &browser{rig: r, from: "192.0.2.1:1234"} }

// ask sends a request and keeps the cookie that comes back.
func (b *browser) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.RemoteAddr = b.from
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if b.cookie != nil {
		request.AddCookie(b.cookie)
	}
	if b.device != nil {
		request.AddCookie(b.device)
	}
	answer := httptest.NewRecorder()
	b.handler.ServeHTTP(answer, request)
	for _, cookie := range answer.Result().Cookies() {
		switch {
		case cookie.Name == deviceCookie:
			b.device = cookie
		case cookie.MaxAge < 0:
			b.cookie = nil
		default:
			b.cookie = cookie
		}
	}
	return answer
}

func (b *browser) signIn(rangeID uuid.UUID, name, pin string) *httptest.ResponseRecorder {
	return b.ask("POST", "/control/sign-in", fmt.Sprintf(`{"range_id":%q,"name":%q,"pin":%q}`, rangeID, name, pin))
}

// signedIn is a browser in which sam is signed in at the north range.
func (r *rig) signedIn() *browser {
	b := r.browser()
	require.Equal(r.t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code)
	return b
}

// in tells whether the browser has a session that is not over.
func (b *browser) in() bool {
	status := b.ask("GET", "/control/api/health", "").Code
	require.Contains(b.t, []int{http.StatusOK, http.StatusUnauthorized}, status)
	return status == http.StatusOK
}

// cut takes "METHOD path" apart; blanks behind it tell keys of a map apart.
func cut(request string) (method, path string, ok bool) {
	method, path, ok = strings.Cut(request, " ")
	return method, strings.TrimSpace(path), ok
}
