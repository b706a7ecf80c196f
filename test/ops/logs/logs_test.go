// Package logs follows one request through the log of the real binary, to its delivery at a real receiver,
// also when the gateway is killed in between; and turns the log up and down while it runs.
package logs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

const (
	operator = "an operations token"
	customer = "Jo Smith"
)

// gate holds the receiver's answers back while it is closed.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil: it is open
}

func (g *gate) pass(_ support.Arrival, w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed != nil {
		select {
		case <-closed:
		case <-r.Context().Done():
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.closed)
	g.closed = nil
}

// configured has two lanes, and a webhook that is given one event at a time.
func configured(t *testing.T, receiver *support.Receiver, level string) support.Config {
	config := support.NewConfig(t, support.Lanes(1, 2), receiver.Setting("timeout: 10m", "concurrency: 1"))
	config.Operator, config.Sections = operator, []string{"log: {level: " + level + "}"}
	return config
}

// arrived is what the receiver got about the session.
func arrived(receiver *support.Receiver, session string) []support.Arrival {
	return slices.DeleteFunc(receiver.Arrived(), func(a support.Arrival) bool { return a.Session != session })
}

type gateway struct {
	*support.Gateway
	t *testing.T
}

func serve(t *testing.T, config support.Config) gateway { return gateway{config.Serve(t), t} }

func traceparent(trace string) []string {
	return []string{"traceparent", "00-" + trace + "-00f067aa0ba902b7-01"}
}

// sell sells 30 minutes of the lane, in a request of that trace.
func (g gateway) sell(lane int, trace string) (session string) {
	g.t.Helper()
	answer := g.POS().Expect(201, "POST", "/sessions", support.Order(lane, 30), traceparent(trace)...)
	require.Equal(g.t, trace, answer.Header.Get("trace-id"))
	return answer.SessionID(g.t)
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

// waitLines waits until there are that many lines with that message about the trace.
func (g gateway) waitLines(many int, message, trace string) []map[string]any {
	g.t.Helper()
	support.Eventually(g.t, fmt.Sprintf("%d lines %q of %s", many, message, trace), func() bool {
		return len(g.lines(message, trace)) >= many
	})
	return g.lines(message, trace)
}

// From the request over the command and the save to the delivery there is one trace id, which the receiver has, too.
func TestARequestIsFollowedToItsDelivery(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	receiver := support.NewReceiver(t)
	g := serve(t, configured(t, receiver, "debug"))
	session := g.sell(1, trace)
	events := g.waitLines(2, "event", trace)
	require.Len(t, events, 2, "created, started")
	for i, a := range arrived(receiver, session) {
		require.Equal(t, "msg_"+events[i]["event_id"].(string), a.ID)
		require.Equal(t, traceparent(trace)[1], a.Header.Get("traceparent"))
	}
	require.Len(t, arrived(receiver, session), 2)

	requests, commands := g.waitLines(1, "request", trace), g.lines("command", trace)
	require.Len(t, requests, 1)
	require.Len(t, commands, 1)
	for _, line := range append(events, append(g.lines("saved", trace), commands...)...) {
		require.Equal(t, []any{support.RangeID, support.LaneID(1), "Lane 1", session},
			[]any{line["range_id"], line["lane_id"], line["lane"], line["session_id"]}, line)
	}
	require.Equal(t, support.RangeID, requests[0]["range_id"])
	require.Equal(t, "create", commands[0]["command"])
	require.NotEmpty(t, g.lines("saved", trace))
	require.NotContains(t, g.Log(), customer, "not even for debugging")

	// The same is told of the lane without the log.
	answer := g.Operate("GET", "/actors/"+support.LaneID(1), "")
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

// The gateway is killed when the sale is saved and its events wait: they are delivered by the next one, and
// said to be of that request.
func TestARequestIsFollowedAcrossACrash(t *testing.T) {
	const first, second = "0af7651916cd43dd8448eb211c80319c", "0af7651916cd43dd8448eb211c80319d"
	receiver, webhook := support.NewReceiver(t), &gate{}
	receiver.Respond(webhook.pass)
	config := configured(t, receiver, "debug")
	g := serve(t, config)
	webhook.shut()
	holding := g.sell(2, first) // its first event keeps the only slot
	support.Eventually(t, "the first event arrives", func() bool { return len(arrived(receiver, holding)) == 1 })
	session := g.sell(1, second)
	g.waitLines(1, "saved", second)
	require.Empty(t, g.lines("event", second))
	g.Kill()

	webhook.open()
	g = serve(t, config)
	events := g.waitLines(2, "event", second)
	require.Equal(t, []any{"sessionCreated", "delivered"}, []any{events[0]["event"], events[0]["outcome"]})
	require.Equal(t, support.LaneID(1), events[0]["lane_id"])
	require.Equal(t, session, events[1]["session_id"])
	require.Empty(t, g.lines("request", second), "which was in the other life")
}

// The log is turned up for as long as somebody looks for something, and down again.
func TestTheLogIsTurnedUpAndDown(t *testing.T) {
	g := serve(t, configured(t, support.NewReceiver(t), "info"))
	traces := []string{
		"0af7651916cd43dd8448eb211c803191", "0af7651916cd43dd8448eb211c803192",
		"0af7651916cd43dd8448eb211c803193",
	}
	g.sell(1, traces[0])
	g.waitLines(2, "event", traces[0])
	require.Empty(t, g.lines("saved", traces[0]))
	require.NotContains(t, g.Log(), `"path":"/readyz"`, "which was asked until it was ready")

	unsigned, err := support.Client{API: g.Operations}.Do("PUT", "/log-level", `{"level":"debug"}`)
	require.NoError(t, err)
	require.Equal(t, 401, unsigned.Status)
	require.JSONEq(t, `{"level":"debug"}`, g.Operate("PUT", "/log-level", `{"level":"debug"}`).Body)
	g.sell(2, traces[1])
	g.waitLines(1, "saved", traces[1])
	g.Ready()
	g.WaitLogged(`"path":"/readyz"`)

	require.Equal(t, 200, g.Operate("PUT", "/log-level", `{"level":"error"}`).Status)
	support.Eventually(t, "the level is changed back", func() bool {
		return strings.Count(g.Log(), "log level changed") == 2
	})
	require.Contains(t, g.Log(), `"who":"operator"`)
	g.POS().Expect(200, "GET", "/sessions", "", traceparent(traces[2])...)
	require.Zero(t, g.Terminate())
	require.Empty(t, g.lines("request", traces[2]))
	require.NotContains(t, g.Log(), operator)
}
