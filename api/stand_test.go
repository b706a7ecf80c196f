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
	"rangegate/api/simulate"
	v2 "rangegate/api/v2"
	"rangegate/catalog"
	"rangegate/lanes"
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

// stand is a range of two lanes, of which a session waits on the first. It does what it is told, and remembers it.
type stand struct {
	lane    uuid.UUID
	command lanes.Command
	kind    lanes.Kind
	session uuid.UUID
	items   []lanes.Item
	refuses error
	status  int           // of the webhook
	passed  string        // session-id that the products API got
	gate    chan struct{} // nil, or what a create waits for
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 250_000_000, time.UTC)

func (s *stand) Layout() lanes.Layout {
	return lanes.Layout{
		Bays:   []lanes.Bay{{ID: uuid.MustParse(theBay), Name: "Bay A"}},
		Groups: []lanes.Group{{ID: uuid.MustParse(theGroup), Name: "Public"}},
	}
}

func (s *stand) Lanes() []lanes.LaneStatus {
	first := lanes.LaneStatus{
		Place: lanes.Place{ID: uuid.MustParse(theLane), Bay: uuid.MustParse(theBay), Name: "Lane 1", Accessible: true},
		Lane:  lanes.Lane{Session: &lanes.Session{ID: uuid.MustParse(theSession), Phase: lanes.Waiting}, Accessible: true},
		Link:  lanes.LinkUp, LinkSince: noon,
	}
	second := first
	second.Name, second.Link, second.NotUsable, second.Lane = "Lane 2", lanes.LinkDown, "its link is down", lanes.Lane{Held: true, Accessible: true, Sale: lanes.OffSale}
	return []lanes.LaneStatus{first, second}
}

func (s *stand) view() *lanes.SessionView {
	return &lanes.SessionView{
		ID: uuid.MustParse(theSession), Lane: uuid.MustParse(theLane), Group: uuid.MustParse(theGroup),
		Minutes: 60, Remaining: time.Hour, Created: noon, Purchasing: true,
	}
}

func (s *stand) Sessions() []*lanes.SessionView {
	running := s.view()
	running.Began, running.Remaining = &noon, 59*time.Minute+30*time.Second
	return []*lanes.SessionView{s.view(), running}
}

func (s *stand) Session(context.Context, uuid.UUID) (*lanes.SessionView, error) {
	return s.view(), s.refuses
}

func (s *stand) Create(_ context.Context, lane uuid.UUID, command lanes.Create, _ *lanes.Key) (*lanes.SessionView, error) {
	if s.gate != nil {
		<-s.gate
		return s.view(), nil
	}
	s.lane, s.command = lane, command
	return s.view(), s.refuses
}

func (s *stand) On(_ context.Context, session uuid.UUID, command lanes.Command, _ *lanes.Key) (*lanes.SessionView, error) {
	s.session, s.command = session, command
	view := s.view()
	if set, is := command.(lanes.SetDuration); is {
		view.Minutes = set.Minutes
	}
	return view, s.refuses
}

func (s *stand) Move(_ context.Context, _, to uuid.UUID, _ *lanes.Key) (*lanes.SessionView, error) {
	s.lane = to
	return s.view(), s.refuses
}

func (s *stand) Events(context.Context, uint64, int) ([]lanes.Logged, error) {
	event := lanes.Event{
		ID: uuid.New(), Kind: lanes.SessionCreated, Session: uuid.MustParse(theSession), Lane: uuid.MustParse(theLane), At: noon,
	}
	return []lanes.Logged{
		{Cursor: 1, Event: event, Attempt: &lanes.Attempt{At: noon, Status: 200, Duration: 35 * time.Millisecond}},
		{Cursor: 2, Event: event, Attempt: &lanes.Attempt{At: noon, Error: lanes.NoWebhook}},
		{Cursor: 3, Event: event, Simulated: true},
	}, s.refuses
}

func (s *stand) History(context.Context, uint64, int) ([]lanes.Ended, error) {
	return []lanes.Ended{{
		Cursor: 1, Lane: uuid.MustParse(theLane), At: noon, Reason: lanes.Expired, Used: time.Hour, Paused: time.Second,
		Session: lanes.Session{ID: uuid.MustParse(theSession), Sold: time.Hour, Created: lanes.Instant{Wall: noon}},
	}}, s.refuses
}

func (s *stand) Simulate(_ context.Context, kind lanes.Kind, session uuid.UUID, items []lanes.Item) (lanes.Logged, error) {
	s.kind, s.session, s.items = kind, session, items
	event := lanes.Event{Kind: kind, Session: uuid.MustParse(theSession), Lane: uuid.MustParse(theLane), Items: items}
	return lanes.Logged{Event: event, Simulated: true, Attempt: &lanes.Attempt{Status: s.status}}, s.refuses
}

func (s *stand) Fetch(_ context.Context, t catalog.Type, session string) ([]catalog.Product, error) {
	s.passed = session
	return []catalog.Product{{ID: "a", DisplayName: "A of " + string(t), Price: "12.50", MaxQty: 5, MinQty: 1, IncrementBy: 1}}, s.refuses
}

func (s *stand) All(ctx context.Context, session string) (catalog.Catalogue, error) {
	products, err := s.Fetch(ctx, catalog.Ammo, session)
	return catalog.Catalogue{Time: []catalog.Product{}, Targets: []catalog.Product{}, Ammo: products, Rentals: []catalog.Product{}}, err
}

// missing is the error where there is no stand.
func (s *stand) missing(err error) error {
	if s == nil {
		return err
	}
	return nil
}

// settings are those of a playground whose range is the stand; with nil it is still being brought back, and nothing is
// configured for it.
func settings(s *stand) Settings {
	return Settings{
		Credentials: Credentials{
			uuid.MustParse(someRange):  {digest(someToken)},
			uuid.MustParse(otherRange): {digest(otherToken)},
		},
		Range:      func(uuid.UUID) (v2.Range, error) { return s, s.missing(lanes.ErrStarting) },
		Playground: true,
		Simulate:   func(uuid.UUID) (simulate.Range, error) { return s, s.missing(lanes.ErrStarting) },
		Products:   func(uuid.UUID) (simulate.Products, error) { return s, s.missing(lanes.ErrProductsNotConfigured) },
		Traffic:    NewTraffic(prometheus.NewRegistry()),
		Log:        zerolog.Nop(),
		Screens: Screens{
			Seen:  control.NewSeen(),
			Staff: map[uuid.UUID]map[string]string{uuid.MustParse(someRange): {"sam": samsHash}},
			Lanes: map[uuid.UUID]lanescreen.Lane{
				uuid.MustParse(theLane):   {Range: uuid.MustParse(someRange), Key: laneKey},
				uuid.MustParse(otherLane): {Range: uuid.MustParse(otherRange), Key: otherLaneKey},
			},
			Control:  func(uuid.UUID) (control.Range, error) { return nil, lanes.ErrStarting },
			Lane:     func(uuid.UUID) (lanescreen.Range, error) { return nil, lanes.ErrStarting },
			Shop:     func(uuid.UUID) (lanescreen.Shop, error) { return nil, lanes.ErrProductsNotConfigured },
			Pictures: lanescreen.NewPictures("rangegate", nil),
		},
	}
}

const (
	otherLane    = "44444444-4444-4444-8444-000000000002"
	laneKey      = "the-key-of-a-screen"
	otherLaneKey = "the-key-of-another-screen"
	// samsHash is of the PIN 1234, as weak as can be.
	samsHash = "$argon2id$v=19$m=8,t=1,p=1$ac+mRtgPGpfnU3slhEcbfw$k38ZPzodCFblFONCXg2JBgLsYY/9kyiegHHsxXWpwzA"
)

// signedIn is the cookie of sam, staff of the range.
func signedIn(h http.Handler) string {
	return cookieOf(send(h, "POST", "/control/sign-in", `{"range_id":"`+someRange+`","name":"sam","pin":"1234"}`))
}

// atTheLane is the cookie of a lane's screen.
func atTheLane(h http.Handler, lane, key string) string {
	return cookieOf(ask(h, "GET", "/lane/"+lane+"?key="+key))
}

func cookieOf(answer *httptest.ResponseRecorder) string {
	for _, cookie := range answer.Result().Cookies() {
		return cookie.Name + "=" + cookie.Value
	}
	return ""
}

// asleep is an API whose ranges are still being brought back.
func asleep() http.Handler { return New(settings(nil)) }

// open is an API whose ranges are the stand.
func open(s *stand) http.Handler { return New(settings(s)) }

// ask sends a request; headers come in pairs.
func ask(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	return send(h, method, path, "", headers...)
}

func send(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer
}

// known sends a request with the credentials of the range, of the operator, and of the screens.
func known(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	headers = append(headers, "range-id", someRange, "token", someToken, "Authorization", "Bearer operator")
	if strings.HasPrefix(path, "/control") || strings.HasPrefix(path, "/lane") {
		headers = append(headers, "Cookie", signedIn(h)+"; "+atTheLane(h, theLane, laneKey))
	}
	return send(h, method, path, body, headers...)
}
