package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/sqlite"
)

// verified runs verify on a store, and returns what it prints.
func verified(t *testing.T, stored config.Store, v verify) (printed string, err error) {
	file := filepath.Join(t.TempDir(), "rangegate.yaml")
	text := fmt.Sprintf(networkRange, "1") + "store: {sqlite: '" + stored.SQLite + "'}\n"
	if stored.Redis != "" {
		text = fmt.Sprintf(networkRange, "1") + "store: {redis: '" + stored.Redis.Reveal() + "'}\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var out strings.Builder
	v.Config = file
	if v.Since == 0 {
		v.Since = 24 * time.Hour
	}
	err = v.Run(&terminal{
		ctx: t.Context(), environ: []string{"STATE_DIRECTORY=" + stateOf(stored)},
		out: &out, log: &out,
	})
	return out.String(), err
}

// stateOf is the folder for the data beside that store; empty beside a server.
func stateOf(stored config.Store) string {
	if stored.SQLite == "" {
		return ""
	}
	return filepath.Dir(stored.SQLite)
}

// What was found last is in the metrics of the gateway, also after a restart. Of a part it is not kept.
func TestTheGatewayShowsWhatWasVerified(t *testing.T) {
	stored := config.Store{SQLite: filepath.Join(t.TempDir(), "rangegate.db")}
	cfg := config.Playground(2, stateOf(stored), "127.0.0.1:0", "http://127.0.0.1:1")
	cfg.Operations.Address = "127.0.0.1:0"
	file := gateway.VerifiedFile([]string{"HOME=/", "STATE_DIRECTORY=" + stateOf(stored) + ":/elsewhere"})
	settings := gateway.Settings{Config: cfg, Version: "test", Verified: file}
	g := gatewaytest.Serve(t, settings)
	require.Contains(t, g.Metrics(), "rangegate_verified_timestamp_seconds 0\n")
	session := sell(g, gatewaytest.DemoLane, true)
	require.Equal(t, 204, g.POS("POST", "/sessions/"+session+"/stop", "").Status)
	_, err := verified(t, stored, verify{Range: gatewaytest.DemoRange})
	require.NoError(t, err)
	require.Contains(t, g.Metrics(), "rangegate_verified_sessions 0\n")
	began := float64(time.Now().UnixMilli()) / 1000
	_, err = verified(t, stored, verify{})
	require.NoError(t, err)
	for range 2 {
		metrics := g.Metrics()
		require.Contains(t, metrics, "rangegate_verified_sessions 1\n")
		require.Contains(t, metrics, "rangegate_verify_differences 0\n")
		require.Regexp(t, `(?m)^rangegate_verified_timestamp_seconds \S+$`, metrics)
		_, after, _ := strings.Cut(metrics, "\nrangegate_verified_timestamp_seconds ")
		var at float64
		_, err := fmt.Sscan(after, &at)
		require.NoError(t, err)
		require.GreaterOrEqual(t, at, began)
		g.Stop()
		g = gatewaytest.Serve(t, settings)
	}
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	require.Contains(t, g.Metrics(), "rangegate_verified_timestamp_seconds 0\n")
	g.Stop()
}

// stores are one of each kind, for a gateway.
func stores(t *testing.T) map[string]config.Store {
	return map[string]config.Store{
		"SQLite": {SQLite: filepath.Join(t.TempDir(), "rangegate.db")},
		"Redis":  {Redis: config.Secret(redistest.Start(t).URL())},
	}
}

// openStore opens the store for writing, with no gateway beside it.
func openStore(t *testing.T, stored config.Store) store.Store {
	keep := store.Retention{Events: 1e6 * time.Hour, History: 1e6 * time.Hour, Names: 1e6 * time.Hour, Cap: 1e9}
	if stored.Redis != "" {
		s, err := redis.Open(t.Context(), stored.Redis.Reveal(), keep)
		require.NoError(t, err)
		return s
	}
	s, err := sqlite.Open(stored.SQLite, keep)
	require.NoError(t, err)
	return s
}

// Beside a gateway that serves, on either store: what it has recorded is what is computed from it; and what
// somebody has changed in the store afterwards is named.
func TestVerifyComputesTheSessionsOfAServingGatewayAgain(t *testing.T) {
	for name, stored := range stores(t) {
		t.Run(name, func(t *testing.T) {
			g := gatewaytest.Start(t, t.TempDir(), func(c *config.Config) {
				stored.Retention = c.Store.Retention
				c.Store = stored
			})
			first := sell(g, gatewaytest.DemoLane, true)
			second := sell(g, otherLane, true)
			post := func(session, command string) {
				require.Equal(t, 204, g.POS("POST", "/sessions/"+session+"/"+command, "").Status, command)
			}
			post(first, "pause")
			post(first, "resume")
			post(first, "modify?time=15")
			hold := func(on bool) {
				body := fmt.Sprintf(`{"scope":"range","on":%t}`, on)
				answer := g.With("PUT", g.Operations+"/ranges/"+gatewaytest.DemoRange+"/holds", body, "Content-Type",
					"application/json",
					"Authorization", "Bearer operator")
				require.Equal(t, 200, answer.Status)
			}
			hold(true)
			hold(false)
			post(second, "stop")
			post(first, "move?lane_id="+otherLane)
			advance := func(minutes string) int {
				return g.POS("POST", "/simulate/advance", `{"session_id":"`+first+`","minutes":`+minutes+`}`).Status
			}
			require.Equal(t, 204, advance("20"))
			post(first, "modify?time=-5")
			require.Equal(t, 204, advance("100"))
			waiting := sell(g, gatewaytest.DemoLane, false)
			post(waiting, "stop")
			running := sell(g, gatewaytest.DemoLane, true)

			printed, err := verified(t, stored, verify{})
			require.NoError(t, err, printed)
			require.Regexp(t, `(?m)^sessions: 3, events: \d+, ranges: 1, differences: 0, in `, printed)
			require.NotContains(t, printed, "older release")
			printed, err = verified(t, stored, verify{Range: gatewaytest.DemoRange, Since: time.Nanosecond})
			require.NoError(t, err, printed)
			require.Contains(t, printed, "sessions: 0,")
			_, err = verified(t, stored, verify{Range: gatewaytest.DemoLane})
			require.ErrorAs(t, err, &gateway.Misconfigured{})
			hold(true)
			printed, err = verified(t, stored, verify{Lane: "1", At: time.Now().Format(time.RFC3339Nano)})
			require.NoError(t, err)
			require.Contains(t, printed, `lane 44444444-4444-4444-8444-000000000001 "Lane 1" at `)
			require.Regexp(t, "shown: session "+running+
				`, paused, \S+ left of 1h0m0s\nallowed: nothing, a hold had closed the fire line\n`, printed)
			require.Regexp(t, `it follows from event \d+: sessionPaused at \S+ by hold of staff, `, printed)
			require.Regexp(t, `on record of staff: .*: hold range\n$`, printed)
			hold(false)
			printed, err = verified(t, stored, verify{Lane: otherLane, At: time.Now().Format(time.RFC3339Nano)})
			require.NoError(t, err)
			require.Contains(t, printed, "shown: no session\nallowed: nothing, the fire line was closed\nit "+
				"follows from event ")
			require.Contains(t, printed, "sessionStopped at ")
			post(running, "stop")
			g.Stop()

			// The minutes of a sale change in the log, and a session in the history nobody has sold.
			s := openStore(t, stored)
			id := uuid.MustParse(gatewaytest.DemoRange)
			epoch, err := s.Claim(t.Context(), id, time.Now())
			require.NoError(t, err)
			of := store.RangeEpoch{Range: id, Epoch: epoch}
			events, err := s.Events(t.Context(), of, 0, 1000)
			require.NoError(t, err)
			changed := entryOf(t, events, first, "modify")
			changed.Event.Decision.Minutes++
			made := lanes.Ended{
				Cursor: 5, Lane: uuid.MustParse(otherLane), At: time.Now(), Reason: "pos", Used: time.Minute,
				Session: lanes.Session{ID: uuid.New(), Sold: time.Minute, Created: lanes.Instant{Wall: time.Now()}},
			}
			require.NoError(t, s.Flush(t.Context(), store.Batch{
				Range: id, Epoch: epoch, N: 1, Now: time.Now(), Events: []lanes.Logged{changed},
				Ended: []lanes.Ended{made},
			}))
			require.NoError(t, s.Close())
			printed, err = verified(t, stored, verify{})
			require.EqualError(t, err, "what is on record is not what is computed from it: differences: 2")
			require.Contains(t, printed, "session "+first+", lane "+otherLane+
				" \"Lane 2\"\n    sessionStopped follows from advance, of which computed nothing follows\n     "+
				" recorded: simulated at ")
			require.Regexp(t, fmt.Sprintf(`event %d: sessionModified at \S+ by modify of pos, \+16 minutes, `,
				changed.Cursor), printed)
			require.Contains(t, printed, "session "+made.Session.ID.String())
			require.Contains(t, printed, "none of its events is in the log")
		})
	}
}

// What was shown at a time that was asked for as people write it.
func TestVerifyShowsWhatWasOnALane(t *testing.T) {
	stored := config.Store{SQLite: filepath.Join(t.TempDir(), "rangegate.db")}
	w := newEvening(1, time.Date(2026, 5, 1, 18, 0, 0, 0, time.Local))
	w.lanes[0].ID = uuid.MustParse(gatewaytest.DemoLane)
	session := w.newID()
	w.ask(0, lanes.Create{Session: session, Minutes: 60, AutoStart: true}, lanes.ByPOS)
	w.now = w.now.Add(20 * time.Minute)
	w.ask(0, lanes.Pause{Session: session}, lanes.ByStaff)
	w.now = w.now.Add(10 * time.Minute)
	w.ask(0, lanes.Resume{Session: session}, lanes.ByStaff)
	w.now = w.now.Add(time.Hour)
	w.ask(0, lanes.Expire{}, lanes.ByTimer)
	w.save(t, openStore(t, stored))
	for at, shown := range map[string]string{
		"2026-05-01 17:59:59": "shown: no session\nallowed: nothing, the fire line was closed\nno event on the " +
			"lane is on record from 2026-04-30 17:59:59 until then\n",
		"2026-05-01 18:10": "running, 50m0s left of 1h0m0s, until 19:00:00\nallowed: shooting, the fire line " +
			"was open\nit follows from event 2: sessionStarted at ",
		"2026-05-01 18:25:00": "paused, 40m0s left of 1h0m0s\nallowed: nothing, the fire line was closed\nit follows " +
			"from event 3: sessionPaused at ",
		"2026-05-01 18:40": "running, 30m0s left of 1h0m0s, until 19:10:00\nallowed: shooting",
		// nobody had noticed yet
		"2026-05-01 19:20": "running, 0s left of 1h0m0s\nallowed: nothing, its time was used up\n",
		"2026-05-01 20:20": "shown: no session",
	} {
		printed, err := verified(t, stored, verify{Lane: "lane 1", At: at})
		require.NoError(t, err)
		require.Contains(t, printed, shown, at)
	}
	printed, err := verified(t, stored, verify{Lane: "1", At: "2026-05-01 18:40", Since: 35 * time.Minute})
	require.NoError(t, err)
	require.Contains(t, printed, "session "+session.String()+
		", which cannot be computed from what is on record since 2026-05-01 18:05:00\nits phase: running\n")
	for _, wrong := range []verify{
		{Lane: "1"},
		{At: "18:40"},
		{Lane: "99", At: "18:40"},
		{Lane: "1", At: "noon"},
		{Since: -time.Hour},
	} {
		_, err := verified(t, stored, wrong)
		require.ErrorAs(t, err, &gateway.Misconfigured{}, wrong)
	}
}

func TestTimesOfDayAreInThePast(t *testing.T) {
	now := time.Date(2026, 5, 2, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"08:59:59":             time.Date(2026, 5, 2, 8, 59, 59, 0, time.UTC),
		"19:42":                time.Date(2026, 5, 1, 19, 42, 0, 0, time.UTC),
		"2026-04-30 19:42:10":  time.Date(2026, 4, 30, 19, 42, 10, 0, time.UTC),
		"2026-04-30T19:42:10Z": time.Date(2026, 4, 30, 19, 42, 10, 0, time.UTC),
	} {
		at, err := parseTime(text, now)
		require.NoError(t, err)
		require.True(t, want.Equal(at), text)
	}
}

const otherLane = "44444444-4444-4444-8444-000000000002"

// sell sells an hour on a lane, and returns the session's id.
func sell(g *gatewaytest.Gateway, lane string, start bool) string {
	answer := g.POS("POST", "/sessions", fmt.Sprintf(
		`{"customer_name":"Jo","lane_id":%q,"group_id":%q,"duration":60,"auto_start":%t}`, lane,
		gatewaytest.DemoGroup, start))
	require.Equal(g.T, 201, answer.Status)
	var session struct {
		ID string `json:"session_id"`
	}
	answer.Decode(g.T, &session)
	return session.ID
}

func entryOf(t *testing.T, events []lanes.Logged, session, command string) lanes.Logged {
	for _, entry := range events {
		if d := entry.Event.Decision; entry.Event.Session.String() == session && d != nil && d.Command == command {
			return entry
		}
	}
	require.Fail(t, "there is no such event", command)
	return lanes.Logged{}
}

// An evening of a hundred lanes, six hours with a session of about 50 minutes after the other on each, on
// SQLite: it comes out the same, and twelve differences that are planted in it are all named.
func TestAnEveningOfAHundredLanes(t *testing.T) {
	stored := config.Store{SQLite: filepath.Join(t.TempDir(), "rangegate.db")}
	w := newEvening(100, time.Now().UTC().Add(-7*time.Hour))
	w.play(6 * time.Hour)
	s := openStore(t, stored)
	w.save(t, s)

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	printed, err := verified(t, stored, verify{})
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	require.NoError(t, err, printed)
	require.Contains(t, printed, fmt.Sprintf("sessions: %d, events: %d, ranges: 1, differences: 0, in ",
		len(w.ended), len(w.log)))
	t.Logf("%d lanes, %d sessions, %d events: %v, %d MiB allocated in all, %d MiB more of the heap held", len(w.lanes),
		len(w.ended), len(w.log),
		took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20,
		(int64(after.HeapInuse)-int64(before.HeapInuse))>>20)

	named := w.plant(t)
	stored.SQLite = filepath.Join(t.TempDir(), "planted.db")
	s = openStore(t, stored)
	w.save(t, s)
	printed, err = verified(t, stored, verify{})
	require.ErrorContains(t, err, "differences: ")
	require.Len(t, named, 12)
	for session, what := range named {
		_, of, found := strings.Cut(printed, "session "+session.String())
		require.True(t, found, "%s of %s is not named", what, session)
		of, _, _ = strings.Cut(of, "\n  session ")
		require.Contains(t, of, what)
	}
	require.Equal(t, 12, strings.Count(printed, "\n  session "), "and nobody else")
}
