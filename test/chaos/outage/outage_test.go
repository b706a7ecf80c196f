// Package outage takes the store away from the running binary in the ways that stores go, and gives it back.
package outage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
	"rangegate/test/support/proxy"
)

func TestMain(m *testing.M) { support.Run(m) }

// gateway serves a range of four simulated lanes from a Redis server, and has its POS.
type gateway struct {
	*support.Gateway
	support.POS
	t *testing.T
}

func serve(t *testing.T, redis string) gateway {
	config := support.NewConfig(t, support.Lanes(0, 3))
	config.Store = support.Redis(redis)
	g := config.Serve(t)
	return gateway{g, g.POS(), t}
}

// sellOnce sells the lane under an idempotency key of its own.
func (g gateway) sellOnce(lane int) (session string) {
	g.t.Helper()
	answer, err := support.Repeat(func() (support.Answer, error) {
		return g.Do("POST", "/sessions", support.Order(lane, 30), "Idempotency-Key", fmt.Sprint("lane-", lane))
	}, support.Answer.IsForNow)
	require.NoError(g.t, err)
	require.Equal(g.t, 201, answer.Status, answer.Body)
	return answer.SessionID(g.t)
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
			operator := admin(t, redis)
			g := serve(t, redis.URL())
			running, stopped := g.sellOnce(0), g.sellOnce(1)

			require.NoError(t, operator.Do(t.Context(), outage.begin...).Err())
			require.Contains(t, g.Expect(503, "POST", "/sessions", support.Order(2, 30)).Body,
				`"code":"store_unavailable"`)
			require.Contains(t, g.Expect(503, "POST", "/sessions/"+running+"/modify?time=5", "").Body,
				`"code":"store_unavailable"`)
			require.Contains(t, g.Expect(503, "POST", "/sessions/"+stopped+"/stop", "").Body, `"code":"not_saved"`)
			require.False(t, g.IsReady())
			require.Contains(t, g.Expect(200, "GET", "/sessions", "").Body, running)
			require.NotContains(t, g.Expect(200, "GET", "/sessions", "").Body, stopped)
			g.WaitLogged("the store is away")

			require.NoError(t, operator.Do(t.Context(), outage.end...).Err())
			g.Ready()
			require.Contains(t, g.Expect(200, "GET", "/history", "").Body, stopped)
			require.NotContains(t, g.Expect(200, "GET", "/history", "").Body, running)
			g.sellOnce(2)
			g.Command(running, "/modify?time=5")
			g.WaitLogged("the store is back")
		})
	}
}

// Redis freezes while minutes are being added. What closes is in force on the controller at once, and the
// controller is shown nothing that is not saved: neither the added minutes, nor, after a ceasefire, a state
// that is not held.
func TestAFrozenStoreShowsControllersOnlyWhatCloses(t *testing.T) {
	redis, controllers := redistest.Start(t), support.NewControllers(t, 0, 0)
	config := support.NewConfig(t, controllers.Lanes())
	config.Store = support.Redis(redis.URL())
	running := config.Serve(t)
	g := gateway{running, running.POS(), t}
	g.WaitLinked()
	session := g.Sell(0, 30)
	controllers.WaitOpen(0, session)

	redis.Hang()
	added := make(chan int, 1)
	go func() {
		answer, _ := g.Do("POST", "/sessions/"+session+"/modify?time=60", "")
		added <- answer.Status
	}()
	g.WaitLogged("the store is away")
	shown := controllers.Controller(0).Shown
	require.Equal(t, 503, g.Send("POST", "/sessions/"+session+"/pause", "").Status)
	support.Eventually(t, "the pause locks the lane", func() bool { return !shown().Open })
	require.LessOrEqual(t, shown().Remaining, 30*time.Minute)
	require.False(t, g.HoldRange(true).Saved)
	support.Eventually(t, "the ceasefire is in force", func() bool { return shown().Hold })
	require.Equal(t, 503, g.Send("POST", "/sessions/"+session+"/stop", "").Status)
	controllers.WaitLocked(0)
	require.True(t, shown().Hold, "the stop lifts no ceasefire")
	outcome := <-added

	redis.Wake()
	var ended support.Session
	support.Eventually(t, "the stop is saved", func() bool {
		history := g.History()
		if len(history) > 0 {
			ended = history[0]
		}
		return len(history) > 0
	})
	switch outcome {
	case 504: // its outcome was unknown, and its flush went through in the end
		require.Equal(t, 90, ended.Minutes)
	default: // a checkpoint of the range hung first, and the minutes were refused
		require.Equal(t, 503, outcome)
		require.Equal(t, 30, ended.Minutes)
	}
	support.Eventually(t, "the ceasefire is saved", func() bool { return g.HoldRange(true).Saved })
	require.True(t, shown().Hold)
}

// The store comes back without what it had acknowledged: with nothing at all, or as a replica that had not heard of the
// last of it. The range brings everything back that it knows of, and operators are told.
func TestTheStoreHasForgotten(t *testing.T) {
	for name, forget := range map[string]func(t *testing.T, master, older *redistest.Server, network *proxy.Proxy){
		"everything": func(t *testing.T, master, _ *redistest.Server, _ *proxy.Proxy) {
			require.NoError(t, admin(t, master).FlushAll(t.Context()).Err())
		},
		"the last of it": func(t *testing.T, _, older *redistest.Server,
			network *proxy.Proxy,
		) {
			network.Redirect(older.Addr())
		},
	} {
		t.Run(name, func(t *testing.T) {
			master, older := redistest.Start(t), redistest.Start(t)
			network := proxy.New(t, master.Addr())
			g := serve(t, "redis://"+network.Addr()+"/0")
			before := g.sellOnce(0)
			replicate(t, master, older)
			running, stopped := g.sellOnce(1), g.sellOnce(2)
			g.Command(before, "/modify?time=10")
			g.Command(before, "/pause")
			g.Command(stopped, "/stop")
			events := g.Expect(200, "GET", "/events", "").Body

			forget(t, master, older, network)
			support.Eventually(t, "it sells again", func() bool {
				return g.Send("POST", "/sessions", support.Order(3, 30)).Status == 201
			})
			g.WaitLogged("the store has lost acknowledged writes")
			for range 2 {
				listed := g.Expect(200, "GET", "/sessions", "").Body
				require.Contains(t, listed, running)
				require.Contains(t, listed, before)
				require.Contains(t, listed, `"duration":40`)
				require.NotContains(t, listed, stopped)
				require.Contains(t, g.Expect(200, "GET", "/lanes/status", "").Body, `"paused"`)
				require.Contains(t, g.Expect(200, "GET", "/history", "").Body, stopped)
				require.Contains(t, g.Expect(201, "POST", "/sessions", support.Order(1, 30), "Idempotency-Key",
					"lane-1").Body, running, "a repeat")
				requirePrefix(t, support.WithoutCursors(events),
					support.WithoutCursors(g.Expect(200, "GET", "/events", "").Body))

				g.Kill()
				g = serve(t, "redis://"+network.Addr()+"/0")
			}
		})
	}
}

// replicate makes one server a copy of another at this moment.
func replicate(t *testing.T, from, to *redistest.Server) {
	t.Helper()
	host, port, found := strings.Cut(from.Addr(), ":")
	require.True(t, found)
	copying := admin(t, to)
	require.NoError(t, admin(t, from).ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err())
	require.NoError(t, copying.Do(t.Context(), "REPLICAOF", host, port).Err())
	support.Eventually(t, "the replica is up to date", func() bool {
		info, err := copying.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
	require.NoError(t, copying.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
}

// requirePrefix compares two answers of the event log: the later one begins with the earlier one.
func requirePrefix(t *testing.T, earlier, later string) {
	t.Helper()
	type log struct{ Events []json.RawMessage }
	var first, second log
	require.NoError(t, json.Unmarshal([]byte(earlier), &first))
	require.NoError(t, json.Unmarshal([]byte(later), &second))
	require.GreaterOrEqual(t, len(second.Events), len(first.Events))
	for i := range first.Events {
		require.JSONEq(t, string(first.Events[i]), string(second.Events[i]))
	}
}
