package control

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/api/screens"
	"rangegate/lanes"
)

// streamReader reads a stream over a real connection.
type streamReader struct {
	t      *testing.T
	status int
	lines  *bufio.Scanner
	hangUp func()
}

// openStream opens the stream with the browser's cookie.
func (b *browser) openStream() *streamReader {
	server := httptest.NewServer(b.handler)
	b.t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/control/stream", nil)
	require.NoError(b.t, err)
	if b.cookie != nil {
		request.AddCookie(b.cookie)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(b.t, err)
	hangUp := func() {
		cancel()
		_ = response.Body.Close()
	}
	b.t.Cleanup(hangUp)
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return &streamReader{b.t, response.StatusCode, lines, hangUp}
}

// next returns the next message that is no beat; "" at the end.
func (s *streamReader) next() (event, data string) {
	for s.lines.Scan() {
		if name, ok := strings.CutPrefix(s.lines.Text(), "event: "); ok {
			event = name
		}
		if text, ok := strings.CutPrefix(s.lines.Text(), "data: "); ok && event != "beat" {
			return event, text
		}
	}
	return "", ""
}

func (s *streamReader) expect(event, data string) {
	s.t.Helper()
	gotEvent, gotData := s.next()
	require.Equal(s.t, event, gotEvent)
	require.JSONEq(s.t, data, gotData)
}

const (
	shownFirst = `{"lane_id":"` + lane1 + `","bay_id":"` + bayA + `","name":"Lane 1","phase":"running",` +
		`"session":{"session_id":"` + session1 +
		`","customer_name":"Jo Smith","group_id":"33333333-3333-4333-8333-000000000001",` +
		`"duration":60,"left_ms":2910000,"began_at":"2026-05-01T12:00:00.250Z","created_at":"2026-05-01T12:00:00.250Z",` +
		`"purchasing":true,"paused_by_hold":false,"external_id":"","ran_on_ms":90000,"goes_on_with":["33333333-3333-4333-8333-000000000001"]},` +
		`"for_sale":true,"sale":"configured","usable":true,"not_usable_because":null,"link":"up","link_since":"2026-05-01T12:00:00.250Z",` +
		`"held":false,"locked":false,"help":null,"stray_hit":null,` +
		`"purchase":{"purchase_id":"77777777-7777-4777-8777-000000000001","phase":"pending","minutes":15},"second_controller":null,"uncleared":null,"open_end":true}`
	now = `"now":"2026-05-01T12:01:30.250Z"`
)

func TestAStreamBeginsWithTheWholeState(t *testing.T) {
	f := newFixture(t)
	f.setHolds(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "sam",
		noon.Wall).Set(lanes.Scope{Kind: lanes.OverBay, ID: theBay}, "alex", noon.Wall))
	f.signedIn().openStream().expect("picture", `{`+now+`,"range":{"id":"`+north.String()+
		`","name":"North","purchasing":true,"currency":"EUR","presets":[{"minutes":30,"group_id":null},{"minutes":60,"group_id":"33333333-3333-4333-8333-000000000001"}],"open_end":true},"who":"sam","releases_range":true,`+
		`"bays":[{"id":"`+bayA+
		`","name":"Bay A"}],"groups":[{"id":"33333333-3333-4333-8333-000000000001","name":"Public"}],`+
		`"lanes":[`+shownFirst+
		`],"holds":[{"scope":"range","id":null,"who":"sam","since":"2026-05-01T12:00:00.250Z","press":null},`+
		`{"scope":"bay","id":"`+bayA+`","who":"alex","since":"2026-05-01T12:00:00.250Z","press":null}],"unresolved":0}`)
}

func TestAStreamContinuesWithChanges(t *testing.T) {
	f := newFixture(t)
	second := uuid.MustParse("44444444-4444-4444-8444-000000000002")
	f.add(lanes.LaneStatus{Place: lanes.Place{ID: second, Bay: theBay, Name: "Lane 2"}, Lane: lanes.Lane{ID: second}})
	b := f.signedIn()
	stream := b.openStream()
	event, data := stream.next()
	require.Equal(t, "picture", event)
	require.Contains(t, data, `"name":"Lane 2","phase":"free","session":null`)

	stray := noon.Wall
	f.change(1, func(s *lanes.LaneStatus) {
		s.Lane = lanes.Lane{
			ID: second, Held: true, Sale: lanes.OffSale, Accessible: true, Stray: &stray,
			Help:      &lanes.HelpCall{At: noon.Wall, Coming: true},
			Uncleared: &lanes.Uncleared{Session: uuid.MustParse(session1), Since: noon},
			Terms:     lanes.Terms{ClearAfter: 2 * time.Minute},
			Open:      []*lanes.Purchase{{Phase: lanes.Unresolved}, {Phase: lanes.Unresolved}, {Phase: lanes.Pending}},
		}
		s.Link, s.LinkSince, s.NotUsable, s.Locked = lanes.LinkDown, noon.Wall, "its link is down", true
		s.Contest = &lanes.Contest{At: noon.Wall, Refused: "192.0.2.7:41000", Linked: "192.0.2.1:40000"}
	})
	stream.expect("change", `{`+now+`,"lanes":[{"lane_id":"`+second.String()+`","bay_id":"`+bayA+
		`","name":"Lane 2","phase":"free","session":null,`+
		`"for_sale":false,"sale":"closed","usable":false,"not_usable_because":"its link is down","link":"down","link_since":"2026-05-01T12:00:00.250Z",`+
		`"held":true,"locked":true,"help":{"at":"2026-05-01T12:00:00.250Z","coming":true},"stray_hit":"2026-05-01T12:00:00.250Z","purchase":null,`+
		`"second_controller":{"at":"2026-05-01T12:00:00.250Z","refused":"192.0.2.7:41000","linked":"192.0.2.1:40000"},`+
		`"uncleared":{"session_id":"`+session1+
		`","since":"2026-05-01T12:00:00.250Z","left_ms":30000},"open_end":true}],`+
		`"holds":[],"unresolved":2}`)

	f.setHolds(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "sam", noon.Wall))
	stream.expect("change", `{`+now+
		`,"lanes":[],"holds":[{"scope":"range","id":null,"who":"sam","since":"2026-05-01T12:00:00.250Z","press":null}],"unresolved":2}`)
	f.setHolds(lanes.Holds{})
	stream.expect("change", `{`+now+`,"lanes":[],"holds":[],"unresolved":2}`)

	f.change(1, func(s *lanes.LaneStatus) { s.Lane.Open = s.Lane.Open[:1] })
	_, data = stream.next()
	require.Contains(t, data, `"unresolved":1`)
}

func TestAStreamEndsWithItsSession(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	stream, again := b.openStream(), b.openStream()
	for _, s := range []*streamReader{stream, again} {
		event, _ := s.next()
		require.Equal(t, "picture", event)
	}
	b.send("POST", "/control/sign-out", "")
	for _, s := range []*streamReader{stream, again} {
		s.expect("bye", `{}`)
		event, _ := s.next()
		require.Empty(t, event, "the stream has ended")
	}
	require.Equal(t, http.StatusUnauthorized, b.openStream().status)
}

func TestOpenStreamsAreBounded(t *testing.T) {
	f := newFixture(t)
	b := f.signedIn()
	server := httptest.NewServer(f.handler)
	defer server.Close()
	open := func() (status int, cancel context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/control/stream", nil)
		require.NoError(t, err)
		request.AddCookie(b.cookie)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		return response.StatusCode, cancel
	}
	var cancels []context.CancelFunc
	for range maxStreams {
		status, cancel := open()
		require.Equal(t, http.StatusOK, status)
		cancels = append(cancels, cancel)
	}
	status, cancel := open()
	require.Equal(t, http.StatusServiceUnavailable, status)
	cancel()
	for _, cancel := range cancels {
		cancel()
	}
	require.Eventually(t, func() bool {
		status, cancel := open()
		cancel()
		return status == http.StatusOK
	}, time.Minute, 10*time.Millisecond, "a closed stream releases its slot")
}

// BenchmarkACeasefireOn50Screens changes all of 400 lanes at once, as a ceasefire does.
func BenchmarkACeasefireOn50Screens(b *testing.B) {
	s := newFakeRange()
	for range 399 {
		s.add(s.lanes[0])
	}
	shared, all := screens.NewFrameCache(viewOf), make([]*viewer, 50)
	for i := range all {
		all[i] = &viewer{r: s, frames: shared, started: true, unresolved: map[uuid.UUID]int{}}
	}
	bytes := 0
	for b.Loop() {
		s.change(0, func(*lanes.LaneStatus) {})
		for _, screen := range all {
			screen.version = 0
			_, data, _ := screen.next()
			bytes += len(data.(screens.Encoded))
		}
	}
	b.ReportMetric(float64(bytes)/float64(b.N)/50/400, "B/lane")
}

// BenchmarkAChangeOn50Screens changes one of 400 lanes.
func BenchmarkAChangeOn50Screens(b *testing.B) {
	s := newFakeRange()
	for range 399 {
		s.add(s.lanes[0])
	}
	shared, all := screens.NewFrameCache(viewOf), make([]*viewer, 50)
	for i := range all {
		all[i] = &viewer{r: s, frames: shared, unresolved: map[uuid.UUID]int{}}
		all[i].next()
	}
	bytes := 0
	for b.Loop() {
		s.change(7, func(*lanes.LaneStatus) {})
		for _, screen := range all {
			_, data, _ := screen.next()
			bytes += len(data.(screens.Encoded))
		}
	}
	b.ReportMetric(float64(bytes)/float64(b.N)/50, "B/message")
}
