// Package metrics has the real gateway do a bit of everything, and holds what it says of that against what was done, and
// against the conventions of Prometheus.
//
//	range.go         the range: its controllers, its integrator, its gateway
//	scrape.go        the metrics as Prometheus reads them
//	metrics_test.go  what is promised
package metrics

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/test/process"
)

const (
	rangeID  = "11111111-1111-4111-8111-111111111111"
	token    = "22222222-2222-4222-8222-222222222222"
	operator = "99999999-9999-4999-8999-999999999999" // the operations token
	group    = "33333333-3333-4333-8333-000000000001"
	bay      = "55555555-5555-4555-8555-000000000001"

	patience = time.Minute
	often    = 10 * time.Millisecond
)

func laneID(n int) string    { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }
func screenKey(n int) string { return fmt.Sprintf("the-key-of-screen-%d", n) }

// station is a range of three lanes with everything around it.
type station struct {
	t           *testing.T
	controllers *lanesim.Controllers
	hangs       atomic.Bool // the integrator's webhook answers no more
	gateway     *process.Process
	pos         process.Client
}

// open powers up the lanes' controllers and the integrator, and starts the gateway.
func open(t *testing.T) *station {
	s := &station{t: t}
	powerUp := time.Now()
	var all []lanesim.Lane
	for n := range 3 {
		all = append(all, lanesim.Lane{ID: uuid.MustParse(laneID(n + 1)), Listen: "127.0.0.1:0"})
	}
	var err error
	s.controllers, err = lanesim.New(lanesim.Settings{Now: func() lanes.Instant {
		return lanes.Instant{Wall: time.Now().UTC(), Mono: time.Since(powerUp)}
	}}, all...)
	require.NoError(t, err)
	t.Cleanup(s.controllers.Close)
	integrator := httptest.NewServer(s)
	t.Cleanup(integrator.Close)
	t.Cleanup(integrator.CloseClientConnections)
	var list strings.Builder
	for n := 1; n <= 3; n++ {
		fmt.Fprintf(&list, "      - {id: %s, name: Lane %d, bay: %s, screen_key: %s, link: {driver: websocket, address: %q}}\n",
			laneID(n), n, bay, screenKey(n), s.controller(n).Address())
	}
	s.gateway = process.Serve(t, fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0}
operations: {address: 127.0.0.1:0, token: %s}
store: {sqlite: %q}
ranges:
  - id: %s
    name: Range
    token: %s
    purchasing: true
    link_grace: 100ms
    webhook: {url: "%s/webhook"}
    products: {url: "%s"}
    bays: [{id: %s, name: Bay A}]
    groups: [{id: %s, name: Public}]
    lanes:
%s`, operator, filepath.Join(t.TempDir(), "rangegate.db"), rangeID, token, integrator.URL, integrator.URL, bay, group, list.String())).Ready()
	s.pos = process.Client{API: s.gateway.API, Range: rangeID, Token: token}
	return s
}

// ServeHTTP is the integrator: it has nothing to sell, and takes every event until it hangs.
func (s *station) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or it would not be told that the gateway is gone
	if r.URL.Path == "/webhook" && s.hangs.Load() {
		<-r.Context().Done()
		return
	}
	_, _ = io.WriteString(w, "[]")
}

func (s *station) controller(n int) *lanesim.Controller {
	return s.controllers.Controller(uuid.MustParse(laneID(n)))
}

// asks is a request of the POS that is answered with that status.
func (s *station) asks(method, path, body string, status int) (session string) {
	s.t.Helper()
	answer, err := s.pos.Do(method, "/api/v2/pos"+path, body)
	require.NoError(s.t, err)
	require.Equal(s.t, status, answer.Status, "%s %s: %s", method, path, answer.Body)
	var about struct {
		Session string `json:"session_id"`
	}
	_ = json.Unmarshal([]byte(answer.Body), &about)
	return about.Session
}

// sells half an hour on the lane, which runs at once.
func (s *station) sells(n int) (session string) {
	s.t.Helper()
	return s.asks("POST", "/sessions", fmt.Sprintf(`{"customer_name":"Jo","lane_id":%q,"group_id":%q,"duration":30}`, laneID(n), group), 201)
}

// holds locks the lane's fire line, as operators do.
func (s *station) holds(n int) {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodPut, s.gateway.Operations+"/ranges/"+rangeID+"/holds",
		strings.NewReader(fmt.Sprintf(`{"scope":"lane","id":%q,"on":true}`, laneID(n))))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+operator)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	require.Equal(s.t, http.StatusOK, response.StatusCode)
}

// watches opens the lane's screen, until the test ends.
func (s *station) watches(n int) {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	browser := &http.Client{Jar: jar}
	page := s.gateway.API + "/lane/" + laneID(n)
	for _, address := range []string{page + "/?key=" + screenKey(n), page + "/stream"} {
		response, err := browser.Get(address)
		require.NoError(s.t, err)
		require.Equal(s.t, http.StatusOK, response.StatusCode, address)
		s.t.Cleanup(func() { _ = response.Body.Close() })
	}
}

// until scrapes until that is so, and gives what was scraped then.
func (s *station) until(what string, is func(scrape) bool) (seen scrape) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		seen = scraped(s.t, s.gateway)
		return is(seen)
	}, patience, often, what)
	return seen
}
