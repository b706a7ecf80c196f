package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

// What a POS gives a session to know it by comes back with the session, its events and its end, to the byte,
// across kill -9 and in both stores. A session that was given nothing has none of the keys, the webhook none
// at all, and the log none of the values.
func TestWhatAPOSKnowsASessionBy(t *testing.T) {
	for name, store := range map[string]string{
		"sqlite": support.NewSQLite(t),
		"redis":  support.Redis(redistest.Start(t).URL()),
	} {
		t.Run(name, func(t *testing.T) {
			receiver := newIntegrator(t)
			config := newConfig(store, receiver.Setting())
			config.Sections = append(config.Sections, "log: {level: debug}")
			gateway, pos := serveConfig(t, config)
			const (
				more  = `,"external_id":" 4711 <é> ","metadata":{"till":"3","a":"b & c","a":"\u00e9"}`
				given = `,"external_id":"4711 <é>","metadata":{"a":"é","till":"3"}`
				asked = "?external_id=4711%20%3C%C3%A9%3E"
			)
			created := pos.ask("POST", v2+"/sessions", order(1, 30, more), "Idempotency-Key", "receipt")
			require.Equal(t, 201, created.Status, created.Body)
			one, plain := created.SessionID(t), pos.sell(2, 30, `,"external_id":null,"metadata":{}`)
			same := pos.sell(3, 30, `,"external_id":"4711 <é>"`)
			view := func(session string, n int, more string) string {
				return fmt.Sprintf(
					`{"session_id":%q,"lane_id":%q,"group_id":%q,"duration":30,"began_at":"TIME","created_at":"TIME",`+
						`"minutes_remaining":MINUTES,"enable_purchasing":false%s}`, session, lane(n),
					support.Group, more)
			}
			shown := func(path, want string) {
				t.Helper()
				answer := pos.ask("GET", path, "")
				require.Equal(t, 200, answer.Status, answer.Body)
				require.Equal(t, want, masked(answer.Body, one, plain, same))
			}
			first, second, third := view("SESSION-1", 1, given), view("SESSION-2", 2, ""),
				view("SESSION-3", 3, `,"external_id":"4711 <é>"`)
			require.Equal(t, first, masked(created.Body, one))

			gateway.Kill()
			gateway, pos = serveConfig(t, config)
			again := pos.ask("POST", v2+"/sessions", order(1, 30, more), "Idempotency-Key", "receipt")
			require.Equal(t, "true", again.Header.Get("idempotency-replayed"))
			require.Equal(t, created.Body, again.Body)
			shown(v2+"/sessions/"+one, first)
			shown(v2+"/sessions", "["+first+","+second+","+third+"]")
			shown(v2+"/sessions"+asked, "["+first+","+third+"]")
			shown(v2+"/sessions?external_id=4711", "[]")
			shown(v1+"/sessions"+asked, strings.NewReplacer(`[{"s`, `[{"id":"SESSION-1","s`, `,{"s`,
				`,{"id":"SESSION-3","s`).
				Replace("["+first+","+third+"]"))

			for _, session := range []string{one, plain, same} {
				require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/stop", "").Status)
			}
			ended := func(view string) string {
				return strings.TrimSuffix(view, "}") +
					`,"customer_name":"Jo Smith","ended_at":"TIME","end_reason":"pos","minutes_used":MINUTES,"minutes_paused":MINUTES}`
			}
			gateway.Kill()
			gateway, pos = serveConfig(t, config)
			shown(v2+"/history", `{"sessions":[`+ended(first)+","+ended(second)+","+ended(third)+`],"next":"3"}`)
			shown(v2+"/history"+asked, `{"sessions":[`+ended(first)+","+ended(third)+`],"next":"3"}`)
			shown(v2+"/history"+asked+"&after=1", `{"sessions":[`+ended(third)+`],"next":"3"}`)
			shown(v2+"/history"+asked+"&limit=1", `{"sessions":[`+ended(first)+`],"next":"1"}`)
			shown(v2+"/history"+asked+"&after=3", `{"sessions":[],"next":"3"}`)

			var log string
			support.Eventually(t, "every event is attempted", func() bool { // some were interrupted by a kill
				log = pos.ask("GET", v2+"/events", "").Body
				return !strings.Contains(log, `"attempt":null`)
			})
			require.Equal(t, 3, strings.Count(log, given+"}"), "created, started, stopped: %s", log)
			require.Equal(t, 6, strings.Count(log, `"external_id"`), log)
			for _, body := range bodies(receiver) {
				require.NotContains(t, body, "external_id")
				require.NotContains(t, body, "metadata")
			}
			require.Equal(t, 0, gateway.Terminate())
			// The digits alone are in some times.
			require.NotRegexp(t, `4711( |%20|\+)`, gateway.Log(), "it is in no log")
			require.NotContains(t, gateway.Log(), "b & c")
		})
	}
}

// What breaks a rule is refused, and named.
func TestWhatAPOSMayNotGive(t *testing.T) {
	_, pos := serve(t)
	pairs := func(count int) string {
		members := make([]string, count)
		for i := range members {
			members[i] = fmt.Sprintf(`"key-%d":"value"`, i)
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	const (
		text   = "must be a text of 1 to 128 characters, not all of them invisible, none of them a control character"
		object = "must be an object of at most 20 texts without control characters, names and values together of " +
			"at most 2048 bytes"
	)
	for _, c := range []struct{ more, field, rule string }{
		{`,"external_id":""`, "external_id", text},
		{`,"external_id":"` + strings.Repeat("x", 129) + `"`, "external_id", text},
		{`,"external_id":"a\u0000b"`, "external_id", text},
		{`,"external_id":4711`, "external_id", text},
		{`,"metadata":` + pairs(21), "metadata", object},
		{`,"metadata":{"a":"` + strings.Repeat("x", 2048) + `"}`, "metadata", object},
		{`,"metadata":{"a":1}`, "metadata", object},
		{`,"metadata":"a"`, "metadata", object},
	} {
		answer := pos.ask("POST", v2+"/sessions", order(1, 30, c.more))
		require.Equal(t, 400, answer.Status, answer.Body)
		require.Contains(t, answer.Body, fmt.Sprintf(`"fields":{%q:%q}`, c.field, c.rule))
	}
	for _, path := range []string{"/sessions", "/history"} {
		require.Contains(t, pos.ask("GET", v2+path+"?external_id=", "").Body, `"fields":{"external_id":"`+text+`"}`)
	}
	pos.sell(1, 30, `,"external_id":"`+strings.Repeat("é", 128)+`","metadata":`+pairs(20))
	pos.sell(2, 30, `,"metadata":{"a":"`+strings.Repeat("x", 2047)+`"}`)
}
