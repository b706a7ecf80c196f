package control

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
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

// fakeRange is a range that accepts every command and records it. Its lanes change when a test changes them.
type fakeRange struct {
	creating func(customer string) // nil: nothing happens meanwhile
	mu       sync.Mutex
	lanes    []lanes.LaneStatus
	versions []uint64
	version  uint64
	wake     chan struct{}
	holds    lanes.Holds
	history  []lanes.Ended
	events   []lanes.Logged
	acts     []lanes.Act
	recorded []string // by Record

	redelivered []string // staff and cursor, by StaffRedeliver

	last    string       // the last command
	err     error        // of every command and read
	readErr func() error // of a read of the history
}

func newFakeRange() *fakeRange {
	s := &fakeRange{wake: make(chan struct{})}
	began := noon
	s.add(lanes.LaneStatus{
		Place: lanes.Place{ID: theLane, Bay: theBay, Name: "Lane 1"},
		Lane: lanes.Lane{ID: theLane, Accessible: true, Purchasing: true, Session: &lanes.Session{
			ID: theSession, Group: theGroup, Customer: "Jo Smith", Purchasing: true, Sold: time.Hour,
			Phase: lanes.Running,
			Left:  50 * time.Minute, Since: noon, Created: noon, Began: &began, RanOn: 90 * time.Second,
			GoesOnWith: []uuid.UUID{theGroup},
			Purchase: &lanes.Purchase{
				ID: thePurchase, Phase: lanes.Pending,
				Items: []lanes.Item{{ID: lanes.TimeItem, Qty: 15}},
			},
		}},
		Link: lanes.LinkUp, LinkSince: noon.Wall,
	})
	return s
}

func (f *fakeRange) StaffRedeliver(_ context.Context, staff string, cursor uint64) error {
	f.redelivered = append(f.redelivered, fmt.Sprintf("%s %d", staff, cursor))
	return nil
}

func (f *fakeRange) Ended() <-chan struct{} { return nil }

func (f *fakeRange) add(status lanes.LaneStatus) {
	f.lanes, f.versions = append(f.lanes, status), append(f.versions, 0)
	f.change(len(f.lanes)-1, func(*lanes.LaneStatus) {})
}

// change changes a lane and wakes the streams.
func (f *fakeRange) change(i int, update func(*lanes.LaneStatus)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	update(&f.lanes[i])
	f.version++
	f.versions[i] = f.version
	close(f.wake)
	f.wake = make(chan struct{})
}

func (f *fakeRange) setHolds(h lanes.Holds) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holds = h
	close(f.wake)
	f.wake = make(chan struct{})
}

func (f *fakeRange) Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, lane := range f.lanes {
		if f.versions[i] > after {
			changed = append(changed, lane)
		}
	}
	return changed, f.version, f.wake
}

func (f *fakeRange) Layout() lanes.Layout {
	return lanes.Layout{
		Range: north, Name: "North", Purchasing: true, Currency: "EUR",
		Bays: []lanes.Bay{{ID: theBay, Name: "Bay A"}}, Groups: []lanes.Group{{ID: theGroup, Name: "Public"}},
		Presets: []lanes.Preset{{Minutes: 30}, {Minutes: 60, Group: &theGroup}},
		Lanes:   []lanes.Place{{ID: theLane, Bay: theBay, Name: "Lane 1"}},
	}
}

func (f *fakeRange) Now() lanes.Instant { return noon.Add(90 * time.Second) }

func (f *fakeRange) Holds() lanes.Holds {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.holds
}

func (f *fakeRange) Health() lanes.Health {
	return lanes.Health{
		Links: map[lanes.LinkState]int{lanes.LinkUp: 1, lanes.LinkDown: 0, lanes.LinkFaulty: 0}, Insecure: 5,
		Writable: true, Unsaved: 2, Uncleared: 6,
		Waiting: 3, Retrying: 20_000, LevelAt: noon.Wall.Add(170 * time.Second),
		Lanes: []lanes.LinkHealth{{
			Lane: theLane, Name: "Lane 1", Link: lanes.LinkUp, Since: noon.Wall, Restarts: 4,
			LastError: "refused",
		}},
		LateP99: 1500 * time.Microsecond,
		Turns: lanes.TurnFigures{
			Waiting: 3, Longest: 41*time.Minute + 30*time.Second, Turns: 2,
			Median: 7*time.Minute + 15*time.Second,
		},
	}
}

func (f *fakeRange) record(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = fmt.Sprintf(format, args...)
	return f.err
}

func (f *fakeRange) lastCommand() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *fakeRange) Hold(_ context.Context, scope lanes.Scope, staff string) (lanes.Reached, error) {
	return lanes.Reached{Confirmed: []uuid.UUID{theLane}, Saved: true},
		f.record("%s holds %s %s", staff, scope.Kind, scope.ID)
}

func (f *fakeRange) Lift(_ context.Context, scope lanes.Scope, _ uuid.UUID, staff string) (lanes.Reached, error) {
	return lanes.Reached{Sent: []uuid.UUID{theLane}, Saved: true},
		f.record("%s lifts %s %s", staff, scope.Kind, scope.ID)
}

func (f *fakeRange) view() *lanes.SessionView { return f.lanes[0].Lane.View(f.Now()) }

func (f *fakeRange) Session(_ context.Context, id uuid.UUID) (*lanes.SessionView, error) {
	if id != theSession {
		return nil, lanes.ErrSessionNotFound
	}
	return f.view(), f.err
}

func (f *fakeRange) StaffCreate(
	_ context.Context, staff string, lane uuid.UUID, c lanes.Create,
) (*lanes.SessionView, error) {
	fresh := c.Session != uuid.Nil
	c.Session = uuid.Nil
	if f.creating != nil {
		f.creating(c.Customer)
	}
	return f.view(), f.record("%s on %s: %+v, its own id: %t", staff, lane, c, fresh)
}

func (f *fakeRange) StaffOn(
	_ context.Context, staff string, session uuid.UUID, c lanes.Command,
) (*lanes.SessionView, error) {
	return f.view(), f.record("%s on %s: %s %+v", staff, session, c.Name(), c)
}

func (f *fakeRange) StaffScheduleStart(_ context.Context, staff string, sessions []uuid.UUID,
	at lanes.Instant,
) (lanes.StartView, error) {
	return lanes.StartView{ID: sessions[0], At: at.Wall},
		f.record("%s lets %d sessions begin together", staff, len(sessions))
}

func (f *fakeRange) StaffDeleteStart(_ context.Context, staff string, start uuid.UUID) error {
	return f.record("%s deletes the start %s", staff, start)
}

func (f *fakeRange) StaffMove(_ context.Context, staff string, session, to uuid.UUID,
	afterClosing bool,
) (*lanes.SessionView, error) {
	return f.view(), f.record("%s moves %s to %s, after closing: %t", staff, session, to, afterClosing)
}

func (f *fakeRange) StaffReopen(_ context.Context, staff string, session, lane uuid.UUID) (*lanes.SessionView, error) {
	return f.view(), f.record("%s reopens %s on %s", staff, session, lane)
}

func (f *fakeRange) StaffLane(_ context.Context, staff string, lane uuid.UUID, c lanes.Command) error {
	return f.record("%s at %s: %s %+v", staff, lane, c.Name(), c)
}

// Record keeps what was recorded, without a cursor.
func (f *fakeRange) Record(_ context.Context, staff, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recorded = append(f.recorded, staff+" "+what)
}

func (f *fakeRange) Unresolved() []lanes.OpenPurchase {
	return []lanes.OpenPurchase{{Lane: theLane, Purchase: lanes.Purchase{
		ID: thePurchase, Session: theSession, At: noon, Items: []lanes.Item{{ID: lanes.TimeItem, Qty: 15}},
		Reason: "timed out",
		Goods:  []lanes.Good{{Name: "Lane time", Price: "0.50"}},
	}, CreditSession: theSession, CreditLane: theLane}}
}

func (f *fakeRange) Clear(_ context.Context, staff string, command lanes.Clear) error {
	return f.record("%s settles %s of %s: %t", staff, command.Purchase, command.Session, command.Credit)
}

func (f *fakeRange) Deliveries(_ context.Context, after uint64, limit int) ([]lanes.Logged, error) {
	return readAfter(f.events, func(e lanes.Logged) uint64 { return e.Cursor }, after, limit), f.err
}

func (f *fakeRange) History(_ context.Context, after uint64, limit int) ([]lanes.Ended, error) {
	if f.readErr != nil {
		if err := f.readErr(); err != nil {
			return nil, err
		}
	}
	return readAfter(f.history, func(e lanes.Ended) uint64 { return e.Cursor }, after, limit), f.err
}

func (f *fakeRange) Acts(_ context.Context, after uint64, limit int) ([]lanes.Act, error) {
	return readAfter(f.acts, func(a lanes.Act) uint64 { return a.Cursor }, after, limit), f.err
}

func (f *fakeRange) Latest(context.Context) (lastEvent, lastEnded, lastAct uint64) {
	return uint64(len(f.events)), uint64(len(f.history)), uint64(len(f.acts))
}

func readAfter[E any](log []E, cursor func(E) uint64, after uint64, limit int) (found []E) {
	for _, record := range log {
		if cursor(record) > after && len(found) < limit {
			found = append(found, record)
		}
	}
	return found
}

// hashes are those of the PINs 1234 of sam and 5678 of alex, at the lowest cost: the tests compare many.
var hashes = func() map[string]string {
	pinHashing.Memory, pinHashing.Iterations = 64, 1
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

// fakeStore keeps sign-ins in memory, as a store would.
type fakeStore struct {
	mu        sync.Mutex
	secret    [32]byte
	signedOut map[[32]byte]time.Time
	err       error // of every call
}

func (f *fakeStore) Load(_ context.Context, secret [32]byte) ([32]byte, map[[32]byte]time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.secret == ([32]byte{}) && f.err == nil {
		f.secret = secret
	}
	return f.secret, maps.Clone(f.signedOut), f.err
}

func (f *fakeStore) SignOut(_ context.Context, add map[[32]byte]time.Time, remove [][32]byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		maps.Copy(f.signedOut, add)
		for _, id := range remove {
			delete(f.signedOut, id)
		}
	}
	return f.err
}

func (f *fakeStore) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// fixture is a control screen of two ranges: sam is staff of both, alex, an officer, of the north one only.
// Only the north one runs.
type fixture struct {
	*fakeRange
	t        *testing.T
	store    *fakeStore
	sessions *Sessions
	attempts *Attempts
	metrics  *prometheus.Registry
	handler  http.Handler
	closing  chan struct{}
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{
		fakeRange: newFakeRange(), t: t, closing: make(chan struct{}),
		store: &fakeStore{signedOut: map[[32]byte]time.Time{}},
	}
	f.restart(northStaff(hashes), southStaff)
	return f
}

var southStaff = map[uuid.UUID]RangeStaff{south: {
	Name:    "South range",
	Members: map[string]Member{"sam": {PINHash: hashes["sam"]}},
}}

// northStaff returns the staff of the north range with those PINs.
func northStaff(hashes map[string]string) map[uuid.UUID]RangeStaff {
	members := map[string]Member{}
	for name, hash := range hashes {
		members[name] = Member{PINHash: hash, Officer: name == "alex"}
	}
	return map[uuid.UUID]RangeStaff{north: {Name: "North range", Members: members}}
}

// restart starts the gateway anew with this staff.
func (f *fixture) restart(staff ...map[uuid.UUID]RangeStaff) {
	sessions, err := NewSessions(f.t.Context(), f.store)
	require.NoError(f.t, err)
	f.metrics = prometheus.NewRegistry()
	f.sessions, f.attempts = sessions, NewAttempts(f.metrics)
	f.reload(staff...)
}

// reload puts this staff in force while the gateway runs.
func (f *fixture) reload(staff ...map[uuid.UUID]RangeStaff) {
	all := map[uuid.UUID]RangeStaff{}
	for _, some := range staff {
		maps.Copy(all, some)
	}
	a := &endpoint.API{
		Errors: table(), Timeout: 5 * time.Second,
		Defect: func(_ *http.Request, cause error, stack []byte) { f.t.Errorf("defect: %v\n%s", cause, stack) },
	}
	router := a.Router()
	Mount(router, a, Settings{
		Sessions: f.sessions, Attempts: f.attempts, Staff: all, Closing: f.closing,
		Streams: prometheus.NewGauge(prometheus.GaugeOpts{}),
		Turn:    func(context.Context) (func(), error) { return func() {}, nil },
		Refused: prometheus.NewCounter(prometheus.CounterOpts{}),
		ShooterPath: func(rangeID, session uuid.UUID) string {
			return "/my/" +
				rangeID.String()[:4] + session.String()[:4]
		},
		Range: func(id uuid.UUID) (Range, error) {
			if id == north {
				return f.fakeRange, nil
			}
			return nil, lanes.ErrStarting
		},
	})
	f.handler = router
}

// table has every code with its status.
func table() endpoint.Errors {
	all := endpoint.Errors{}
	for status, codes := range map[int][]string{
		400: {"invalid_request"}, 401: {"unauthorized"}, 403: {"cross_site", "officer_required"},
		404: {
			"not_found", "lane_not_found", "group_not_found", "session_not_found", "session_ended",
			"purchase_not_found", "start_not_found",
		},
		405: {"method_not_allowed"}, 409: {
			"lane_occupied", "lane_reserved", "lane_not_accessible", "lane_not_usable",
			"lane_not_clear", "lane_lacks_capability", "after_closing", "duration_out_of_range", "no_time_left",
			"not_waiting", "start_scheduled", "not_reopenable", "not_running", "not_paused", "in_grace", "ceasefire",
			"purchase_not_unique",
		},
		408: {"request_timeout"}, 413: {"too_large"}, 415: {"unsupported_media_type"}, 429: {"too_many_requests"},
		500: {"internal"},
		503: {"store_unavailable", "starting", "overloaded", "not_owner", "not_saved"}, 504: {"timeout"},
	} {
		for _, code := range codes {
			all[code] = endpoint.Error{Status: status, Sentence: code}
		}
	}
	return all
}

// browser keeps the cookies of its responses.
type browser struct {
	*fixture
	from   string
	cookie *http.Cookie // of the session
	used   *http.Cookie // when it was used last
	device *http.Cookie
}

func (f *fixture) browser() *browser { return &browser{fixture: f, from: "192.0.2.1:1234"} }

// send sends a request and keeps the cookies of the response.
func (b *browser) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	response := b.sendOnly(method, path, body, headers...)
	b.keep(response)
	return response
}

// sendOnly sends a request whose response has not arrived yet.
func (b *browser) sendOnly(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.RemoteAddr = b.from
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	for _, cookie := range []*http.Cookie{b.cookie, b.used, b.device} {
		if cookie != nil {
			request.AddCookie(cookie)
		}
	}
	response := httptest.NewRecorder()
	b.handler.ServeHTTP(response, request)
	return response
}

// keep is what the browser does when the response arrives.
func (b *browser) keep(response *httptest.ResponseRecorder) {
	for _, cookie := range response.Result().Cookies() {
		kept := cookie
		if cookie.MaxAge < 0 {
			kept = nil
		}
		switch strings.TrimPrefix(cookie.Name, hostPrefix) {
		case deviceCookie:
			b.device = kept
		case usedCookie:
			b.used = kept
		default:
			b.cookie = kept
		}
	}
}

func (b *browser) signIn(rangeID uuid.UUID, name, pin string) *httptest.ResponseRecorder {
	return b.send("POST", "/control/sign-in", fmt.Sprintf(`{"range_id":%q,"name":%q,"pin":%q}`, rangeID, name, pin))
}

// signedIn returns a browser in which sam is signed in at the north range.
func (f *fixture) signedIn() *browser {
	b := f.browser()
	require.Equal(f.t, http.StatusNoContent, b.signIn(north, "sam", "1234").Code)
	return b
}

// isSignedIn is true if the browser has a valid session.
func (b *browser) isSignedIn() bool {
	status := b.send("GET", "/control/api/health", "").Code
	require.Contains(b.t, []int{http.StatusOK, http.StatusUnauthorized}, status)
	return status == http.StatusOK
}

// cut splits "METHOD path"; trailing blanks only make the keys of a map distinct.
func cut(request string) (method, path string, ok bool) {
	method, path, ok = strings.Cut(request, " ")
	return method, strings.TrimSpace(path), ok
}
