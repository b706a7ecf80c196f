package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/sqlite"
	"rangegate/test/support/proxy"
)

// withoutDemoRange writes a configuration with that store, and without the demo range.
func withoutDemoRange(t *testing.T, stored config.Store) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "rangegate.yaml")
	text := strings.ReplaceAll(fmt.Sprintf(networkRange, "1"), gatewaytest.DemoRange, uuid.NewString())
	if stored.Redis != "" {
		text += "store: {redis: '" + stored.Redis.Reveal() + "'}\n"
	} else {
		text += "store: {sqlite: '" + stored.SQLite + "'}\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// forgotten runs store forget on the demo range, and returns what it prints. It calls looking once the
// command begins to look whether a gateway saves the range.
func forgotten(t *testing.T, stored config.Store, s storeForget, looking ...func()) (printed string, err error) {
	t.Helper()
	var out strings.Builder
	s.Config, s.Range = withoutDemoRange(t, stored), uuid.MustParse(gatewaytest.DemoRange)
	lookFor := 10 * time.Millisecond
	if len(looking) > 0 {
		lookFor = 5 * time.Second
	}
	err = s.forget(&terminal{ctx: t.Context(), out: &out, log: lineWriter(func(line string) {
		require.Contains(t, line, "looking for ")
		for _, look := range looking {
			look()
		}
	})}, lookFor)
	return out.String(), err
}

// lineWriter is called with each line that is written to it.
type lineWriter func(line string)

func (w lineWriter) Write(line []byte) (int, error) {
	w(string(line))
	return len(line), nil
}

// allText is everything that the store has, as it is stored.
func allText(t *testing.T, stored config.Store) string {
	t.Helper()
	var all strings.Builder
	if stored.Redis == "" {
		files, err := filepath.Glob(stored.SQLite + "*")
		require.NoError(t, err)
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			all.Write(content)
		}
		return all.String()
	}
	options, err := goredis.ParseURL(stored.Redis.Reveal())
	require.NoError(t, err)
	c := goredis.NewClient(options)
	defer func() { _ = c.Close() }()
	keys, err := c.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		all.WriteString(key)
		switch kind := c.Type(t.Context(), key).Val(); kind {
		case "hash":
			fmt.Fprint(&all, c.HGetAll(t.Context(), key).Val())
		case "zset":
			fmt.Fprint(&all, c.ZRange(t.Context(), key, 0, -1).Val())
		case "none": // it has gone meanwhile
		default:
			require.Fail(t, "a key of another type", kind)
		}
	}
	return all.String()
}

// A range that is given up, on either store: while a gateway serves it, nothing is removed, nor while
// somebody is on a lane. Then nothing of it is left, nor the names of its customers. Configured again, it
// begins with nothing.
func TestARangeThatIsGivenUpIsForgotten(t *testing.T) {
	const customer = "Zebedee Nobody"
	for name, stored := range stores(t) {
		t.Run(name, func(t *testing.T) {
			begin := func() *gatewaytest.Gateway {
				return gatewaytest.Start(t, t.TempDir(), func(c *config.Config) {
					stored.Retention = c.Store.Retention
					c.Store = stored
				})
			}
			g := begin()
			create := func(lane string) (id string) {
				t.Helper()
				answer := g.POS("POST", "/sessions", fmt.Sprintf(
					`{"customer_name":%q,"lane_id":%q,"group_id":%q,"duration":60,"auto_start":true}`, customer, lane,
					gatewaytest.DemoGroup), "Idempotency-Key", uuid.NewString())
				require.Equal(t, 201, answer.Status)
				var session struct {
					ID string `json:"session_id"`
				}
				answer.Decode(t, &session)
				return session.ID
			}
			ended, running := create(gatewaytest.DemoLane), create(otherLane)
			require.Equal(t, 204, g.POS("POST", "/sessions/"+ended+"/stop", "").Status)

			_, err := forgotten(t, stored, storeForget{})
			if stored.Redis == "" {
				require.ErrorIs(t, err, sqlite.ErrLocked)
			} else {
				require.ErrorContains(t, err, "active sessions: 1, open purchases: 0, holds: 0")
				paused := make(chan int, 1)
				_, err = forgotten(t, stored, storeForget{InUse: true, Undelivered: true}, func() {
					time.AfterFunc(500*time.Millisecond, func() {
						paused <- g.POS("POST", "/sessions/"+running+"/pause", "").Status
					})
				})
				require.Equal(t, 204, <-paused)
				require.ErrorIs(t, err, store.ErrChanging)
			}
			g.Stop()
			_, err = forgotten(t, stored, storeForget{Undelivered: true})
			require.ErrorContains(t, err, "range "+gatewaytest.DemoRange+
				", of which nothing was removed: active sessions: 1")
			require.Contains(t, allText(t, stored), customer)

			printed, err := forgotten(t, stored, storeForget{InUse: true, Undelivered: true})
			require.NoError(t, err)
			require.Regexp(t, "^forgot range "+gatewaytest.DemoRange+`: epoch \d+, .* active sessions: 1, .* `+
				`ended sessions: 1, acts of staff: 0, idempotency keys: 2\n$`, printed)
			for _, text := range []string{customer, ended, running, gatewaytest.DemoLane} {
				require.Zero(t, strings.Count(allText(t, stored), text), text)
			}
			printed, err = verified(t, stored, verify{})
			require.NoError(t, err)
			require.Contains(t, printed, "sessions: 0, events: 0, ranges: 0,")
			printed, err = forgotten(t, stored, storeForget{})
			require.NoError(t, err)
			require.Equal(t, "range "+gatewaytest.DemoRange+" was forgotten before, and nothing of it is left\n",
				printed)

			g = begin()
			var sessions []any
			g.POS("GET", "/sessions", "").Decode(t, &sessions)
			require.Empty(t, sessions)
			require.Equal(t, 404, g.POS("GET", "/sessions/"+running, "").Status)
			create(gatewaytest.DemoLane)
			g.Stop()
		})
	}
}

// A gateway that was cut off from Redis has the whole range in its memory, and fills a store that has lost it
// again from there: not one in which the range was forgotten meanwhile.
func TestAGatewayThatWasCutOffDoesNotBringAForgottenRangeBack(t *testing.T) {
	const customer = "Zebedee Nobody"
	server := redistest.Start(t)
	network := proxy.New(t, server.Addr())
	g := gatewaytest.Start(t, t.TempDir(), func(c *config.Config) {
		c.Store = config.Store{
			Redis: config.Secret("redis://" + network.Addr() + "/0"), Retention: c.Store.Retention,
		}
	})
	sale := fmt.Sprintf(`{"customer_name":%q,"lane_id":%q,"group_id":%q,"duration":60}`, customer,
		gatewaytest.DemoLane, gatewaytest.DemoGroup)
	require.Equal(t, 201, g.POS("POST", "/sessions", sale).Status)
	stored := config.Store{Redis: config.Secret(server.URL())}
	require.Contains(t, allText(t, stored), customer)
	repair := network.Disturb("timeout", "upstream", proxy.Attributes{"timeout": 0})
	_, err := forgotten(t, stored, storeForget{InUse: true, Undelivered: true})
	require.NoError(t, err)

	repair()
	require.Eventually(t, func() bool {
		return g.POS("GET", "/lanes", "").Status == 503 // not_owner
	}, longTimeout, 50*time.Millisecond)
	require.NotContains(t, allText(t, stored), customer)
	g.Stop()
	require.NotContains(t, allText(t, stored), customer)
}

// What nobody has been told of yet, or what is closed for safety, is given up on purpose alone.
func TestWhatARangeStillOwesIsNamed(t *testing.T) {
	for name, stored := range stores(t) {
		t.Run(name, func(t *testing.T) {
			id, now := uuid.MustParse(gatewaytest.DemoRange), time.Now()
			s := openStore(t, stored)
			epoch, err := s.Claim(t.Context(), id, now)
			require.NoError(t, err)
			retried := lanes.Logged{Cursor: 2, Event: lanes.Event{ID: uuid.New(), At: now}}
			retried.Attempt = &lanes.Attempt{At: now, Status: 500, RetryAt: now.Add(time.Minute)}
			require.NoError(t, s.Flush(t.Context(), store.Batch{
				Range: id, Epoch: epoch, N: 1, Now: now,
				Events: []lanes.Logged{{Cursor: 1, Event: lanes.Event{ID: uuid.New(), At: now}}, retried},
				Holds:  new(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "sam", now)),
			}))
			require.NoError(t, s.Close())
			const held = "holds: 1; configure the range again and end them, or give them up with --in-use"
			const owed = "events that wait for their delivery: 2; configure the range again until they are sent, or " +
				"give them up with --undelivered"
			_, err = forgotten(t, stored, storeForget{})
			require.ErrorContains(t, err, held)
			require.ErrorContains(t, err, owed)
			_, err = forgotten(t, stored, storeForget{InUse: true})
			require.NotContains(t, err.Error(), held)
			require.ErrorContains(t, err, owed)
			_, err = forgotten(t, stored, storeForget{Undelivered: true})
			require.ErrorContains(t, err, held)
			require.NotContains(t, err.Error(), owed)
			_, err = forgotten(t, stored, storeForget{InUse: true, Undelivered: true})
			require.NoError(t, err)
		})
	}
}

// What cannot be read may be what somebody needs.
func TestARangeWithDamageIsForgottenOnPurposeAlone(t *testing.T) {
	stored := stores(t)["Redis"]
	options, err := goredis.ParseURL(stored.Redis.Reveal())
	require.NoError(t, err)
	c := goredis.NewClient(options)
	defer func() { _ = c.Close() }()
	s := openStore(t, stored)
	id := uuid.MustParse(gatewaytest.DemoRange)
	epoch, err := s.Claim(t.Context(), id, time.Now())
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context(), store.Batch{Range: id, Epoch: epoch, N: 1, Now: time.Now()}))
	require.NoError(t, s.Close())
	require.NoError(t, c.HSet(t.Context(), "rangegate:{"+id.String()+"}:lanes", uuid.NewString(), "Jo Smith").Err())
	for _, flags := range []storeForget{{}, {InUse: true}, {Undelivered: true}} {
		_, err = forgotten(t, stored, flags)
		require.ErrorContains(t, err, "records that cannot be read, or do not go together: 1, which rangegate "+
			"store check names")
	}
	_, err = forgotten(t, stored, storeForget{InUse: true, Undelivered: true})
	require.NoError(t, err)
	require.NotContains(t, allText(t, stored), "Jo Smith")
}

func TestARangeThatIsConfiguredIsNotForgotten(t *testing.T) {
	stored := stores(t)["SQLite"]
	s := storeForget{Range: uuid.MustParse(gatewaytest.DemoRange)}
	s.Config = filepath.Join(t.TempDir(), "rangegate.yaml")
	require.NoError(t, os.WriteFile(s.Config,
		[]byte(fmt.Sprintf(networkRange, "1")+"store: {sqlite: '"+stored.SQLite+"'}\n"), 0o600))
	err := s.Run(&terminal{ctx: t.Context(), out: &strings.Builder{}, log: &strings.Builder{}})
	require.ErrorAs(t, err, &gateway.Misconfigured{})
	require.ErrorContains(t, err, `range `+gatewaytest.DemoRange+` "Demo range" is in the configuration`)
}
