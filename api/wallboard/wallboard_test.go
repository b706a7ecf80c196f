package wallboard

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
)

const (
	north, south = "11111111-1111-4111-8111-111111111111", "11111111-1111-4111-8111-111111111112"
	lane1, lane2 = "44444444-4444-4444-8444-000000000001", "44444444-4444-4444-8444-000000000002"
	bayA         = "55555555-5555-4555-8555-000000000001"
	northKey     = "the-key-of-the-north-wall"
	southKey     = "the-key-of-the-south-wall"
)

var noon = lanes.Instant{Wall: time.Date(2026, 5, 1, 12, 0, 0, 250_000_000, time.UTC), Mono: time.Hour}

// fakeRange is a range of two lanes. A session runs on the first one.
type fakeRange struct {
	mu       sync.Mutex
	lanes    []lanes.LaneStatus
	versions []uint64
	version  uint64
	holds    lanes.Holds
	wake     chan struct{}
	ended    chan struct{}
	reads    int // of Changes
}

func newFakeRange() *fakeRange {
	f := &fakeRange{wake: make(chan struct{}), ended: make(chan struct{}), version: 1, versions: []uint64{1, 1}}
	for i, id := range []string{lane1, lane2} {
		f.lanes = append(f.lanes, lanes.LaneStatus{
			Place: lanes.Place{
				ID: uuid.MustParse(id), Bay: uuid.MustParse(bayA),
				Name: []string{"Lane 1", "Lane 2"}[i],
			},
			Lane: lanes.Lane{ID: uuid.MustParse(id), Accessible: true, Usable: true}, Link: lanes.LinkUp,
		})
	}
	f.lanes[0].Lane.Session = &lanes.Session{
		ID: uuid.New(), Group: uuid.New(), Customer: "Jo van der Smith", Sold: time.Hour, Phase: lanes.Running,
		Left: 50 * time.Minute, Since: noon,
		Purchase: &lanes.Purchase{
			ID: uuid.New(), Phase: lanes.Pending, Items: []lanes.Item{{ID: "9mm", Qty: 2}},
			UserMessage: "Sold out.",
		},
	}
	return f
}

func (f *fakeRange) change(i int, update func(*lanes.LaneStatus)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	update(&f.lanes[i])
	f.version++
	f.versions[i] = f.version
	f.awake()
}

func (f *fakeRange) setHolds(holds lanes.Holds) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holds = holds
	f.awake()
}

func (f *fakeRange) awake() {
	close(f.wake)
	f.wake = make(chan struct{})
}

func (f *fakeRange) Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	for i, status := range f.lanes {
		if f.versions[i] > after {
			changed = append(changed, status)
		}
	}
	return changed, f.version, f.wake
}

func (f *fakeRange) Holds() lanes.Holds {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.holds
}

func (f *fakeRange) Layout() lanes.Layout {
	return lanes.Layout{
		Range: uuid.MustParse(north), Name: "North",
		Bays: []lanes.Bay{{ID: uuid.MustParse(bayA), Name: "Bay A"}},
	}
}

func (f *fakeRange) Now() lanes.Instant { return noon.Add(90 * time.Second) }

func (f *fakeRange) Ended() <-chan struct{} { return f.ended }

// fixture is the wall boards of two ranges, which both are the fake one.
type fixture struct {
	*fakeRange
	t       *testing.T
	handler http.Handler
	boards  map[uuid.UUID]Board
	wrong   *screens.AttemptLimiter[netip.Prefix]
	streams prometheus.Gauge
	closing chan struct{}
	cookie  *http.Cookie
	missing error
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{
		fakeRange: newFakeRange(), t: t,
		wrong:   screens.NewAttemptLimiter[netip.Prefix](screens.PerMinute(screens.MaxWrongKeys)),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "streams"}),
		boards:  map[uuid.UUID]Board{uuid.MustParse(north): {Key: northKey}, uuid.MustParse(south): {Key: southKey}},
	}
	f.reload()
	return f
}

// reload is what a reload of the configuration does.
func (f *fixture) reload() {
	if f.closing != nil {
		close(f.closing)
	}
	f.closing = make(chan struct{})
	table := endpoint.Errors{}
	for status, codes := range map[int][]string{
		400: {"invalid_request"}, 401: {"unauthorized"}, 403: {"cross_site"}, 404: {"not_found"},
		405: {"method_not_allowed"}, 408: {"request_timeout"},
		413: {"too_large"}, 415: {"unsupported_media_type"}, 500: {"internal"},
		503: {"starting", "overloaded", "not_owner"}, 504: {"timeout"},
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
		Boards: f.boards, WrongKeys: f.wrong, Closing: f.closing, Streams: f.streams,
		Range: func(uuid.UUID) (Range, error) { return f.fakeRange, f.missing },
	})
	f.handler = router
}

func (f *fixture) get(path string) *httptest.ResponseRecorder {
	request := httptest.NewRequest("GET", path, nil)
	if f.cookie != nil {
		request.AddCookie(f.cookie)
	}
	response := httptest.NewRecorder()
	f.handler.ServeHTTP(response, request)
	for _, cookie := range response.Result().Cookies() {
		f.cookie = cookie
	}
	return response
}

// opened returns the fixture with the cookie of the first range's board.
func (f *fixture) opened() *fixture {
	require.Equal(f.t, http.StatusSeeOther, f.get("/board/"+north+"?key="+northKey).Code)
	return f
}

// How keys are checked, package screens tests. Here: the pages that it serves, and the one stream.
func TestTheKeyOpensTheBoardsOfItsRange(t *testing.T) {
	f := newFixture(t)
	refused := f.get("/board/" + north + "?key=" + southKey)
	require.Equal(t, http.StatusUnauthorized, refused.Code)
	require.Contains(t, refused.Body.String(), "not the address")
	require.NotContains(t, refused.Body.String(), "main.js")
	require.Equal(t, http.StatusUnauthorized, f.get("/board/"+north+"/stream").Code)
	f.opened()
	page := f.get("/board/" + north)
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "/board/assets/main.js")
	require.Equal(t, http.StatusUnauthorized, f.get("/board/"+south).Code, "another range's board")
	require.Equal(t, http.StatusUnauthorized, f.get("/board/"+south+"/stream").Code)
}

// A page of an older release knows by the version that it has to load itself again.
func TestThePageHasTheVersionThatItsStreamSays(t *testing.T) {
	f := newFixture(t).opened()
	_, after, found := strings.Cut(f.get("/board/"+north).Body.String(), `name="version" content="`)
	require.True(t, found)
	version, _, _ := strings.Cut(after, `"`)
	require.Len(t, version, 16)
	event, data := f.follow().next()
	require.Equal(t, "picture", event)
	require.Contains(t, data, `"version":"`+version+`"`)
}

// reader reads a stream over a real connection.
type reader struct {
	status int
	lines  *bufio.Scanner
}

func (f *fixture) follow() reader {
	server := httptest.NewServer(f.handler)
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/board/"+north+"/stream", nil)
	require.NoError(f.t, err)
	request.AddCookie(f.cookie)
	response, err := http.DefaultClient.Do(request)
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		cancel()
		_ = response.Body.Close()
		server.Close()
	})
	return reader{response.StatusCode, bufio.NewScanner(response.Body)}
}

// next returns the next message that is no beat; "" at the end.
func (r reader) next() (event, data string) {
	for r.lines.Scan() {
		if name, ok := strings.CutPrefix(r.lines.Text(), "event: "); ok {
			event = name
		}
		if text, ok := strings.CutPrefix(r.lines.Text(), "data: "); ok && event != "beat" {
			return event, text
		}
	}
	return "", ""
}

// Everything that a board is sent, to the byte: no name of a customer or of staff, no session, no purchase,
// no address of a controller.
func TestAStreamHasWhatIsShownAndNothingElse(t *testing.T) {
	f := newFixture(t).opened()
	f.setHolds(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverBay, ID: uuid.MustParse(bayA)}, "sam", noon.Wall))
	stream := f.follow()
	_, data := stream.next()
	const now = `"now":"2026-05-01T12:01:30.250Z"`
	require.Regexp(t, `^\{`+now+`,"version":"[0-9a-f]{16}","range":"North","names":false,"bays":\[\{"bay_id":"`+bayA+
		`","name":"Bay A"\}\],`+
		`"holds":\[\{"scope":"bay","id":"`+bayA+`"\}\],"lanes":\[`+
		`\{"lane_id":"`+lane1+`","bay_id":"`+bayA+
		`","name":"Lane 1","phase":"running","left_ms":2910000,"clear_ms":0,"for_sale":true,"usable":true,"link":true,"held":false,"locked":false,"help":""\},`+
		`\{"lane_id":"`+lane2+`","bay_id":"`+bayA+
		`","name":"Lane 2","phase":"free","left_ms":0,"clear_ms":0,"for_sale":true,"usable":true,"link":true,"held":false,"locked":false,"help":""\}\]\}$`, data)

	f.change(1, func(s *lanes.LaneStatus) {
		s.Lane.Held, s.Locked, s.Link, s.NotUsable, s.Lane.Sale = true, true, lanes.LinkFaulty,
			"panicked", lanes.OffSale
		s.Lane.Help = &lanes.HelpCall{At: noon.Wall}
		s.Lane.Uncleared, s.Lane.ClearAfter = &lanes.Uncleared{Session: uuid.New(), Since: noon}, 2*time.Minute
		s.Contest = &lanes.Contest{Refused: "192.0.2.7:41000", Linked: "192.0.2.1:40000"}
	})
	event, data := stream.next()
	require.Equal(t, "change", event)
	require.Equal(t, `{`+now+`,"holds":[{"scope":"bay","id":"`+bayA+`"}],"lanes":[`+
		`{"lane_id":"`+lane2+`","bay_id":"`+bayA+
		`","name":"Lane 2","phase":"free","left_ms":0,"clear_ms":30000,"for_sale":false,"usable":false,"link":false,"held":true,"locked":true,"help":"called"}]}`, data)

	f.change(1, func(s *lanes.LaneStatus) { s.Lane.Help = &lanes.HelpCall{At: noon.Wall, Coming: true} })
	_, data = stream.next()
	require.Contains(t, data, `"help":"coming"`)
	f.setHolds(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "sam", noon.Wall))
	_, data = stream.next()
	require.Equal(t, `{`+now+`,"holds":[{"scope":"range","id":null}],"lanes":[]}`, data)
}

func TestNamesAreShortAndOnlyWhereTheRangeShowsThem(t *testing.T) {
	for name, short := range map[string]string{
		"Jo Smith": "Jo S.", "Jo van der Smith": "Jo S.", " Jo ": "Jo", "": "", "Élodie Öz": "Élodie Ö.",
		"Walk-in 12": "Walk-in 12", "李 小龙": "李 小.",
	} {
		require.Equal(t, short, shortName(name))
	}
	f := newFixture(t).opened()
	f.boards[uuid.MustParse(north)] = Board{Key: northKey, Names: true}
	f.reload()
	_, data := f.follow().next()
	require.Contains(t, data, `"names":true`)
	require.Contains(t, data, `"customer":"Jo S."`)
	require.NotContains(t, data, "Smith")
}

// A reload closes every open board; with another key none comes back.
func TestAReloadClosesOpenBoards(t *testing.T) {
	f := newFixture(t).opened()
	stream := f.follow()
	stream.next()
	f.reload()
	event, _ := stream.next()
	require.Empty(t, event)
	stream = f.follow()
	require.Equal(t, http.StatusOK, stream.status, "the same key")
	stream.next()
	f.boards[uuid.MustParse(north)] = Board{Key: "another-key-of-the-north-wall"}
	f.reload()
	event, _ = stream.next()
	require.Empty(t, event)
	require.Equal(t, http.StatusUnauthorized, f.follow().status)
	require.Equal(t, http.StatusUnauthorized, f.get("/board/"+north).Code)
}

func TestABoardEndsWithItsRange(t *testing.T) {
	f := newFixture(t).opened()
	stream := f.follow()
	stream.next()
	close(f.ended)
	event, _ := stream.next()
	require.Empty(t, event)
	f.missing = lanes.ErrStarting
	require.Equal(t, http.StatusServiceUnavailable, f.follow().status)
}

func TestTheOpenBoardsOfARangeAreCountedAndLimited(t *testing.T) {
	f := newFixture(t).opened()
	for range maxStreams {
		event, _ := f.follow().next()
		require.Equal(t, "picture", event)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(f.streams)
	counted, err := registry.Gather()
	require.NoError(t, err)
	require.InDelta(t, maxStreams, counted[0].GetMetric()[0].GetGauge().GetValue(), 0)
	require.Equal(t, http.StatusServiceUnavailable, f.follow().status)
}
