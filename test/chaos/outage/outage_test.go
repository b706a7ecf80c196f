// Package outage takes the store away from the running binary in the ways that stores go, and gives it back.
package outage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/line"
	"rangegate/test/process"
)

func TestMain(m *testing.M) { process.Run(m) }

const (
	theRange = "11111111-1111-4111-8111-111111111111"
	token    = "22222222-2222-4222-8222-222222222222"
	group    = "33333333-3333-4333-8333-000000000001"
	v2       = "/api/v2/pos"
)

func lane(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }

// till is a POS at a range of four simulated lanes.
type till struct {
	t       *testing.T
	gateway *process.Process
	process.Client
}

func open(t *testing.T, redis string) till {
	var lanes strings.Builder
	for n := range 4 {
		fmt.Fprintf(&lanes, "      - {id: %s, name: Lane %d, bay: 55555555-5555-4555-8555-000000000001}\n", lane(n), n)
	}
	p := process.Serve(t, fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0}
operations: {address: 127.0.0.1:0}
store: {redis: %q}
ranges:
  - id: %s
    name: Range
    token: %s
    groups: [{id: %s, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes:
%s`, redis, theRange, token, group, lanes.String())).Ready()
	return till{t, p, process.Client{API: p.API, Range: theRange, Token: token}}
}

// answered makes a request and holds its answer to the status. headers come in pairs.
func (c till) answered(status int, method, path, body string, headers ...string) string {
	c.t.Helper()
	answer, err := c.Do(method, v2+path, body, headers...)
	require.NoError(c.t, err)
	require.Equal(c.t, status, answer.Status, answer.Body)
	return answer.Body
}

func order(n int) string {
	return fmt.Sprintf(`{"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":30}`, lane(n), group)
}

// sell sells the lane under a key of its own, and gives the session.
func (c till) sell(n int) (session string) {
	c.t.Helper()
	var view struct {
		ID string `json:"session_id"`
	}
	body := c.answered(201, "POST", "/sessions", order(n), "Idempotency-Key", fmt.Sprint("lane-", n))
	require.NoError(c.t, json.Unmarshal([]byte(body), &view))
	return view.ID
}

// ready is the status of /readyz.
func (c till) ready() int {
	c.t.Helper()
	response, err := http.Get(c.gateway.Operations + "/readyz")
	require.NoError(c.t, err)
	defer response.Body.Close()
	return response.StatusCode
}

func admin(t *testing.T, server *redistest.Server) *goredis.Client {
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// The store answers, and takes nothing: it is full, or has become somebody's replica. Nothing is sold that could not be
// kept; what closes a fire line is in force at once, and saved when the store takes it again.
func TestTheStoreTakesNothing(t *testing.T) {
	for name, outage := range map[string]struct{ begin, end []any }{
		"it is full": {
			[]any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"},
		},
		"it is read-only": {
			[]any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			redis := redistest.Start(t)
			desk := admin(t, redis)
			pos := open(t, redis.URL())
			running, stopped := pos.sell(0), pos.sell(1)

			require.NoError(t, desk.Do(t.Context(), outage.begin...).Err())
			require.Contains(t, pos.answered(503, "POST", "/sessions", order(2)), `"code":"store_unavailable"`)
			require.Contains(t, pos.answered(503, "POST", "/sessions/"+running+"/modify?time=5", ""), `"code":"store_unavailable"`)
			require.Contains(t, pos.answered(503, "POST", "/sessions/"+stopped+"/stop", ""), `"code":"not_saved"`)
			require.Equal(t, 503, pos.ready())
			require.Contains(t, pos.answered(200, "GET", "/sessions", ""), running)
			require.NotContains(t, pos.answered(200, "GET", "/sessions", ""), stopped)
			pos.gateway.Logged("the store is away")

			require.NoError(t, desk.Do(t.Context(), outage.end...).Err())
			pos.gateway.Ready()
			require.Contains(t, pos.answered(200, "GET", "/history", ""), stopped)
			require.NotContains(t, pos.answered(200, "GET", "/history", ""), running)
			pos.sell(2)
			pos.answered(204, "POST", "/sessions/"+running+"/modify?time=5", "")
			pos.gateway.Logged("the store is back")
		})
	}
}

// The store comes back without what it had acknowledged: with nothing at all, or as a replica that had not heard of the
// last of it. The range brings everything back that it knows of, and operators are told.
func TestTheStoreHasForgotten(t *testing.T) {
	for name, forget := range map[string]func(t *testing.T, master, older *redistest.Server, way *line.Line){
		"everything": func(t *testing.T, master, _ *redistest.Server, _ *line.Line) {
			require.NoError(t, admin(t, master).FlushAll(t.Context()).Err())
		},
		"the last of it": func(t *testing.T, _, older *redistest.Server, way *line.Line) { way.Divert(older.Addr()) },
	} {
		t.Run(name, func(t *testing.T) {
			master, older := redistest.Start(t), redistest.Start(t)
			way := line.To(t, master.Addr())
			pos := open(t, "redis://"+way.Addr()+"/0")
			before := pos.sell(0)
			copyOf(t, master, older)
			running, stopped := pos.sell(1), pos.sell(2)
			pos.answered(204, "POST", "/sessions/"+before+"/modify?time=10", "")
			pos.answered(204, "POST", "/sessions/"+before+"/pause", "")
			pos.answered(204, "POST", "/sessions/"+stopped+"/stop", "")
			events := pos.answered(200, "GET", "/events", "")

			forget(t, master, older, way)
			pos.later(201, "POST", "/sessions", order(3)) // the store hears of it, or not yet, its line being new
			pos.gateway.Logged("the store has lost acknowledged writes")
			for range 2 {
				listed := pos.answered(200, "GET", "/sessions", "")
				require.Contains(t, listed, running)
				require.Contains(t, listed, before)
				require.Contains(t, listed, `"duration":40`)
				require.NotContains(t, listed, stopped)
				require.Contains(t, pos.answered(200, "GET", "/lanes/status", ""), `"paused"`)
				require.Contains(t, pos.answered(200, "GET", "/history", ""), stopped)
				require.Contains(t, pos.answered(201, "POST", "/sessions", order(1), "Idempotency-Key", "lane-1"), running, "a repeat")
				pos.startsWith(events, pos.answered(200, "GET", "/events", ""))

				pos.gateway.Kill()
				pos = open(t, "redis://"+way.Addr()+"/0")
			}
		})
	}
}

// copyOf makes one server a copy of another, as it is now.
func copyOf(t *testing.T, of, is *redistest.Server) {
	t.Helper()
	host, port, found := strings.Cut(of.Addr(), ":")
	require.True(t, found)
	copying := admin(t, is)
	require.NoError(t, admin(t, of).ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err())
	require.NoError(t, copying.Do(t.Context(), "REPLICAOF", host, port).Err())
	require.Eventually(t, func() bool {
		info, err := copying.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "master_link_status:up")
	}, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, copying.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
}

// later repeats a request that the store was away for.
func (c till) later(status int, method, path, body string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		answer, err := c.Do(method, v2+path, body)
		return err == nil && answer.Status == status
	}, 30*time.Second, 20*time.Millisecond)
}

// startsWith compares two answers of the event log.
func (c till) startsWith(before, after string) {
	c.t.Helper()
	type log struct{ Events []json.RawMessage }
	var was, is log
	require.NoError(c.t, json.Unmarshal([]byte(before), &was))
	require.NoError(c.t, json.Unmarshal([]byte(after), &is))
	require.GreaterOrEqual(c.t, len(is.Events), len(was.Events))
	for i := range was.Events {
		require.JSONEq(c.t, string(was.Events[i]), string(is.Events[i]))
	}
}
