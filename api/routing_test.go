package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/control"
	"rangegate/api/lanescreen"
	"rangegate/api/routing"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// gatewayNode is one of several nodes: its API, its operations address, and the address for the other nodes.
type gatewayNode struct {
	name            string
	api, operations http.Handler
	nodes           *httptest.Server
	arrived         atomic.Int64 // requests that other nodes have handed on
	owners          map[uuid.UUID]*gatewayNode
}

// Owner implements routing.Directory.
func (n *gatewayNode) Owner(id uuid.UUID) (lanes.Owner, error) {
	owner := n.owners[id]
	if owner == nil {
		return lanes.Owner{}, lanes.ErrNotOwner
	}
	return lanes.Owner{
		Here: owner == n, Name: owner.name, Address: owner.nodes.Listener.Addr().String(),
		Epoch: 1_700_000_000_000,
	}, nil
}

// Refresh implements routing.Directory.
func (n *gatewayNode) Refresh(_ context.Context, id uuid.UUID) (lanes.Owner, error) {
	return n.Owner(id)
}

// newNodes starts nodes of a playground with that range. The second one owns the first range, and nobody the other.
func newNodes(t *testing.T, configure func(*Settings)) (entry, owner *gatewayNode) {
	owners := map[uuid.UUID]*gatewayNode{}
	sessions := newSessions() // nodes share the secret in the store
	var nodes []*gatewayNode
	for _, name := range []string{"entry", "owner"} {
		n := &gatewayNode{name: name, owners: owners}
		registry := prometheus.NewRegistry()
		router := routing.New(routing.Settings{
			Name: name, Directory: n, Metrics: routing.NewMetrics(registry),
			Log: zerolog.Nop(),
		})
		t.Cleanup(router.Close)
		s := settings(&fakeRange{status: 200})
		s.Router, s.Screens.Sessions = router, sessions
		configure(&s)
		operations := operationsSettings(registry, &fakeOperatedRange{}, "operator")
		operations.Router = router
		n.api, n.operations = New(s), NewOperations(operations)
		acceptor := &routing.Acceptor{Requests: n.api, Operations: n.operations, Other: NoPaths(zerolog.Nop())}
		n.nodes = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.arrived.Add(1)
			acceptor.ServeHTTP(w, r)
		}))
		t.Cleanup(n.nodes.Close)
		nodes = append(nodes, n)
	}
	owners[uuid.MustParse(someRange)] = nodes[1]
	return nodes[0], nodes[1]
}

// everywhere are the routes with a credential that each node serves itself: what concerns the process, not a range.
var everywhere = []string{
	"/debug/pprof", "/debug/flight", "/reload", "/log-level", "/actors", "/observer", "/advisories", "/nodes",
}

// Every route of both addresses is either served by every node, because it concerns no range, or by the owner
// of the range. The test finds new routes by itself.
func TestEveryRouteIsServedEverywhereOrByTheOwner(t *testing.T) {
	entry, owner := newNodes(t, func(*Settings) {})
	handedOn, local := 0, 0
	for address, h := range map[string]http.Handler{"api": entry.api, "operations": entry.operations} {
		forEachRoute(t, h, func(method, route, path string) {
			before, body := owner.arrived.Load(), ""
			if route == "/control/sign-in/" {
				body = `{"range_id":"` + someRange + `","name":"sam","pin":"1234"}`
			}
			cookies := staffCookie(owner.api) + "; " + laneCookie(owner.api, theLane, laneKey) + "; " +
				boardCookie(owner.api, someRange, boardKey)
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			for name, value := range map[string]string{
				"range-id": someRange, "token": someToken, "Authorization": "Bearer operator", "Cookie": cookies,
			} {
				r.Header.Set(name, value)
			}
			response := httptest.NewRecorder()
			h.ServeHTTP(response, r)
			isLocal := isPublic(route) && !strings.HasSuffix(route, "/ceasefire/") ||
				slices.Contains([]string{
					"/lane/{lane_id:[0-9a-fA-F-]{36}}/", "/board/{range_id:[0-9a-fA-F-]{36}}/",
					"/my/{token}",
				}, route)
			for _, prefix := range everywhere {
				isLocal = isLocal || address == "operations" && strings.HasPrefix(route, prefix)
			}
			if isLocal {
				local++
				require.Equal(t, before, owner.arrived.Load(), "%s %s concerns no range", method, route)
				return
			}
			handedOn++
			require.Equal(t, before+1, owner.arrived.Load(), "%s %s is the owner's: %d %s", method, route,
				response.Code, response.Body)
			require.NotEqual(t, http.StatusMisdirectedRequest, response.Code, route)
			require.NotEqual(t, http.StatusUnauthorized, response.Code,
				"%s %s: the owner authenticates it again", method, route)
		})
	}
	require.Greater(t, handedOn, 60)
	require.Greater(t, local, 20)
}

// Who reads events connects to any node. What may wait is handed on without the time that other requests have.
func TestEventsOfARangeOfAnotherNode(t *testing.T) {
	entry, owner := newNodes(t, func(*Settings) {})
	stream := sendAuthorized(entry.api, "GET", prefix2+"/events/stream?after=0", "")
	require.Equal(t, "text/event-stream", stream.Header().Get("Content-Type"))
	require.Equal(t, 3, strings.Count(stream.Body.String(), "\ndata: {"), stream.Body)
	require.EqualValues(t, 1, owner.arrived.Load())
	for target, way := range map[string]routing.Way{
		"/events": routing.Request, "/events?after=1&limit=2": routing.Request, "/events?wait=5": routing.Waiting,
		"/events?after=1&wait=5": routing.Waiting,
		"/events/stream":         routing.Events, "/events/stream?after=1": routing.Events,
		"/sessions?wait=1": routing.Request, "/simulate/help": routing.Integrator,
	} {
		_, got := ofToken(httptest.NewRequest("GET", prefix2+target, nil))
		require.Equal(t, way, got, target)
	}
}

// controlledRange is a range that staff close and lock.
type controlledRange struct {
	control.Range
	fake fakeRange
}

func (c *controlledRange) Now() lanes.Instant { return c.fake.Now() }

func (c *controlledRange) Layout() lanes.Layout { return c.fake.Layout() }

func (c *controlledRange) Holds() lanes.Holds { return lanes.Holds{} }

func (c *controlledRange) Hold(ctx context.Context, scope lanes.Scope, staff string) (lanes.Reached, error) {
	return c.fake.Hold(ctx, scope, staff)
}

func (c *controlledRange) StaffOn(
	context.Context, string, uuid.UUID, lanes.Command,
) (*lanes.SessionView, error) {
	return nil, nil
}

func (c *controlledRange) Record(context.Context, string, string) {}

// Requests of a range hang at the entry, as many as it hands on: what may close a fire line reaches the owner all the
// same, and nothing else does.
func TestWhatClosesReachesTheOwnerWhileOtherRequestsHang(t *testing.T) {
	answer := make(chan struct{})
	entry, owner := newNodes(t, func(s *Settings) {
		s.Screens.Control = func(uuid.UUID) (control.Range, error) { return &controlledRange{}, nil }
		s.Screens.Lane = func(uuid.UUID) (lanescreen.Range, error) {
			<-answer
			return nil, lanes.ErrStarting
		}
	})
	var hanging sync.WaitGroup
	defer hanging.Wait()
	defer close(answer)
	const isFull = `"code":"overloaded"`
	full, cookie := make(chan struct{}, 600), laneCookie(owner.api, theLane, laneKey)
	for range cap(full) {
		hanging.Go(func() {
			for reported := false; ; { // those that are over make room, which others take
				response := send(entry.api, "GET", "/lane/"+theLane+"/products", "Cookie", cookie)
				if !reported && strings.Contains(response.Body.String(), isFull) {
					full <- struct{}{}
					reported = true
				}
				select {
				case <-answer:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	<-full

	credentials := `{"range_id":"` + someRange + `","name":"sam","pin":"1234"}`
	signedIn := sendBody(owner.api, "POST", "/control/sign-in", credentials)
	var cookies []string // that of the session, and that of the browser
	for _, c := range signedIn.Result().Cookies() {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	require.Len(t, cookies, 2)
	session, browser := cookies[0], cookies[1]
	hold := `{"scope":"range","on":true}`
	commands, begin := "/control/api/sessions/"+theSession, "/control/sign-in/"+someRange+"/ceasefire"
	patch := func(minutes int) string { return fmt.Sprintf(`{"id":"%s","duration":%d}`, theSession, minutes) }
	for _, asked := range []struct {
		method, path, body, cookie string
		handler                    http.Handler
		closes                     bool
	}{
		{"PUT", "/control/api/holds", hold, session, entry.api, true},
		{"PUT", begin, hold, browser, entry.api, true},
		{"PUT", "/ranges/" + someRange + "/holds", hold, "", entry.operations, true},
		{"POST", commands + "/stop", "", session, entry.api, true},
		{"POST", commands + "/pause", "", session, entry.api, true},
		{"POST", prefix2 + "/sessions/" + theSession + "/stop", "", "", entry.api, true},
		{"POST", prefix2 + "/sessions/" + theSession + "/pause", "", "", entry.api, true},
		{"PATCH", prefix1 + "/sessions", patch(0), "", entry.api, true},

		{"GET", "/control/api/purchases", "", session, entry.api, false},
		{"PUT", begin, hold, "", entry.api, false},
		{"GET", begin, "", browser, entry.api, false},
		{"GET", "/ranges/" + someRange + "/holds", "", "", entry.operations, false},
		{"POST", commands + "/resume", "", session, entry.api, false},
		{"POST", prefix2 + "/sessions/" + theSession + "/resume", "", "", entry.api, false},
		{"PATCH", prefix1 + "/sessions", patch(30), "", entry.api, false},
	} {
		ask := func() *httptest.ResponseRecorder {
			return sendBody(asked.handler, asked.method, asked.path, asked.body, "range-id", someRange,
				"token", someToken, "Authorization", "Bearer operator", "Cookie", asked.cookie)
		}
		response := ask()
		// On a slow machine no connection to the owner may be made in time, when nothing was sent, or no answer may
		// come in time; and there may be room for a moment, until the others take it.
		unclear := func() bool {
			body := response.Body.String()
			return strings.Contains(body, `"code":"not_owner"`) || strings.Contains(body, `"code":"timeout"`) ||
				!asked.closes && !strings.Contains(body, isFull)
		}
		for end := time.Now().Add(time.Minute); time.Now().Before(end) && unclear(); response = ask() {
			time.Sleep(100 * time.Millisecond)
		}
		if asked.closes {
			require.Less(t, response.Code, 300, "%s %s: %s", asked.method, asked.path, response.Body)
			continue
		}
		require.Contains(t, response.Body.String(), isFull, "%s %s", asked.method, asked.path)
	}
}

// What a range answers, a refusal too, has the epoch of the range that has answered, through whichever node
// it comes. What it has not answered has none.
func TestAnAnswerOfARangeHasItsEpoch(t *testing.T) {
	refusing := &fakeRange{err: lanes.ErrLaneOccupied}
	entry, owner := newNodes(t, func(s *Settings) {
		s.Range = func(uuid.UUID) (v2.Range, error) { return refusing, nil }
	})
	alone := newAPI(refusing)
	sale := `{"lane_id":"` + theLane + `","group_id":"` + theGroup + `","duration":30,"customer_name":"Jo"}`
	for _, asked := range []struct {
		method, path, body string
	}{
		{"GET", prefix1 + "/lanes", ""},
		{"GET", prefix2 + "/lanes/status", ""},
		{"GET", prefix2 + "/events/stream?after=0", ""},
		{"GET", prefix2 + "/sessions/" + theSession, ""},
		{"POST", prefix2 + "/sessions", sale},
	} {
		for name, h := range map[string]http.Handler{"entry": entry.api, "owner": owner.api, "alone": alone} {
			response := sendAuthorized(h, asked.method, asked.path, asked.body)
			require.Equal(t, fmt.Sprint(refusing.Epoch()), response.Header().Get("range-epoch"), "%s %s at %s: %d %s",
				asked.method, asked.path, name, response.Code, response.Body)
			require.Len(t, response.Header().Values("range-epoch"), 1)
		}
	}
	for _, n := range []*gatewayNode{entry, owner} {
		response := send(n.operations, "GET", "/ranges/"+someRange+"/holds", "Authorization", "Bearer operator")
		require.Equal(t, 200, response.Code)
		require.Equal(t, []string{fmt.Sprint(refusing.Epoch())}, response.Header().Values("range-epoch"))
		require.Empty(t, send(n.api, "GET", prefix2+"/lanes").Header().Get("range-epoch"), "without credentials")
	}
	require.Empty(t, sendAuthorized(newAPI(nil), "GET", prefix2+"/lanes", "").Header().Get("range-epoch"), "it starts")
}

// A batch may have a larger body than other requests, through whichever node it comes.
func TestALargeBatchIsHandedOn(t *testing.T) {
	entry, owner := newNodes(t, func(*Settings) {})
	const operations = `{"operations":[{"op":"stop","session_id":"` + theSession + `"}]`
	for size, status := range map[int]int{64 << 10: 200, v2.MaxBatchBody: 200, v2.MaxBatchBody + 1: 413} {
		body := operations + strings.Repeat(" ", size-len(operations)-1) + "}"
		for _, n := range []*gatewayNode{entry, owner} {
			response := sendAuthorized(n.api, "POST", prefix2+"/sessions/batch", body)
			require.Equal(t, status, response.Code, "%d bytes at the %s: %s", size, n.name, response.Body)
		}
	}
}

// Whatever is wrong with a credential, the entry says so itself.
func TestTheEntryAuthenticates(t *testing.T) {
	entry, owner := newNodes(t, func(*Settings) {})
	for _, h := range []http.Handler{entry.api, entry.operations} {
		forEachRoute(t, h, func(method, route, path string) {
			// without a credential
			if route == "/" || isAddress(route) || route == "/control/sign-in/" ||
				strings.HasSuffix(route, "/ceasefire/") {
				return
			}
			require.Contains(t, []int{
				http.StatusOK, http.StatusUnauthorized, http.StatusSeeOther,
				http.StatusMovedPermanently,
			},
				send(h, method, path).Code, route)
		})
	}
	require.Zero(t, owner.arrived.Load())
}

func TestARangeWithoutAnOwner(t *testing.T) {
	entry, _ := newNodes(t, func(*Settings) {})
	response := send(entry.api, "GET", prefix2+"/sessions", "range-id", otherRange, "token", otherToken)
	require.Equal(t, http.StatusServiceUnavailable, response.Code)
	require.Contains(t, response.Body.String(), `"code":"not_owner"`)
	require.Equal(t, "1", response.Header().Get("Retry-After"))
}

// The limit of a range is counted by its owner alone, and once for each request, through whichever node it comes.
func TestLimitsAreTheOwners(t *testing.T) {
	entry, owner := newNodes(t, func(s *Settings) { s.Limits = Limits{PerSecond: 1, Burst: 6} })
	admitted, began := 0, time.Now()
	for i := range 10 {
		n := []*gatewayNode{entry, owner}[i%2]
		response := sendAuthorized(n.api, "GET", prefix2+"/sessions", "")
		if response.Code == http.StatusOK {
			admitted++
			continue
		}
		require.Equal(t, http.StatusTooManyRequests, response.Code)
		require.Equal(t, "1", response.Header().Get("Retry-After"))
	}
	require.GreaterOrEqual(t, admitted, 6)
	require.LessOrEqual(t, admitted, 6+int(time.Since(began)/time.Second)+1)
}

// Wrong PINs and wrong keys are counted by the owner, for the network of the client: of five in a minute none
// is gained by another entry.
func TestWrongPINsAndKeysAreCountedByTheOwner(t *testing.T) {
	entry, owner := newNodes(t, func(*Settings) {})
	attempt := func(n *gatewayNode, client int, method, path, body string) int {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.RemoteAddr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(client)}), 1).String()
		response := httptest.NewRecorder()
		n.api.ServeHTTP(response, r)
		return response.Code
	}
	for kind, guess := range map[string]func(n *gatewayNode, client, i int) int{
		"PIN": func(n *gatewayNode, client, i int) int {
			return attempt(n, client, "POST", "/control/sign-in",
				fmt.Sprintf(`{"range_id":"%s","name":"nobody %d","pin":"0000"}`, someRange, i))
		},
		"key": func(n *gatewayNode, client, _ int) int {
			return attempt(n, client, "GET", "/lane/"+theLane+"?key=wrong", "")
		},
	} {
		refused := 0
		for i := range 10 {
			status := guess([]*gatewayNode{entry, owner}[i%2], 1, i)
			if status == http.StatusTooManyRequests {
				refused++
				continue
			}
			require.Equal(t, http.StatusUnauthorized, status, kind)
		}
		require.Equal(t, 5, refused, kind)
		require.Equal(t, http.StatusUnauthorized, guess(entry, 2, 100), "%s: another client at the same entry", kind)
	}
}

// A sign-in is handed on by the very key that its endpoint reads: no other spelling compares a PIN where
// nobody counts it.
func TestASignInNamesItsRangeInOneWay(t *testing.T) {
	entry, owner := newNodes(t, func(*Settings) {})
	for body, want := range map[string]int{
		`{"range_id":"` + otherRange + `","range_id":"` + someRange +
			`","name":"sam","pin":"1234"}`: http.StatusNoContent,
		`{"range_id":"` + someRange + `","Range_ID":"` + otherRange +
			`","name":"sam","pin":"1234"}`: http.StatusNoContent,
		`{"Range_ID":"` + someRange + `","name":"sam","pin":"1234"}`:        http.StatusBadRequest,
		`{"range_id":"` + uuid.NewString() + `","name":"sam","pin":"1234"}`: http.StatusUnauthorized,
		`{"range_id":7,"name":"sam","pin":"1234"}`:                          http.StatusBadRequest,
		`nonsense`:                 http.StatusBadRequest,
		strings.Repeat("x", 2<<10): http.StatusRequestEntityTooLarge,
	} {
		before := owner.arrived.Load()
		response := sendBody(entry.api, "POST", "/control/sign-in", body)
		require.Equal(t, want, response.Code, "%s: %s", body, response.Body)
		require.Equal(t, want == http.StatusNoContent, owner.arrived.Load() > before, body)
	}
}

// The cookies of a client that uses TLS are those of TLS, although the nodes speak with each other in their own way.
func TestCookiesOfTheClientsOwnConnection(t *testing.T) {
	entry, _ := newNodes(t, func(*Settings) {})
	body := `{"range_id":"` + someRange + `","name":"sam","pin":"1234"}`
	for address, prefix := range map[string]string{
		"http://range.example":  "rangegate_",
		"https://range.example": "__Host-rangegate_",
	} {
		response := sendBody(entry.api, "POST", address+"/control/sign-in", body)
		require.Equal(t, http.StatusNoContent, response.Code)
		require.Len(t, response.Result().Cookies(), 2)
		for _, cookie := range response.Result().Cookies() {
			require.True(t, strings.HasPrefix(cookie.Name, prefix), cookie.Name)
			require.Equal(t, strings.HasPrefix(address, "https"), cookie.Secure)
		}
		cookie := cookieOf(response)
		answer := send(entry.api, "POST", address+"/control/sign-out", "Cookie", cookie)
		require.Equal(t, http.StatusNoContent, answer.Code)
		var deleted []string
		for _, cookie := range answer.Result().Cookies() {
			require.Negative(t, cookie.MaxAge)
			deleted = append(deleted, cookie.Name)
		}
		require.Equal(t, []string{prefix + "control", prefix + "control_used"}, deleted, "the owner's alone")
	}
}

// Trusted proxies stand before the entry: the owner counts the client that they name.
func TestProxiesAreTheEntrys(t *testing.T) {
	log := make(chan string, 10)
	entry, _ := newNodes(t, func(s *Settings) {
		s.Proxies = Proxies{netip.MustParsePrefix("192.0.2.0/24")}
		s.Log = zerolog.New(lineChannel(log))
	})
	sendAuthorized(entry.api, "GET", prefix2+"/sessions", "", "X-Forwarded-For", "203.0.113.7",
		"X-Forwarded-Proto", "https")
	for range 2 {
		require.Contains(t, <-log, `"from":"203.0.113.7:0"`)
	}
}

// lineChannel is a log whose lines are sent to the channel.
type lineChannel chan string

func (l lineChannel) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// The page of the actors says which node has a range, and looks at one range or lane where it is.
func TestTheActorsOfARangeElsewhere(t *testing.T) {
	entry, owner := newNodes(t, func(*Settings) {})
	var all struct {
		All    struct{ Ranges, Running, Elsewhere int }
		Ranges []struct {
			ID    string `json:"range_id"`
			State string
			Node  string
		}
	}
	read := func(n *gatewayNode, path string) {
		response := sendAuthorized(n.operations, "GET", path, "")
		require.Equal(t, http.StatusOK, response.Code, response.Body)
		require.NoError(t, json.Unmarshal(response.Body.Bytes(), &all))
	}
	read(entry, "/actors")
	require.Zero(t, owner.arrived.Load())
	require.Equal(t, 2, all.All.Ranges)
	require.Equal(t, 1, all.All.Elsewhere)
	require.Equal(t, "not_owner", all.Ranges[0].State, "the worst first")
	require.Equal(t, someRange, all.Ranges[1].ID)
	require.Equal(t, "elsewhere", all.Ranges[1].State)
	require.Equal(t, "owner", all.Ranges[1].Node)

	read(entry, "/actors?range="+someRange)
	require.Equal(t, "running", all.Ranges[0].State)
	read(entry, "/actors/"+theLane+"?range="+someRange)
	require.EqualValues(t, 2, owner.arrived.Load())
}
