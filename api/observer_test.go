package api

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/api/observer"
	"rangegate/lanes"
)

// actorHealth has as many lanes with problems as a response shows.
var actorHealth = func() lanes.ActorHealth {
	health := lanes.ActorHealth{
		Health: lanes.Health{
			Links:   map[lanes.LinkState]int{lanes.LinkUp: 1, lanes.LinkDown: 100, lanes.LinkFaulty: 0},
			Unsaved: 4, Waiting: 7,
			LateP99: 1500 * time.Microsecond, Restarts: map[string]int{"lane": 2},
			Turns: lanes.TurnFigures{Waiting: 3, Longest: time.Hour, Turns: 2, Median: 90 * time.Second},
		},
		Live: map[string]int{"range": 1, "events": 1, "lane": 2},
		Restarted: []lanes.LaneRestarts{{
			Lane: uuid.MustParse(theLane), Name: "Lane 1", Restarts: 2, Last: noon,
			Kind: "lane", Message: "landed",
		}},
		Slowest: []lanes.LaneCommand{{Lane: uuid.MustParse(theLane), Name: "Lane 1", Commanded: lanes.Commanded{
			At: noon, By: lanes.ByPOS, Command: "create", Result: "ok", Took: 1200 * time.Millisecond,
			Waited: time.Second,
		}}},
		NotSaved:       []lanes.LaneUnsaved{{Lane: uuid.MustParse(theLane), Name: "Lane 1", Since: noon, Changes: 4}},
		RestartedLanes: 1, NotSavedLanes: 1,
	}
	for range lanes.MaxUnwell {
		health.Lanes = append(health.Lanes, lanes.LinkHealth{
			Lane: uuid.New(), Link: lanes.LinkDown, Since: noon,
			LastError: "no route",
		})
	}
	return health
}()

func (s *fakeOperatedRange) Actors() lanes.ActorHealth { return actorHealth }

// Observed is a range with one lane, which is saving; its link is down.
func (s *fakeOperatedRange) Observed() iter.Seq[lanes.Observed] {
	return slices.Values(observedActors())
}

func (s *fakeOperatedRange) ObservedLane(uuid.UUID) []lanes.Observed { return observedActors()[2:] }

func observedActors() []lanes.Observed {
	lane, now := uuid.MustParse(theLane), time.Now()
	return []lanes.Observed{
		{Kind: "range", State: lanes.StateRunning, Taken: 3},
		{Kind: "events", Webhook: "pos", State: lanes.StateReady, Taken: 4},
		{
			Kind: "lane", Lane: lane, Name: "Lane 1", State: lanes.StateSaving, Since: noon, Mailbox: 1,
			Waiting: 2, Taken: 5,
			Oldest: lanes.Awaited{What: "stop", Since: noon}, AtHand: lanes.Awaited{What: "modify", Since: noon},
			Panics: lanes.Panics{Count: 1, Last: noon, Message: "create", Said: "nil pointer"},
			Late:   new(310 * time.Microsecond),
			Why: &lanes.Why{
				Code: lanes.WhySaving, What: "modify", Since: now.Add(-14 * time.Second), Attempts: 6,
				Error: "i/o timeout",
			},
		},
		{
			Kind: "connection", Lane: lane, Name: "Lane 1", State: "down", Since: noon, Taken: 6,
			Why: &lanes.Why{
				Code: lanes.WhyDials, Since: noon, Next: noon, Attempts: 31, Error: "refused",
				Address: "10.0.0.12:8443",
			},
		},
	}
}

func (s *fakeOperatedRange) LaneActor(lane uuid.UUID) (lanes.LaneHealth, bool) {
	return lanes.LaneHealth{
		Link: lanes.LinkHealth{
			Lane: lane, Name: "Lane 1", Link: lanes.LinkFaulty, Since: noon, Restarts: 3,
			LastError: "another lane's",
		},
		Session: uuid.MustParse(theSession), Phase: lanes.Paused, Remaining: 90 * time.Second, Held: true,
		NotUsable: "its controller is faulty",
		Turn:      new(2 * time.Minute), LastTurn: &lanes.TurnTime{At: noon, Took: time.Minute},
		Restarts: actorHealth.Restarted[0], Unsaved: actorHealth.NotSaved[0],
		Commands: []lanes.Commanded{{
			At: noon, By: lanes.ByStaff, Who: "sam", Command: "pause", Result: cmp.Or(s.commanded, "ceasefire"),
			Took:    5 * time.Millisecond,
			Session: uuid.MustParse(theSession), Trace: "4bf92f3577b34da6a3ce929d0e0e4736",
		}, {At: noon, By: lanes.ByTimer, Command: "expire", Result: "ok"}},
	}, lane == uuid.MustParse(theLane)
}

// Reconnect records who asked for it, as the others do.
func (s *fakeOperatedRange) Reconnect(_ context.Context, who string, lane uuid.UUID) error {
	return s.act("reconnect", who, lane)
}

func (s *fakeOperatedRange) UnparkLane(_ context.Context, who string, lane uuid.UUID) error {
	return s.act("unpark", who, lane)
}

func (s *fakeOperatedRange) RestartLane(_ context.Context, who string, lane uuid.UUID) error {
	return s.act("restart", who, lane)
}

// RedeliverEvents has looked at all but what is behind cursor 7.
func (s *fakeOperatedRange) RedeliverEvents(_ context.Context, who string,
	e lanes.EventSelection,
) (lanes.Redelivery, error) {
	if s.refused != nil {
		return lanes.Redelivery{}, s.refused
	}
	s.acts = append(s.acts, fmt.Sprintf("%s redeliver %q %d-%d", who, e.Webhook, e.After, e.Until))
	if e.Until > 7 {
		return lanes.Redelivery{Events: 3, Next: 7, Log: s.LogID()}, nil
	}
	return lanes.Redelivery{Events: 3}, nil
}

func (s *fakeOperatedRange) NoteWebhookTest(_ context.Context, who, webhook, problem string) error {
	s.acts = append(s.acts, fmt.Sprintf("%s test %q %s", who, webhook, problem))
	return s.refused
}

func (s *fakeOperatedRange) NoteDebug(_ context.Context, who string, lane uuid.UUID) error {
	if lane == uuid.Nil {
		s.acts = append(s.acts, who+" debug")
		return nil
	}
	return s.act("debug", who, lane)
}

func (s *fakeOperatedRange) NoteOperation(_ context.Context, who, what, detail string) error {
	s.acts = append(s.acts, who+" "+what+" "+detail)
	return s.refused
}

func (s *fakeOperatedRange) LogID() uint64 { return 42 }

func (s *fakeOperatedRange) act(what, who string, lane uuid.UUID) error {
	if lane != uuid.MustParse(theLane) {
		return lanes.ErrLaneNotFound
	}
	if s.refused == nil {
		s.acts = append(s.acts, who+" "+what)
	}
	return s.refused
}

// getJSON returns the body of a successful response.
func getJSON(t *testing.T, path string) (body map[string]any) {
	t.Helper()
	response := sendAuthorized(newOperations(prometheus.NewRegistry()), "GET", path, "")
	require.Equal(t, 200, response.Code, response.Body)
	require.Equal(t, "no-store", response.Header().Get("Cache-Control"))
	require.NoError(t, json.Unmarshal(response.Body.Bytes(), &body))
	return body
}

// One range runs here; another process owns the other one.
func TestTheActorsOfAllRanges(t *testing.T) {
	body := getJSON(t, "/actors")
	all := body["all"].(map[string]any)
	require.EqualValues(t, 2, all["ranges"])
	require.EqualValues(t, 1, all["running"])
	require.EqualValues(t, 1, all["stores_away"])
	require.EqualValues(t, 1, all["lanes_restarted"])
	require.EqualValues(t, 1, all["lanes_unsaved"])
	require.EqualValues(t, 4, all["changes_unsaved"])
	require.EqualValues(t, 7, all["events_waiting"])
	require.Equal(t, map[string]any{"up": 1.0, "down": 100.0, "faulty": 0.0}, all["links"])
	actors := all["actors"].(map[string]any)
	require.Equal(t, map[string]any{"live": 2.0, "restarts": 2.0, "messages_waiting": 3.0}, actors["lane"])
	require.Equal(t, map[string]any{"live": 1.0, "restarts": 0.0, "messages_waiting": 0.0}, actors["range"])

	ranges := body["ranges"].([]any)
	require.Equal(t, "not_owner", ranges[0].(map[string]any)["state"], "a range that is not running comes first")
	require.Equal(t, 1.5, ranges[1].(map[string]any)["timers_late_p99_ms"])
	require.Equal(t, map[string]any{"lanes_waiting": 3.0, "longest_s": 3600.0, "turns": 2.0, "median_s": 90.0},
		ranges[1].(map[string]any)["turns"])
	require.Len(t, body["links"], lanes.MaxUnwell)
	restarted := body["restarted"].([]any)[0].(map[string]any)
	require.Equal(t, map[string]any{
		"range_id": someRange, "lane_id": theLane, "name": "Lane 1", "restarts": 2.0,
		"last_at":   "2026-05-01T12:00:00.250Z",
		"last_kind": "lane", "last_on": "landed",
	}, restarted)
	slow := body["slowest"].([]any)[0].(map[string]any)
	require.Equal(t, 1200.0, slow["took_ms"])
	require.Equal(t, 1000.0, slow["waited_ms"])
	require.Equal(t, 4.0, body["unsaved"].([]any)[0].(map[string]any)["changes"])
}

func TestTheActorsOfOneRange(t *testing.T) {
	one := getJSON(t, "/actors?range="+otherRange)
	require.Len(t, one["ranges"], 1)
	require.Empty(t, one["links"])
	require.NotNil(t, one["links"], "an empty list is no null")
	h := newOperations(prometheus.NewRegistry())
	require.Equal(t, 404, sendAuthorized(h, "GET", "/actors?range="+theLane, "").Code)
	require.Equal(t, 400, sendAuthorized(h, "GET", "/actors?range=north", "").Code)
}

func TestTheActorsOfALane(t *testing.T) {
	lane := getJSON(t, "/actors/"+theLane)
	require.Equal(t, map[string]any{"session_id": theSession, "phase": "paused", "minutes_remaining": 1.5},
		lane["session"])
	require.Equal(t, true, lane["hold"])
	require.Equal(t, map[string]any{
		"state": "faulty", "since": "2026-05-01T12:00:00.250Z", "restarts": 3.0,
		"last_error": "another lane's",
	}, lane["link"])
	require.Equal(t, map[string]any{"since": "2026-05-01T12:00:00.250Z", "changes": 4.0}, lane["unsaved"])
	require.Equal(t, map[string]any{"seconds": 120.0, "counts": false}, lane["turn"])
	require.Equal(t, map[string]any{"at": "2026-05-01T12:00:00.250Z", "seconds": 60.0}, lane["last_turn"])
	commands := lane["commands"].([]any)
	require.Equal(t, map[string]any{
		"at": "2026-05-01T12:00:00.250Z", "by": "staff", "who": "sam", "command": "pause", "result": "ceasefire",
		"took_ms":   5.0,
		"waited_ms": 0.0, "session_id": theSession, "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
	}, commands[0])
	require.Nil(t, commands[1].(map[string]any)["session_id"])
	h := newOperations(prometheus.NewRegistry())
	require.Contains(t, sendAuthorized(h, "GET", "/actors/"+theSession, "").Body.String(), `"code":"lane_not_found"`)
}

// Without the token a browser gets a page that contains no data.
func TestThePageOfTheActorsContainsNoData(t *testing.T) {
	h := newOperations(prometheus.NewRegistry())
	written, err := os.ReadFile("observer/web/page.html")
	require.NoError(t, err)
	for _, path := range []string{"/observer", "/observer/lanes/" + theLane, "/observer?range=" + someRange} {
		page := send(h, "GET", path, "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		require.Equal(t, 200, page.Code, path)
		require.Equal(t, string(written), page.Body.String())
		require.True(t, strings.HasPrefix(page.Header().Get("Content-Security-Policy"),
			"default-src 'none'; script-src 'self'; style-src 'self'"))
		require.Contains(t, page.Header().Values("Vary"), "Accept")
		for _, accept := range []string{"", "*/*", "application/json"} {
			refused := send(h, "GET", path, "Accept", accept)
			require.Equal(t, 401, refused.Code, accept)
			require.NotContains(t, refused.Body.String(), "Lane 1")
		}
	}
}

// The address that the page had sends browsers on.
func TestBrowsersAreSentToTheObserver(t *testing.T) {
	h := newOperations(prometheus.NewRegistry())
	for from, to := range map[string]string{
		"/actors": "/observer", "/actors/" + theLane: "/observer/lanes/" + theLane, "/actors?range=" +
			someRange: "/observer?range=" + someRange,
		"/actors/..%2Fhealth": "/observer",
	} {
		response := send(h, "GET", from, "Accept", "text/html")
		require.Equal(t, []any{302, to}, []any{response.Code, response.Header().Get("Location")})
	}
}

// The urgent come first: a range that does not run here, then what is being saved, then a link.
func TestEveryActorIsObserved(t *testing.T) {
	body := getJSON(t, "/observer/actors")
	require.Equal(t, []any{5.0, 3.0}, []any{body["total"], body["troubled"]})
	require.Equal(t, map[string]any{"running": 1.0, "ready": 1.0, "saving": 1.0, "down": 1.0, "not_owner": 1.0},
		body["states"])
	var order []any
	for _, actor := range body["actors"].([]any) {
		order = append(order, actor.(map[string]any)["state"])
	}
	require.Equal(t, []any{"not_owner", "saving", "down", "running", "ready"}, order)
	require.Equal(t, map[string]any{
		"range_id": someRange, "range": "", "lane_id": theLane, "lane": "Lane 1", "webhook": "", "kind": "lane",
		"state": "saving",
		"since": "2026-05-01T12:00:00.250Z", "messages_waiting": 1.0, "requests_waiting": 2.0,
		"oldest":   map[string]any{"what": "stop", "since": "2026-05-01T12:00:00.250Z"},
		"at_hand":  map[string]any{"what": "modify", "since": "2026-05-01T12:00:00.250Z"},
		"messages": 5.0, "restarts": 1.0, "last_restart": map[string]any{
			"at": "2026-05-01T12:00:00.250Z",
			"on": "create", "panic": "nil pointer",
		},
		"late_ms": 0.31,
	}, without(body["actors"].([]any)[1].(map[string]any), "why"))
	why := body["actors"].([]any)[1].(map[string]any)["why"].(map[string]any)
	require.Regexp(t, `^It has been saving modify for 1\d s: 6 attempts failed, the last: i/o timeout\.$`,
		why["sentence"])
	require.Equal(t, map[string]any{"what": "modify", "attempts": 6.0, "error": "i/o timeout"},
		without(why["values"].(map[string]any), "since"))
	link := body["actors"].([]any)[2].(map[string]any)["why"].(map[string]any)
	require.Equal(t, map[string]any{
		"address": "10.0.0.12:8443", "failures": 31.0, "error": "refused", "since": "2026-05-01T12:00:00.250Z",
		"retry_at": "2026-05-01T12:00:00.250Z",
	}, link["values"])
}

// without is the object without one of its members.
func without(object map[string]any, member string) map[string]any {
	object = maps.Clone(object)
	delete(object, member)
	return object
}

func TestTheObserversTableIsFilteredAndSorted(t *testing.T) {
	for query, states := range map[string][]any{
		"kind=lane":                   {"saving"},
		"trouble=true&limit=1":        {"not_owner"},
		"trouble=true&state=down":     {"down"},
		"search=LANE%201&sort=age":    {"saving", "down"},
		"range=" + someRange:          {"saving", "down", "running", "ready"},
		"sort=backlog&limit=1":        {"saving"},
		"sort=restarts&limit=1":       {"saving"},
		"sort=lateness&limit=1":       {"saving"},
		"search=pos":                  {"ready"},
		"search=nobody":               {},
		"kind=connection&state=ready": {},
	} {
		shown := []any{}
		for _, actor := range getJSON(t, "/observer/actors?"+query)["actors"].([]any) {
			shown = append(shown, actor.(map[string]any)["state"])
		}
		require.Equal(t, states, shown, query)
	}
	h := newOperations(prometheus.NewRegistry())
	for query, field := range map[string]string{
		"kind=person": "kind", "sort=name": "sort", "limit=501": "limit", "limit=0": "limit", "trouble=yes": "trouble",
		"range=north": "range",
		"state=":      "state",
	} {
		refused := sendAuthorized(h, "GET", "/observer/actors?"+query, "")
		require.Equal(t, 400, refused.Code, query)
		require.Contains(t, refused.Body.String(), `"`+field+`"`)
	}
	require.Equal(t, 404, sendAuthorized(h, "GET", "/observer/actors?range="+theLane, "").Code)
}

// A lane's own address has its actors beside what it was asked.
func TestTheObserverOfALane(t *testing.T) {
	lane := getJSON(t, "/observer/lanes/"+theLane)
	require.Equal(t, "Lane 1", lane["name"])
	require.Len(t, lane["commands"], 2)
	require.Len(t, lane["actors"], 2)
	require.Equal(t, "connection", lane["actors"].([]any)[1].(map[string]any)["kind"])
}

// A client that accepts server-sent events gets the same as a stream, until another configuration is in force.
func TestTheObserverIsFollowed(t *testing.T) {
	closing := make(chan struct{})
	settings := operationsSettings(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
	settings.Closing = closing
	server := httptest.NewServer(NewOperations(settings))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+
		"/observer/actors?kind=events", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Accept", "text/event-stream")
	refused, err := server.Client().Do(request)
	require.NoError(t, err)
	require.NoError(t, refused.Body.Close())
	require.Equal(t, 401, refused.StatusCode)
	request.Header.Set("Authorization", "Bearer operator")
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewReader(response.Body)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "event: actors\n", first)
	data, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, data, `"webhook":"pos"`)
	close(closing)
	_, err = io.ReadAll(lines)
	require.NoError(t, err, "it ends")
}

// An operator acts on a lane under the name of the token. What the lane refuses, and why its range does not run here,
// is told by the code.
func TestAnOperatorActsOnALane(t *testing.T) {
	for action, refusal := range map[string]*lanes.Error{
		"reconnect": lanes.ErrStarting, "unpark": lanes.ErrNotParked, "restart": lanes.ErrLaneParked,
	} {
		t.Run(action, func(t *testing.T) {
			fake := &fakeOperatedRange{}
			h := newOperationsWith(prometheus.NewRegistry(), fake, "operator")
			at := "/observer/lanes/" + theLane + "/" + action
			code := func(path string) string { return codeOf(t, sendAuthorized(h, "POST", path, "")) }
			require.Equal(t, 401, send(h, "POST", at).Code)
			require.Equal(t, 405, sendAuthorized(h, "GET", at, "").Code)
			require.Empty(t, fake.acts)
			require.Equal(t, 204, sendAuthorized(h, "POST", at, "").Code)
			require.Equal(t, 204, sendAuthorized(h, "POST", at+"?range="+someRange, "").Code)
			require.Equal(t, []string{"operator " + action, "operator " + action}, fake.acts)

			require.Equal(t, "lane_not_found", code("/observer/lanes/"+theSession+"/"+action))
			require.Equal(t, "lane_not_found", code("/observer/lanes/"+theSession+"/"+action+"?range="+someRange))
			require.Equal(t, "not_owner", code(at+"?range="+otherRange))
			require.Equal(t, "not_found", code(at+"?range="+theSession))
			malformed := sendAuthorized(h, "POST", at+"?range=north", "")
			require.Equal(t, 400, malformed.Code)
			require.Contains(t, malformed.Body.String(), `"fields":{"range":`)
			fake.refused = refusal
			require.Equal(t, refusal.Code(), code(at))
		})
	}
}

// An operator has events sent again, by the cursors of the log, under the name of the token.
func TestAnOperatorHasEventsSentAgain(t *testing.T) {
	fake := &fakeOperatedRange{}
	h := newOperationsWith(prometheus.NewRegistry(), fake, "operator")
	at := "/observer/redeliver?range=" + someRange
	ask := func(path, body string) *httptest.ResponseRecorder { return sendAuthorized(h, "POST", path, body) }
	require.Equal(t, 401, send(h, "POST", at).Code)
	whole := ask(at, `{"webhook":"pos","after":"3","until":"7"}`)
	require.Equal(t, 202, whole.Code)
	require.JSONEq(t, `{"events":3,"next":null}`, whole.Body.String())
	next := endpoint.LogCursor{Log: 42, Number: 7}.String()
	require.JSONEq(t, `{"events":3,"next":"`+next+`"}`, ask(at, `{"after":"0","until":"9"}`).Body.String())
	require.Equal(t, 202, ask(at, `{"after":"`+next+`","until":"9"}`).Code)
	require.Equal(t, []string{`operator redeliver "pos" 3-7`, `operator redeliver "" 0-9`, `operator redeliver "" 7-9`},
		fake.acts)

	for path, field := range map[string]string{"/observer/redeliver": "range", at: "until"} {
		refused := ask(path, `{"after":"0"}`)
		require.Equal(t, 400, refused.Code)
		require.Contains(t, refused.Body.String(), `"`+field+`":"is required"`)
	}
	body := `{"after":"0","until":"9"}`
	require.Equal(t, "event_not_found",
		codeOf(t, ask(at, `{"after":"0","until":"`+endpoint.LogCursor{Log: 41, Number: 7}.String()+`"}`)))
	require.Equal(t, "not_owner", codeOf(t, ask("/observer/redeliver?range="+otherRange, body)))
	require.Equal(t, "not_found", codeOf(t, ask("/observer/redeliver?range="+theLane, body)))
	fake.refused = lanes.ErrWebhookGone
	require.Equal(t, "webhook_gone", codeOf(t, ask(at, body)))
	require.Len(t, fake.acts, 3)
}

// An operator has the gateway connect to a webhook, and is told what came of it. It is on record either way.
func TestAnOperatorTestsAWebhook(t *testing.T) {
	fake, silent := &fakeOperatedRange{}, false
	settings := operationsSettings(prometheus.NewRegistry(), fake, "operator")
	settings.ProbeWebhook = func(ctx context.Context, rangeID uuid.UUID, name string) (observer.WebhookProbe, error) {
		require.Equal(t, someRange, rangeID.String())
		probe := observer.WebhookProbe{Server: "https://pos.example", Took: 31500 * time.Microsecond}
		switch {
		case name == "nobody's":
			return probe, lanes.ErrWebhookNotConfigured
		case silent:
			<-ctx.Done()
			probe.Problem = "no connection in time"
		default:
			probe.TLS = "TLS 1.3"
		}
		return probe, nil
	}
	h := NewOperations(settings)
	at := "/observer/webhooks/test?range=" + someRange
	require.Equal(t, 401, send(h, "POST", at).Code)
	reached := sendAuthorized(h, "POST", at+"&webhook=pos", "")
	require.Equal(t, 200, reached.Code)
	require.JSONEq(t, `{"reached":true,"server":"https://pos.example","tls":"TLS 1.3","duration_ms":31.5,"error":null}`,
		reached.Body.String())
	synctest.Test(t, func(t *testing.T) {
		silent = true
		begun := time.Now()
		answer := sendAuthorized(NewOperations(settings), "POST", at, "")
		require.Equal(t, 4*time.Second, time.Since(begun), "below the 5 s of a request")
		require.Equal(t, 200, answer.Code, "a server that says nothing is an answer, and no time-out of the request")
		require.JSONEq(t, `{"reached":false,"server":"https://pos.example","tls":null,"duration_ms":31.5,`+
			`"error":"no connection in time"}`, answer.Body.String())
	})
	acts := []string{`operator test "pos" `, `operator test "" no connection in time`}
	require.Equal(t, acts, fake.acts)

	refused := func(path string) string { return codeOf(t, sendAuthorized(h, "POST", path, "")) }
	require.Equal(t, "webhook_not_configured", refused(at+"&webhook=nobody%27s"))
	require.Equal(t, "not_owner", refused("/observer/webhooks/test?range="+otherRange))
	require.Equal(t, "not_found", refused("/observer/webhooks/test?range="+theLane))
	require.Contains(t, sendAuthorized(h, "POST", "/observer/webhooks/test", "").Body.String(), `"range":"is required"`)
	require.Equal(t, acts, fake.acts, "a refusal is not on record")
}

// codeOf is the code of a refusal.
func codeOf(t *testing.T, response *httptest.ResponseRecorder) string {
	t.Helper()
	var problem struct{ Code string }
	require.NoError(t, json.Unmarshal(response.Body.Bytes(), &problem), response.Body)
	return problem.Code
}
