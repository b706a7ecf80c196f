package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/api/control"
	"rangegate/api/lanescreen"
	"rangegate/api/shooterpage"
	"rangegate/api/simulate"
	v2 "rangegate/api/v2"
	"rangegate/api/wallboard"
	"rangegate/catalog"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

const (
	someRange  = "11111111-1111-4111-8111-111111111111"
	someToken  = "22222222-2222-4222-8222-222222222222"
	otherRange = "99999999-1111-4111-8111-111111111111"
	otherToken = "99999999-2222-4222-8222-222222222222"

	theGroup   = "33333333-3333-4333-8333-000000000001"
	theLane    = "44444444-4444-4444-8444-000000000001"
	theBay     = "55555555-5555-4555-8555-000000000001"
	theSession = "66666666-6666-4666-8666-000000000001"
)

// fakeRange is a range of two lanes; a session waits on the first. It accepts every command and records it.
type fakeRange struct {
	lane            uuid.UUID
	command         lanes.Command
	kind            lanes.Kind
	session         uuid.UUID
	items           []lanes.Item
	who             string // name of the token of the last command to a session
	err             error
	status          int           // of the webhook
	productsSession string        // session-id that the products API got
	gate            chan struct{} // that a create waits for; nil: none
	held            string        // the last change of a hold
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 250_000_000, time.UTC)

func (f *fakeRange) Epoch() uint64 { return 1_700_000_000_123 }

func (f *fakeRange) Layout() lanes.Layout {
	return lanes.Layout{
		Bays:   []lanes.Bay{{ID: uuid.MustParse(theBay), Name: "Bay A"}},
		Groups: []lanes.Group{{ID: uuid.MustParse(theGroup), Name: "Public"}},
	}
}

func (f *fakeRange) Lanes() []lanes.LaneStatus {
	first := lanes.LaneStatus{
		Place: lanes.Place{ID: uuid.MustParse(theLane), Bay: uuid.MustParse(theBay), Name: "Lane 1", Accessible: true},
		Lane: lanes.Lane{
			Session:    &lanes.Session{ID: uuid.MustParse(theSession), Phase: lanes.Waiting},
			Accessible: true,
		},
		Link: lanes.LinkUp, LinkSince: noon,
	}
	second := first
	second.Name, second.Link, second.NotUsable, second.Lane = "Lane 2", lanes.LinkDown, "its link is down",
		lanes.Lane{Held: true, Accessible: true, Sale: lanes.OffSale}
	return []lanes.LaneStatus{first, second}
}

func (f *fakeRange) view() *lanes.SessionView {
	return &lanes.SessionView{
		ID: uuid.MustParse(theSession), Lane: uuid.MustParse(theLane), Group: uuid.MustParse(theGroup),
		Minutes: 60, Remaining: time.Hour, Created: noon, Purchasing: true,
	}
}

func (f *fakeRange) Sessions() []*lanes.SessionView {
	running := f.view()
	running.Began, running.Remaining = &noon, 59*time.Minute+30*time.Second
	return []*lanes.SessionView{f.view(), running}
}

func (f *fakeRange) Session(context.Context, uuid.UUID) (*lanes.SessionView, error) {
	return f.view(), f.err
}

func (f *fakeRange) Create(
	_ context.Context, lane uuid.UUID, command lanes.Create, _ *lanes.Key,
) (*lanes.SessionView, error) {
	if f.gate != nil {
		<-f.gate
		return f.view(), nil
	}
	f.lane, f.command = lane, command
	return f.view(), f.err
}

func (f *fakeRange) On(
	ctx context.Context, session uuid.UUID, command lanes.Command, _ *lanes.Key,
) (*lanes.SessionView, error) {
	f.session, f.command, f.who = session, command, trace.Who(ctx)
	view := f.view()
	if set, ok := command.(lanes.SetDuration); ok {
		view.Minutes = set.Minutes
	}
	return view, f.err
}

func (f *fakeRange) Move(_ context.Context, _, to uuid.UUID, _ *lanes.Key) (*lanes.SessionView, error) {
	f.lane = to
	return f.view(), f.err
}

func (f *fakeRange) KeyReused(string, string) bool { return false }

func (f *fakeRange) Events(context.Context, uint64, int) ([]lanes.Logged, error) {
	event := lanes.Event{
		ID: uuid.New(), Kind: lanes.SessionCreated, Session: uuid.MustParse(theSession),
		Lane: uuid.MustParse(theLane), At: noon,
	}
	return []lanes.Logged{
		{Cursor: 1, Event: event, Delivery: lanes.Delivery{Attempt: &lanes.Attempt{
			At: noon, Status: 200,
			Duration: 35 * time.Millisecond,
		}}},
		{Cursor: 2, Event: event, Delivery: lanes.Delivery{Attempt: &lanes.Attempt{At: noon, Error: lanes.NoWebhook}}},
		{Cursor: 3, Event: event, Simulated: true},
	}, f.err
}

func (f *fakeRange) DeliveriesTo(_ context.Context, webhook string, _ uint64, _ int) ([]lanes.Logged, uint64, error) {
	event := lanes.Event{
		ID: uuid.New(), Kind: lanes.Help, Session: uuid.MustParse(theSession),
		Lane: uuid.MustParse(theLane), At: noon,
	}
	return []lanes.Logged{{Cursor: 4, Event: event, Delivery: lanes.Delivery{Webhook: webhook, Copy: true}}}, 7, f.err
}

func (f *fakeRange) RedeliverOne(context.Context, uint64, *lanes.KeyOf[lanes.Redelivery]) error {
	return f.err
}

func (f *fakeRange) ScheduleStart(
	_ context.Context, sessions []uuid.UUID, at lanes.Instant, _ *lanes.KeyOf[lanes.StartView],
) (lanes.StartView, error) {
	return lanes.StartView{ID: uuid.MustParse(theSession), At: at.Wall, Sessions: []lanes.StartedSession{
		{Session: sessions[0], Lane: uuid.MustParse(theLane), State: lanes.StartWaiting},
		{Session: uuid.MustParse(theSession), State: lanes.StartOver},
	}}, f.err
}

func (f *fakeRange) Batch(
	_ context.Context, batch lanes.Batch, _ *lanes.KeyOf[[]lanes.BatchResult],
) ([]lanes.BatchResult, error) {
	return make([]lanes.BatchResult, len(batch.Operations)), f.err
}

func (f *fakeRange) Start(id uuid.UUID) (lanes.StartView, error) {
	return lanes.StartView{ID: id, At: noon, Sessions: []lanes.StartedSession{
		{Session: uuid.MustParse(theSession), Lane: uuid.MustParse(theLane), State: lanes.StartBegun, Began: new(noon)},
	}}, f.err
}

func (f *fakeRange) DeleteStart(context.Context, uuid.UUID, *lanes.Key) error { return f.err }

func (f *fakeRange) Reserve(
	_ context.Context, wanted lanes.Wanted, reservation lanes.Reservation, _ *lanes.KeyOf[lanes.Reserved],
) (lanes.Reserved, error) {
	return lanes.Reserved{ID: reservation.ID, Lanes: append(wanted.Lanes, uuid.MustParse(theLane)), Until: noon}, f.err
}

func (f *fakeRange) Reservation(id uuid.UUID) (lanes.Reserved, error) {
	return lanes.Reserved{ID: id, Lanes: []uuid.UUID{uuid.MustParse(theLane)}, Until: noon}, f.err
}

func (f *fakeRange) EndReservation(context.Context, uuid.UUID, *lanes.Key) error { return f.err }

func (f *fakeRange) Now() lanes.Instant { return lanes.Instant{Wall: noon} }

func (f *fakeRange) Redeliver(
	context.Context, lanes.EventSelection, *lanes.KeyOf[lanes.Redelivery],
) (lanes.Redelivery, error) {
	return lanes.Redelivery{Events: 42}, f.err
}

func (f *fakeRange) Latest(context.Context) (lastEvent, lastEnded, lastAct uint64) { return 3, 1, 0 }

func (f *fakeRange) Saved() (event, ended uint64) { return 3, 1 }

func (f *fakeRange) LogID() uint64 { return 0 }

func (f *fakeRange) EventsKeptBehind(context.Context) (uint64, error) { return 0, nil }

func (f *fakeRange) HistoryKeptBehind(context.Context) (uint64, error) { return 0, nil }

func (f *fakeRange) HasWebhook(string) bool { return true }

func (f *fakeRange) FollowEvents() (saved uint64, next func() ([]lanes.Logged, <-chan struct{})) {
	return 3, func() ([]lanes.Logged, <-chan struct{}) { return nil, make(chan struct{}) }
}

// Ended is closed, so that a stream ends after what the store has.
func (f *fakeRange) Ended() <-chan struct{} {
	ended := make(chan struct{})
	close(ended)
	return ended
}

func (f *fakeRange) EndedSession(ctx context.Context, id uuid.UUID) (lanes.Ended, error) {
	all, _ := f.History(ctx, 0, 1)
	all[0].Session.ID = id
	return all[0], lanes.ErrSessionEnded
}

func (f *fakeRange) HistoryOf(context.Context, string, uint64, int) ([]lanes.Ended, error) {
	return nil, nil
}

func (f *fakeRange) History(context.Context, uint64, int) ([]lanes.Ended, error) {
	return []lanes.Ended{{
		Cursor: 1, Lane: uuid.MustParse(theLane), At: noon, Reason: lanes.Expired, Used: time.Hour, Paused: time.Second,
		Session: lanes.Session{ID: uuid.MustParse(theSession), Sold: time.Hour, Created: lanes.Instant{Wall: noon}},
	}}, f.err
}

func (f *fakeRange) LaneOn(_ context.Context, lane uuid.UUID, command lanes.Command) (*lanes.SessionView, error) {
	f.lane, f.command = lane, command
	return nil, f.err
}

func (f *fakeRange) Holds() lanes.Holds { return lanes.Holds{} }

func (f *fakeRange) Hold(_ context.Context, scope lanes.Scope, who string) (lanes.Reached, error) {
	f.held = "held by " + who + ": " + scope.Kind
	return lanes.Reached{Confirmed: []uuid.UUID{uuid.MustParse(theLane)}, Saved: true}, f.err
}

func (f *fakeRange) Lift(_ context.Context, scope lanes.Scope, _ uuid.UUID, who string) (lanes.Reached, error) {
	f.held = "lifted by " + who + ": " + scope.Kind
	return lanes.Reached{Sent: []uuid.UUID{uuid.MustParse(theLane)}, Saved: true}, f.err
}

func (f *fakeRange) Simulate(
	_ context.Context, kind lanes.Kind, session uuid.UUID, items []lanes.Item,
) (lanes.Logged, error) {
	f.kind, f.session, f.items = kind, session, items
	event := lanes.Event{Kind: kind, Session: uuid.MustParse(theSession), Lane: uuid.MustParse(theLane), Items: items}
	return lanes.Logged{
		Event: event, Simulated: true,
		Delivery: lanes.Delivery{Attempt: &lanes.Attempt{Status: f.status}},
	}, f.err
}

func (f *fakeRange) Fetch(_ context.Context, t catalog.Type, session string) ([]catalog.Product, error) {
	f.productsSession = session
	return []catalog.Product{{
		ID: "a", DisplayName: "A of " + string(t), Price: "12.50", MaxQty: 5, MinQty: 1,
		IncrementBy: 1,
	}}, f.err
}

func (f *fakeRange) All(ctx context.Context, session string) (catalog.Catalogue, error) {
	products, err := f.Fetch(ctx, catalog.Ammo, session)
	return catalog.Catalogue{
		Time: []catalog.Product{}, Targets: []catalog.Product{}, Ammo: products,
		Rentals: []catalog.Product{},
	}, err
}

// missing returns the error if there is no range.
func (f *fakeRange) missing(err error) error {
	if f == nil {
		return err
	}
	return nil
}

// settings are those of a playground with that range; with nil its range is starting, and has no products API.
func settings(s *fakeRange) Settings {
	return Settings{
		Credentials: Credentials{
			uuid.MustParse(someRange):  {{Digest: digest(someToken)}},
			uuid.MustParse(otherRange): {{Digest: digest(otherToken)}},
		},
		Range: func(uuid.UUID) (v2.Range, error) { return s, s.missing(lanes.ErrStarting) },
		Configured: map[uuid.UUID]v2.Configured{uuid.MustParse(someRange): {
			Version: "1.4.0", Features: []v2.Feature{v2.FeatureSimulation}, Retention: v2.Retention{Records: 1000},
		}},
		Playground: true,
		Simulate:   func(uuid.UUID) (simulate.Range, error) { return s, s.missing(lanes.ErrStarting) },
		Products:   func(uuid.UUID) (simulate.Products, error) { return s, s.missing(lanes.ErrProductsNotConfigured) },
		LaneLink:   []byte("{}"),
		Traffic:    NewTraffic(prometheus.NewRegistry()),
		Limiters:   NewLimiters(),
		Log:        zerolog.Nop(),
		Screens: Screens{
			Sessions: newSessions(), Attempts: control.NewAttempts(prometheus.NewRegistry()),
			Staff: map[uuid.UUID]control.RangeStaff{
				uuid.MustParse(someRange): {Members: map[string]control.Member{"sam": {PINHash: pinHash}}},
			},
			Lanes: map[uuid.UUID]lanescreen.Lane{
				uuid.MustParse(theLane):   {Range: uuid.MustParse(someRange), Key: laneKey},
				uuid.MustParse(otherLane): {Range: uuid.MustParse(otherRange), Key: otherLaneKey},
			},
			Boards: map[uuid.UUID]wallboard.Board{
				uuid.MustParse(someRange): {Key: boardKey}, uuid.MustParse(otherRange): {Key: otherBoardKey},
			},
			Board:    func(uuid.UUID) (wallboard.Range, error) { return nil, lanes.ErrStarting },
			Control:  func(uuid.UUID) (control.Range, error) { return nil, lanes.ErrStarting },
			Lane:     func(uuid.UUID) (lanescreen.Range, error) { return nil, lanes.ErrStarting },
			Shooter:  func(uuid.UUID) (shooterpage.Range, error) { return nil, lanes.ErrStarting },
			Shop:     func(uuid.UUID) (lanescreen.Shop, error) { return nil, lanes.ErrProductsNotConfigured },
			Pictures: lanescreen.NewPictures("rangegate", nil),
		},
	}
}

// inMemory is a store of sign-ins that keeps none.
type inMemory struct{}

func (inMemory) Load(context.Context, [32]byte) ([32]byte, map[[32]byte]time.Time, error) {
	return [32]byte{1}, map[[32]byte]time.Time{}, nil // of every API: so an address of one is one of another
}

func (inMemory) SignOut(context.Context, map[[32]byte]time.Time, [][32]byte) error { return nil }

func newSessions() *control.Sessions {
	sessions, err := control.NewSessions(context.Background(), inMemory{})
	if err != nil {
		panic(err)
	}
	return sessions
}

const (
	otherLane    = "44444444-4444-4444-8444-000000000002"
	laneKey      = "the-key-of-a-screen"
	otherLaneKey = "the-key-of-another-screen"

	boardKey, otherBoardKey = "the-key-of-a-board", "the-key-of-another-board"

	// pinHash is the hash of the PIN 1234, at the lowest cost.
	pinHash = "$argon2id$v=19$m=8,t=1,p=1$ac+mRtgPGpfnU3slhEcbfw$k38ZPzodCFblFONCXg2JBgLsYY/9kyiegHHsxXWpwzA"
)

// staffCookie returns the cookie of sam, staff of the range.
func staffCookie(h http.Handler) string {
	return cookieOf(sendBody(h, "POST", "/control/sign-in", `{"range_id":"`+someRange+`","name":"sam","pin":"1234"}`))
}

// shooterPath returns the path of the page of the session's shooter.
func shooterPath() string {
	sessions, rangeID := newSessions(), uuid.MustParse(someRange)
	addresses := shooterpage.NewAddresses(func() []byte { return sessions.Key("pages of shooters") },
		[]uuid.UUID{rangeID})
	return addresses.Path(rangeID, uuid.MustParse(theSession))
}

// laneCookie returns the cookie of a lane's screen.
func laneCookie(h http.Handler, lane, key string) string {
	return cookieOf(send(h, "GET", "/lane/"+lane+"?key="+key))
}

// boardCookie returns the cookie of a range's wall board.
func boardCookie(h http.Handler, rangeID, key string) string {
	return cookieOf(send(h, "GET", "/board/"+rangeID+"?key="+key))
}

func cookieOf(response *httptest.ResponseRecorder) string {
	for _, cookie := range response.Result().Cookies() {
		return cookie.Name + "=" + cookie.Value
	}
	return ""
}

// newStartingAPI returns an API whose ranges are starting.
func newStartingAPI() http.Handler { return New(settings(nil)) }

// newAPI returns an API with that range.
func newAPI(s *fakeRange) http.Handler { return New(settings(s)) }

// send sends a request without a body; headers come in pairs.
func send(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	return sendBody(h, method, path, "", headers...)
}

func sendBody(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response := httptest.NewRecorder()
	h.ServeHTTP(response, request)
	return response
}

// sendAuthorized sends a request with the credentials of the range, of the operator, and of the screens.
func sendAuthorized(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	headers = append(headers, "range-id", someRange, "token", someToken, "Authorization", "Bearer operator")
	if strings.HasPrefix(path, "/control") || strings.HasPrefix(path, "/lane") || strings.HasPrefix(path, "/board") {
		headers = append(headers, "Cookie", staffCookie(h)+"; "+laneCookie(h, theLane, laneKey)+"; "+
			boardCookie(h, someRange, boardKey))
	}
	return sendBody(h, method, path, body, headers...)
}
