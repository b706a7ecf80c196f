// Package reload changes the configuration of the running binary, with controllers on real sockets and sessions on the lanes.
package reload

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/test/process"
)

const (
	firstRange  = "11111111-1111-4111-8111-111111111111"
	secondRange = "11111111-1111-4111-8111-222222222222"
	oldToken    = "22222222-2222-4222-8222-222222222222"
	newToken    = "22222222-2222-4222-8222-333333333333"
	operator    = "99999999-9999-4999-8999-999999999999"
	group       = "33333333-3333-4333-8333-000000000001"
	bay         = "55555555-5555-4555-8555-000000000001"

	patience = time.Minute // for what has to come
)

func laneID(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }

var powerUp = time.Now()

func now() lanes.Instant {
	t := time.Now()
	return lanes.Instant{Wall: t.UTC(), Mono: t.Sub(powerUp)}
}

// house is the configuration of a gateway, to be changed and written out.
type house struct {
	t      testing.TB
	dir    string
	tokens []string
	lanes  []string // lines of the first range
	extra  string   // more of the first range
	second []string // lines of the second one; none: there is none
	http   string   // its address
}

// controllers power up the controllers of lanes 1 to so many.
func controllers(t testing.TB, many int) *lanesim.Controllers {
	var all []lanesim.Lane
	for n := 1; n <= many; n++ {
		all = append(all, lanesim.Lane{ID: uuid.MustParse(laneID(n)), Listen: "127.0.0.1:0", Path: "/" + strconv.Itoa(n)})
	}
	made, err := lanesim.New(lanesim.Settings{Now: now}, all...)
	require.NoError(t, err)
	t.Cleanup(made.Close)
	return made
}

// simulated is the line of a simulated lane, wired that of one with a controller.
func simulated(n int) string {
	return fmt.Sprintf(`{id: %s, name: Lane %d, bay: %s}`, laneID(n), n, bay)
}

func wired(n int, name, address string) string {
	return fmt.Sprintf(`{id: %s, name: %s, bay: %s, link: {driver: websocket, address: "%s"}}`, laneID(n), name, bay, address)
}

func (h *house) configuration() string {
	if h.http == "" {
		h.http = "127.0.0.1:0"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "environment: playground\nhttp: {address: %s, limits: {requests: 0}}\noperations: {address: 127.0.0.1:0, token: %s}\nstore: {sqlite: %s}\nranges:\n",
		h.http, operator, filepath.Join(h.dir, "range.db"))
	for id, lines := range map[string][]string{firstRange: h.lanes, secondRange: h.second} {
		if len(lines) == 0 {
			continue
		}
		tokens, extra := h.tokens, h.extra
		if id == secondRange {
			tokens, extra = []string{"22222222-2222-4222-8222-999999999999"}, ""
		}
		fmt.Fprintf(&b, "  - id: %s\n    name: A range\n    tokens: [%s]\n%s    groups: [{id: %s, name: Public}]\n    bays: [{id: %s, name: Bay A}]\n    lanes:\n",
			id, strings.Join(tokens, ", "), extra, group, bay)
		for _, line := range lines {
			fmt.Fprintf(&b, "      - %s\n", line)
		}
	}
	return b.String()
}

// gateway is the running binary.
type gateway struct {
	*process.Process
	t testing.TB
}

func (h *house) open() *gateway {
	h.t.Helper()
	return &gateway{process.Serve(h.t, h.configuration()).Ready(), h.t}
}

func (g *gateway) client(token string) process.Client {
	return process.Client{API: g.API + "/api/v2/pos", Range: firstRange, Token: token}
}

// reload asks for a reload on the operations address, and gives the answer.
func (g *gateway) reload(body string) (status int, answer map[string]any) {
	g.t.Helper()
	request, err := http.NewRequest("POST", g.Operations+"/reload", strings.NewReader(body))
	require.NoError(g.t, err)
	request.Header.Set("Authorization", "Bearer "+operator)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(g.t, err)
	defer response.Body.Close()
	require.NoError(g.t, json.NewDecoder(response.Body).Decode(&answer))
	return response.StatusCode, answer
}

// metric is the value of the one line of the scrape that begins so.
func (g *gateway) metric(line string) float64 {
	g.t.Helper()
	response, err := http.Get(g.Operations + "/metrics")
	require.NoError(g.t, err)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	require.NoError(g.t, err)
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(line) + ` (\S+)$`).FindSubmatch(all)
	if found == nil {
		return 0
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(g.t, err)
	return value
}

// eventually waits until something is so.
func (g *gateway) eventually(what string, is func() bool) {
	g.t.Helper()
	require.Eventually(g.t, is, patience, 10*time.Millisecond, what)
}

// sell sells time on the lanes, several at a time.
func (g *gateway) sell(token string, from, to int) {
	g.t.Helper()
	var selling sync.WaitGroup
	turns := make(chan struct{}, 16)
	for n := from; n <= to; n++ {
		selling.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			answer, err := g.client(token).Do("POST", "/sessions", sale(n), "Content-Type", "application/json")
			if err != nil || answer.Status != http.StatusCreated {
				g.t.Errorf("lane %d: %v %v", n, answer, err)
			}
		})
	}
	selling.Wait()
}

func sale(n int) string {
	return fmt.Sprintf(`{"customer_name":"Jo Smith","lane_id":"%s","group_id":"%s","duration":30}`, laneID(n), group)
}

// span is between when a session's time is over at the earliest, and at the latest: all that can be told from outside.
type span struct{ earliest, latest time.Time }

// deadlines are those of the running sessions.
func (g *gateway) deadlines(token string) map[string]span {
	g.t.Helper()
	asked := time.Now()
	answer, err := g.client(token).Do("GET", "/sessions", "")
	answered := time.Now()
	require.NoError(g.t, err)
	var sessions []struct {
		ID   string   `json:"session_id"`
		Left *float64 `json:"minutes_remaining"`
	}
	require.NoError(g.t, json.Unmarshal([]byte(answer.Body), &sessions), answer.Body)
	all := map[string]span{}
	for _, s := range sessions {
		left := time.Duration(*s.Left * float64(time.Minute))
		all[s.ID] = span{asked.Add(left - time.Millisecond), answered.Add(left + time.Millisecond)}
	}
	return all
}

func (s span) meets(other span) bool {
	return !s.latest.Before(other.earliest) && !other.latest.Before(s.earliest)
}
