package shooterpage

import (
	"bufio"
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
)

var (
	north   = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	south   = uuid.MustParse("11111111-1111-4111-8111-111111111112")
	session = uuid.MustParse("66666666-6666-4666-8666-000000000001")
	noon    = lanes.Instant{Wall: time.Date(2026, 5, 1, 12, 0, 0, 250_000_000, time.UTC), Mono: time.Hour}
)

// fakeRange has one session, on a lane that a test may change.
type fakeRange struct {
	mu      sync.Mutex
	status  lanes.LaneStatus
	gone    bool // the session is on no lane
	version uint64
	wake    chan struct{}
	endedAt time.Time
	err     error // of SessionEnd
}

func newFakeRange() *fakeRange {
	return &fakeRange{version: 1, wake: make(chan struct{}), status: lanes.LaneStatus{
		Place: lanes.Place{ID: uuid.New(), Name: "Lane 7"}, Link: lanes.LinkUp,
		Lane: lanes.Lane{Purchasing: true, Help: &lanes.HelpCall{At: noon.Wall}, Session: &lanes.Session{
			ID: session, Group: uuid.New(), Customer: "Jo Smith", Sold: time.Hour, Phase: lanes.Running,
			Left: 50 * time.Minute, Since: noon, Created: noon, Began: &noon,
			Correlation: &lanes.Correlation{},
		}},
	}}
}

func (f *fakeRange) Now() lanes.Instant     { return noon.Add(90 * time.Second) }
func (f *fakeRange) Ended() <-chan struct{} { return nil }

func (f *fakeRange) SessionChange(
	id uuid.UUID,
) (status lanes.LaneStatus, version uint64, wake <-chan struct{}, found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone || id != session {
		return lanes.LaneStatus{}, 0, nil, false
	}
	return f.status, f.version, f.wake, true
}

func (f *fakeRange) SessionEnd(_ context.Context, id uuid.UUID) (time.Time, error) {
	if id != session {
		return time.Time{}, lanes.ErrSessionNotFound
	}
	return f.endedAt, f.err
}

func (f *fakeRange) change(update func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	update()
	f.version++
	close(f.wake)
	f.wake = make(chan struct{})
}

type fixture struct {
	*fakeRange
	t         *testing.T
	addresses Addresses
	server    *httptest.Server
}

// newFixture serves the pages of two ranges, of which the north one runs.
func newFixture(t *testing.T) *fixture {
	f := &fixture{fakeRange: newFakeRange(), t: t, addresses: addressesBy("the key")}
	table := endpoint.Errors{}
	for status, codes := range map[int][]string{
		404: {"not_found"}, 403: {"cross_site"}, 410: {Gone},
		429: {"too_many_requests"}, 500: {"internal"}, 503: {"overloaded", "starting", "store_unavailable"},
	} {
		for _, code := range codes {
			table[code] = endpoint.Error{Status: status, Sentence: code}
		}
	}
	a := &endpoint.API{
		Errors: table,
		Defect: func(_ *http.Request, cause error, stack []byte) { t.Errorf("defect: %v\n%s", cause, stack) },
	}
	r := chi.NewRouter()
	Mount(r, a, Settings{
		Addresses:      f.addresses,
		WrongAddresses: screens.NewAttemptLimiter[netip.Prefix](screens.PerMinute(MaxWrongAddresses)),
		Streams:        prometheus.NewGauge(prometheus.GaugeOpts{}),
		Range: func(id uuid.UUID) (Range, error) {
			if id == north {
				return f.fakeRange, nil
			}
			return nil, lanes.ErrStarting
		},
	})
	f.server = httptest.NewServer(r)
	t.Cleanup(f.server.Close)
	return f
}

func addressesBy(key string) Addresses {
	return NewAddresses(func() []byte { return []byte(key) }, []uuid.UUID{north, south})
}

// request sends a request, which ends with the test.
func (f *fixture) request(path string) *http.Response {
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.server.URL+path, nil)
	require.NoError(f.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// ask returns the status of a request, and the headers of its response.
func (f *fixture) ask(path string) (status int, header http.Header) {
	response := f.request(path)
	_ = response.Body.Close()
	return response.StatusCode, response.Header
}

// requireStatus requires the status of a request.
func (f *fixture) requireStatus(status int, path string) {
	f.t.Helper()
	got, _ := f.ask(path)
	require.Equal(f.t, status, got)
}

// follow returns the function that returns the next message of the session's page: its event and its data.
func (f *fixture) follow() (next func() string) {
	//nolint:bodyclose // it is closed when the test ends
	response := f.request(f.addresses.Path(north, session) + "/stream")
	require.Equal(f.t, http.StatusOK, response.StatusCode)
	lines := bufio.NewReader(response.Body)
	return func() string {
		var message []string
		for {
			line, err := lines.ReadString('\n')
			require.NoError(f.t, err)
			if line == "\n" {
				return strings.Join(message, " ")
			}
			message = append(message, strings.TrimSpace(line[strings.Index(line, ":")+1:]))
		}
	}
}

// The page shows the lane, the time left, the state and a ceasefire, and not one thing more: nobody's name,
// no id, nothing of the POS.
func TestThePageShowsTheLaneAndTheTimeAlone(t *testing.T) {
	f := newFixture(t)
	next := f.follow()
	at := `{"now":"2026-05-01T12:01:30.250Z",`
	require.Equal(t, `picture `+at+`"lane":"Lane 7","state":"running","running":true,"left_ms":2910000}`, next())
	f.change(func() { f.status.Lane.Held = true })
	require.Equal(t, `change `+at+`"lane":"Lane 7","state":"ceasefire","running":true,"left_ms":2910000}`, next())
	f.change(func() {
		paused := *f.status.Lane.Session
		paused.Phase, paused.ByHold, paused.Left = lanes.Paused, true, 40*time.Minute
		f.status.Lane.Held, f.status.Lane.Session = false, &paused
	})
	require.Equal(t, `change `+at+`"lane":"Lane 7","state":"ceasefire","running":false,"left_ms":2400000}`, next(),
		"until it is resumed")
	f.change(func() { f.status.Lane.Session.ByHold = false })
	require.Equal(t, `change `+at+`"lane":"Lane 7","state":"paused","running":false,"left_ms":2400000}`, next())
	f.change(func() { f.status.Name = "Lane 9" })
	require.Contains(t, next(), `"lane":"Lane 9"`, "it follows the session")
	f.change(func() { f.gone = true })
	require.Equal(t, `change `+at+`"lane":"","state":"ended","running":false,"left_ms":0}`, next())

	for held, state := range map[bool]string{false: "waiting", true: "barred"} {
		s := f.status
		waiting := *s.Lane.Session
		waiting.Phase, waiting.Left, s.Lane.Held, s.Lane.Session = lanes.Waiting, time.Hour, held, &waiting
		require.Equal(t, message{"2026-05-01T12:00:00.250Z", "Lane 9", state, false, 3600000, screens.Marks{}, nil},
			messageOf(s, noon))
	}
}

// After its end the page says so for a while; then there is none.
func TestThePageEndsWithItsSession(t *testing.T) {
	f := newFixture(t)
	f.gone = true
	stream := f.addresses.Path(north, session) + "/stream"
	f.endedAt = f.Now().Wall.Add(-afterEnd)
	require.Contains(t, f.follow()(), `"state":"ended"`)
	f.endedAt = f.endedAt.Add(-time.Second)
	f.requireStatus(http.StatusGone, stream)
	f.endedAt = time.Time{} // its record cannot be read
	f.requireStatus(http.StatusGone, stream)
	f.err = lanes.ErrStoreUnavailable
	f.requireStatus(http.StatusServiceUnavailable, stream) // the page tries again
	f.err = nil
	f.requireStatus(http.StatusGone, f.addresses.Path(north, uuid.New())+"/stream")
	f.requireStatus(http.StatusServiceUnavailable, f.addresses.Path(south, session)+"/stream") // that range is starting
}

// An address is of one session of one range. Nobody makes one without the key, and it is the same after a restart.
func TestForgedAddresses(t *testing.T) {
	made := addressesBy("the key")
	path := made.Path(north, session)
	require.Equal(t, path, addressesBy("the key").Path(north, session))
	require.Len(t, path, len("/my/")+43, "short enough for a coarse QR code")
	of, ok := made.parse(path[len("/my/"):])
	require.True(t, ok)
	require.Equal(t, shownSession{north, session}, of)

	token, err := base64.RawURLEncoding.DecodeString(path[len("/my/"):])
	require.NoError(t, err)
	for i := range token {
		changed := append([]byte(nil), token...)
		changed[i] ^= 1
		_, ok := made.parse(base64.RawURLEncoding.EncodeToString(changed))
		require.False(t, ok, "byte %d", i)
	}
	southern := tagOf(south)
	_, ok = made.parse(base64.RawURLEncoding.EncodeToString(append(southern[:], token[len(southern):]...)))
	require.False(t, ok, "a session of another range")
	_, ok = NewAddresses(func() []byte { return []byte("the key") }, []uuid.UUID{south}).parse(path[len("/my/"):])
	require.False(t, ok, "of a range that is not here any more")
	_, ok = addressesBy("another key").parse(path[len("/my/"):])
	require.False(t, ok)
	for _, nonsense := range []string{
		"", "x", path[len("/my/") : len(path)-1], path[len("/my/"):] + "A",
		path[len("/my/"):] + "=", strings.Repeat("A", 43), strings.Repeat("A", 4096),
	} {
		_, ok := made.parse(nonsense)
		require.False(t, ok, nonsense)
	}
}

// Wrong addresses are limited by network. Right ones never are: the guests of a range share an address.
func TestWrongAddressesAreLimited(t *testing.T) {
	f := newFixture(t)
	wrong := addressesBy("another key").Path(north, session)
	f.requireStatus(http.StatusNotFound, wrong)
	for range MaxWrongAddresses - 1 {
		f.requireStatus(http.StatusGone, wrong+"/stream")
	}
	f.requireStatus(http.StatusTooManyRequests, wrong+"/stream")
	page, header := f.ask(wrong)
	require.Equal(t, http.StatusTooManyRequests, page)
	require.NotEmpty(t, header.Get("Retry-After"))
	page, header = f.ask(f.addresses.Path(north, session))
	require.Equal(t, http.StatusOK, page)
	require.Equal(t, "no-referrer", header.Get("Referrer-Policy"))
	require.Contains(t, f.follow()(), "running")
}

// One address that is passed around takes no more than its part of the streams.
func TestTheStreamsOfASessionAreBounded(t *testing.T) {
	f := newFixture(t)
	for range maxOfSession {
		f.follow()()
	}
	f.requireStatus(http.StatusServiceUnavailable, f.addresses.Path(north, session)+"/stream")
	f.change(func() { f.gone = true })
	f.endedAt = f.Now().Wall
	require.Eventually(t, func() bool { // the pages close, and a stream that has said the end does at the next beat
		status, _ := f.ask(f.addresses.Path(north, session) + "/stream")
		return status == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
}
