// Package logs follows one request through the log of the real binary, to its delivery at a real receiver, also when the
// gateway is killed in between; and turns the log up and down while it runs.
package logs

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

func TestMain(m *testing.M) { process.Run(m) }

const (
	theRange = "11111111-1111-4111-8111-111111111111"
	token    = "22222222-2222-4222-8222-222222222222"
	operator = "an operations token"
	customer = "Jo Smith"
	v2       = "/api/v2/pos"

	patience = 30 * time.Second
)

func laneID(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }

// till is the integrator's webhook. While it is closed it keeps whoever comes waiting.
type till struct {
	url string

	mu      sync.Mutex
	closed  chan struct{} // nil: it is open
	arrived []arrival
}

type arrival struct{ event, session, traceparent, id string }

func newTill(t *testing.T) *till {
	p := &till{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	p.url = server.URL
	return p
}

func (p *till) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event struct {
		Event   string
		Session string `json:"session_id"`
	}
	if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &event) != nil {
		return
	}
	p.mu.Lock()
	p.arrived = append(p.arrived, arrival{event.Event, event.Session, r.Header.Get("traceparent"), r.Header.Get("webhook-id")})
	closed := p.closed
	p.mu.Unlock()
	if closed != nil {
		select {
		case <-closed:
		case <-r.Context().Done():
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func (p *till) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = make(chan struct{})
}

func (p *till) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.closed)
	p.closed = nil
}

// got is what arrived about the session.
func (p *till) got(session string) (about []arrival) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.arrived {
		if a.session == session {
			about = append(about, a)
		}
	}
	return about
}

// configuration has two lanes, and a webhook that is given one event at a time.
func configuration(t *testing.T, webhook, level string) string {
	return fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0}
operations: {address: 127.0.0.1:0, token: %q}
log: {level: %s}
store: {sqlite: %q}
ranges:
  - id: %s
    name: North range
    token: %s
    webhook: {url: %q, timeout: 25s, concurrency: 1}
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]
    lanes:
      - {id: %s, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001}
      - {id: %s, name: Lane 2, bay: 55555555-5555-4555-8555-000000000001}
`, operator, level, filepath.Join(t.TempDir(), "rangegate.db"), theRange, token, webhook, laneID(1), laneID(2))
}

type gateway struct {
	*process.Process
	t *testing.T
}

func serve(t *testing.T, configuration string) gateway {
	return gateway{process.Serve(t, configuration).Ready(), t}
}

// sell sells 30 minutes of the lane, in a request of that trace.
func (g gateway) sell(lane int, trace string) (session string) {
	g.t.Helper()
	pos := process.Client{API: g.API, Range: theRange, Token: token}
	body := fmt.Sprintf(`{"customer_name":%q,"lane_id":%q,"group_id":"33333333-3333-4333-8333-000000000001","duration":30}`, customer, laneID(lane))
	answer, err := pos.Do("POST", v2+"/sessions", body, "traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	require.NoError(g.t, err)
	require.Equal(g.t, 201, answer.Status, answer.Body)
	require.Equal(g.t, trace, answer.Header.Get("trace-id"))
	var sold struct {
		ID string `json:"session_id"`
	}
	require.NoError(g.t, json.Unmarshal([]byte(answer.Body), &sold))
	return sold.ID
}

// lines are those with that message about the trace.
func (g gateway) lines(message, trace string) (found []map[string]any) {
	for _, text := range strings.Split(g.Log(), "\n") {
		var line map[string]any
		if json.Unmarshal([]byte(text), &line) == nil && line["message"] == message && line["trace_id"] == trace {
			found = append(found, line)
		}
	}
	return found
}

// eventually waits until there are so many lines with that message about the trace.
func (g gateway) eventually(many int, message, trace string) []map[string]any {
	g.t.Helper()
	require.Eventually(g.t, func() bool { return len(g.lines(message, trace)) >= many }, patience, 5*time.Millisecond,
		"%d lines %q of %s", many, message, trace)
	return g.lines(message, trace)
}

func (g gateway) operate(method, path, body string) process.Answer {
	g.t.Helper()
	answer, err := process.Client{API: g.Operations}.Do(method, path, body, "Authorization", "Bearer "+operator)
	require.NoError(g.t, err)
	return answer
}

// From the request over the command and the save to the delivery there is one trace id, and the receiver has the event's.
func TestARequestIsFollowedToItsDelivery(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	p := newTill(t)
	g := serve(t, configuration(t, p.url, "debug"))
	session := g.sell(1, trace)
	events := g.eventually(2, "event", trace)
	require.Len(t, events, 2, "created, started")
	for i, arrived := range p.got(session) {
		require.Equal(t, "msg_"+events[i]["event_id"].(string), arrived.id)
		require.NotContains(t, arrived.traceparent, trace, "it is the event's own")
	}
	require.Len(t, p.got(session), 2)

	requests, commands := g.eventually(1, "request", trace), g.lines("command", trace)
	require.Len(t, requests, 1)
	require.Len(t, commands, 1)
	for _, line := range append(events, append(g.lines("saved", trace), commands...)...) {
		require.Equal(t, []any{theRange, laneID(1), session}, []any{line["range"], line["lane"], line["session"]}, line)
	}
	require.Equal(t, theRange, requests[0]["range"])
	require.Equal(t, "create", commands[0]["command"])
	require.NotEmpty(t, g.lines("saved", trace))
	require.NotContains(t, g.Log(), customer, "not even for debugging")

	// The same is told of the lane without the log.
	answer := g.operate("GET", "/actors/"+laneID(1), "")
	require.Equal(t, 200, answer.Status)
	require.NotContains(t, answer.Body, customer)
	var lane struct {
		Commands []struct {
			Command string
			Trace   string `json:"trace_id"`
			Session string `json:"session_id"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(answer.Body), &lane))
	require.Equal(t, trace, lane.Commands[0].Trace)
	require.Equal(t, session, lane.Commands[0].Session)
}

// The gateway is killed when the sale is saved and its events wait: they are delivered by the next one, and said to be of that
// request.
func TestARequestIsFollowedAcrossACrash(t *testing.T) {
	const first, second = "0af7651916cd43dd8448eb211c80319c", "0af7651916cd43dd8448eb211c80319d"
	p := newTill(t)
	cfg := configuration(t, p.url, "debug")
	g := serve(t, cfg)
	p.close()
	holding := g.sell(2, first) // its first event keeps the only slot
	require.Eventually(t, func() bool { return len(p.got(holding)) == 1 }, patience, time.Millisecond)
	session := g.sell(1, second)
	g.eventually(1, "saved", second)
	require.Empty(t, g.lines("event", second))
	g.Kill()

	p.open()
	g = serve(t, cfg)
	events := g.eventually(2, "event", second)
	require.Equal(t, []any{"sessionCreated", "delivered"}, []any{events[0]["event"], events[0]["outcome"]})
	require.Equal(t, laneID(1), events[0]["lane"])
	require.Equal(t, session, events[1]["session"])
	require.Empty(t, g.lines("request", second), "which was in the other life")
}

// The log is turned up for as long as somebody looks for something, and down again.
func TestTheLogIsTurnedUpAndDown(t *testing.T) {
	p := newTill(t)
	g := serve(t, configuration(t, p.url, "info"))
	traces := []string{"0af7651916cd43dd8448eb211c803191", "0af7651916cd43dd8448eb211c803192", "0af7651916cd43dd8448eb211c803193"}
	g.sell(1, traces[0])
	g.eventually(2, "event", traces[0])
	require.Empty(t, g.lines("saved", traces[0]))
	require.NotContains(t, g.Log(), `"path":"/readyz"`, "which was asked until it was ready")

	require.Equal(t, 401, func() int {
		answer, err := process.Client{API: g.Operations}.Do("PUT", "/log-level", `{"level":"debug"}`)
		require.NoError(t, err)
		return answer.Status
	}())
	require.JSONEq(t, `{"level":"debug"}`, g.operate("PUT", "/log-level", `{"level":"debug"}`).Body)
	g.sell(2, traces[1])
	g.eventually(1, "saved", traces[1])
	g.Ready()
	require.Eventually(t, func() bool { return strings.Contains(g.Log(), `"path":"/readyz"`) }, patience, 5*time.Millisecond)

	require.Equal(t, 200, g.operate("PUT", "/log-level", `{"level":"error"}`).Status)
	require.Eventually(t, func() bool { return strings.Count(g.Log(), "log level changed") == 2 }, patience, 5*time.Millisecond)
	require.Contains(t, g.Log(), `"who":"operator"`)
	answer, err := process.Client{API: g.API, Range: theRange, Token: token}.Do("GET", v2+"/sessions", "",
		"traceparent", "00-"+traces[2]+"-00f067aa0ba902b7-01")
	require.NoError(t, err)
	require.Equal(t, 200, answer.Status)
	require.Zero(t, g.Terminate())
	require.Empty(t, g.lines("request", traces[2]))
	require.NotContains(t, g.Log(), operator)
}
