package wire

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/sqlite"
	"rangegate/test/support"
)

func clientOf(p *support.Gateway, rangeID, token string) support.Client {
	return support.Client{API: p.API, Range: rangeID, Token: token}
}

// refusal is a row of the table in WIRE.md, Errors: a request, and what it is refused with.
type refusal struct {
	name, method, path, body string
	status                   int
	code                     string
	headers                  []string
	fields                   string // for invalid_request: what is said of the fields, as JSON
}

func TestRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	used := usedUp(t, path)
	_, pos := serveConfig(t, newConfig(support.SQLite(path)))
	running := pos.sell(1, 30, "")
	paused := pos.sell(2, 30, "")
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+paused+"/pause", "").Status)
	ended := pos.sell(3, 30, "")
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+ended+"/stop", "").Status)
	sessions := v2 + "/sessions"
	require.Equal(t, 201, pos.ask("POST", sessions, order(4, 30, ""), "Idempotency-Key", "used").Status)

	body := func(edit ...string) string { return strings.NewReplacer(edit...).Replace(order(5, 30, "")) }
	for _, r := range []refusal{
		{
			name: "every field at once", method: "POST", path: sessions, body: `{}`, status: 400,
			code: "invalid_request", fields: `{` +
				`"customer_name":"is required","duration":"is required","group_id":"is required","lane_id":"is required"}`,
		},
		{
			name: "rules of fields", method: "POST", path: sessions,
			body: body(`"Jo Smith"`, `"  "`, `:30`, `:481`, lane(5), "x"), status: 400, code: "invalid_request",
		},
		{
			name: "not an integer", method: "POST", path: sessions, body: body(`:30`, `:30.5`), status: 400,
			code: "invalid_request", fields: `{"duration":"must be an integer from 1 to 480"}`,
		},
		{
			name: "not JSON", method: "POST", path: sessions, body: `{"customer_name"`, status: 400,
			code: "invalid_request",
		},
		{name: "not an object", method: "POST", path: sessions, body: `[]`, status: 400, code: "invalid_request"},
		{
			name: "something behind the object", method: "POST", path: sessions, body: body() + "{}", status: 400,
			code: "invalid_request",
		},
		{name: "path id", method: "GET", path: sessions + "/not-a-uuid", status: 400, code: "invalid_request"},
		{
			name: "query missing", method: "POST", path: sessions + "/" + running + "/modify", status: 400,
			code: "invalid_request",
		},
		{
			name: "query zero", method: "POST", path: sessions + "/" + running + "/modify?time=0", status: 400,
			code: "invalid_request",
		},
		{
			name: "query broken", method: "POST", path: sessions + "/" + running + "/modify?time=1.5", status: 400,
			code: "invalid_request",
		},
		{name: "cursor", method: "GET", path: v2 + "/events?after=yesterday", status: 400, code: "invalid_request"},
		{name: "limit", method: "GET", path: v2 + "/history?limit=1001", status: 400, code: "invalid_request"},
		{
			name: "empty key", method: "POST", path: sessions, body: body(), headers: []string{"Idempotency-Key", " "},
			status: 400, code: "invalid_request",
		},

		{
			name: "no token", method: "GET", path: sessions, headers: []string{"token", ""}, status: 401,
			code: "unauthorized",
		},
		{
			name: "no range", method: "GET", path: sessions, headers: []string{"range-id", ""}, status: 401,
			code: "unauthorized",
		},
		{
			name: "malformed token", method: "GET", path: sessions, headers: []string{"token", "x"}, status: 401,
			code: "unauthorized",
		},
		{
			name: "unknown range", method: "GET", path: sessions, headers: []string{"range-id", unknownID}, status: 401,
			code: "unauthorized",
		},
		{
			name: "another range's token", method: "GET", path: sessions, headers: []string{"token", otherToken},
			status: 401, code: "unauthorized",
		},
		{
			name: "unknown path, unknown caller", method: "GET", path: v2 + "/nope", headers: []string{"token", ""},
			status: 401, code: "unauthorized",
		},
		{
			name: "wrong method, unknown caller", method: "PUT", path: sessions, headers: []string{"token", ""},
			status: 401, code: "unauthorized",
		},

		{name: "unknown path", method: "GET", path: v2 + "/nope", status: 404, code: "not_found"},
		{name: "outside of everything", method: "GET", path: "/", status: 404, code: "not_found"},
		{
			name: "lane", method: "POST", path: sessions, body: body(lane(5), unknownID), status: 404,
			code: "lane_not_found",
		},
		{
			name: "another range's lane", method: "POST", path: sessions, body: body(lane(5), otherLane), status: 404,
			code: "lane_not_found",
		},
		{
			name: "group", method: "POST", path: sessions, body: body(support.Group, unknownID), status: 404,
			code: "group_not_found",
		},
		{name: "session", method: "GET", path: sessions + "/" + unknownID, status: 404, code: "session_not_found"},
		{
			name: "session to stop", method: "POST", path: sessions + "/" + unknownID + "/stop", status: 404,
			code: "session_not_found",
		},
		{
			name: "receipt of an active session", method: "GET", path: v2 + "/history/" + running, status: 404,
			code: "session_not_found",
		},
		{
			name: "destination", method: "POST", path: sessions + "/" + running + "/move?lane_id=" + unknownID,
			status: 404, code: "lane_not_found",
		},
		{name: "ended", method: "GET", path: sessions + "/" + ended, status: 404, code: "session_ended"},
		{
			name: "ended, modify", method: "POST", path: sessions + "/" + ended + "/modify?time=5", status: 404,
			code: "session_ended",
		},
		{
			name: "ended, stop", method: "POST", path: sessions + "/" + ended + "/stop", status: 404,
			code: "session_ended",
		},

		{name: "method", method: "DELETE", path: sessions, status: 405, code: "method_not_allowed"},
		{
			name: "occupied", method: "POST", path: sessions, body: body(lane(5), lane(1)), status: 409,
			code: "lane_occupied",
		},
		{
			name: "closed for sale", method: "POST", path: sessions, body: body(lane(5), lane(8)), status: 409,
			code: "lane_not_accessible",
		},
		{
			name: "beyond 480", method: "POST", path: sessions + "/" + running + "/modify?time=451", status: 409,
			code: "duration_out_of_range",
		},
		{
			name: "below 1", method: "POST", path: sessions + "/" + running + "/modify?time=-30", status: 409,
			code: "duration_out_of_range",
		},
		{
			name: "no time left", method: "POST", path: sessions + "/" + used + "/modify?time=-10", status: 409,
			code: "no_time_left",
		},
		{
			name: "not running", method: "POST", path: sessions + "/" + paused + "/pause", status: 409,
			code: "not_running",
		},
		{
			name: "not waiting", method: "POST", path: sessions + "/" + running + "/start", status: 409,
			code: "not_waiting",
		},
		{
			name: "not paused", method: "POST", path: sessions + "/" + running + "/resume", status: 409,
			code: "not_paused",
		},
		{
			name: "destination occupied", method: "POST", path: sessions + "/" + running + "/move?lane_id=" + lane(2),
			status: 409, code: "lane_occupied",
		},
		{
			name: "destination closed", method: "POST", path: sessions + "/" + running + "/move?lane_id=" + lane(8),
			status: 409, code: "lane_not_accessible",
		},

		{
			name: "too large", method: "POST", path: sessions, body: `{"x":"` + strings.Repeat("a", 64<<10) + `"}`,
			status: 413, code: "too_large",
		},
		{
			name: "media type", method: "POST", path: sessions, body: body(),
			headers: []string{"Content-Type", "text/plain"}, status: 415, code: "unsupported_media_type",
		},
		{
			name: "key used for another request", method: "POST", path: sessions, body: body(),
			headers: []string{"Idempotency-Key", "used"}, status: 422, code: "idempotency_key_reused",
		},
	} {
		t.Run(fmt.Sprintf("%d %s: %s", r.status, r.code, r.name), func(t *testing.T) {
			answer := pos.ask(r.method, r.path, r.body, r.headers...)
			require.Equal(t, r.status, answer.Status, answer.Body)
			got := masked(answer.Body)
			require.Regexp(t, `^\{"error":"[^"]+","code":"`+r.code+`","trace_id":"TRACE"`, got)
			require.Contains(t, answer.Body, answer.Header.Get("trace-id"))
			if r.fields != "" {
				require.Contains(t, got, `,"fields":`+r.fields+`}`)
			}
			require.Equal(t, r.code == "invalid_request", strings.Contains(got, `"fields":{`))
			if r.status == 405 {
				require.Equal(t, "GET, HEAD, POST", answer.Header.Get("Allow"))
			}
		})
	}
	require.Contains(t, pos.ask("GET", sessions+"/"+running, "").Body, `"duration":30,`,
		"no refusal has touched the session")
}

// usedUp leaves a paused session in the file, on lane 6, that has used 25 of its 30 minutes.
func usedUp(t *testing.T, path string) string {
	s, err := sqlite.Open(path, store.Retention{Events: time.Hour, History: time.Hour, Names: time.Hour, Cap: 10})
	require.NoError(t, err)
	id := uuid.MustParse(support.RangeID)
	epoch, err := s.Claim(t.Context(), id, time.Now())
	require.NoError(t, err)
	earlier := lanes.Instant{Wall: time.Now().Add(-time.Hour).UTC()}
	session := lanes.Session{
		ID: uuid.New(), Group: uuid.MustParse(support.Group), Customer: "Jo Smith", Sold: 30 * time.Minute,
		Phase: lanes.Paused, Left: 5 * time.Minute, Since: earlier, Created: earlier, Began: &earlier,
	}
	require.NoError(t, s.Flush(t.Context(), store.Batch{
		Range: id, Epoch: epoch, N: 1, Now: time.Now(),
		Lanes: []lanes.Snapshot{{
			Boot: "an earlier one",
			Lane: lanes.Lane{ID: uuid.MustParse(lane(6)), Session: &session},
		}},
	}))
	require.NoError(t, s.Close())
	return session.ID.String()
}

// The trace id is that of the request's traceparent, when it has a valid one.
func TestTraceIDs(t *testing.T) {
	p, pos := serve(t)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	answer := pos.ask("GET", v2+"/nope", "", "traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	require.Equal(t, trace, answer.Header.Get("trace-id"))
	require.Contains(t, answer.Body, trace)
	p.WaitLogged(trace)

	other := pos.ask("GET", v2+"/bays", "", "traceparent", "00-"+strings.Repeat("0", 32)+"-00f067aa0ba902b7-01")
	require.NotEqual(t, strings.Repeat("0", 32), other.Header.Get("trace-id"))
}

// Where the range says so, the POS waits until the lane is clear after the time of a session; a stop leaves
// nothing to be cleared.
func TestALaneIsSoldOnceItIsClear(t *testing.T) {
	pos := support.NewConfig(t, support.Lanes(1, 1), "sell_before_clear: false", "clear_after: 1h").Serve(t).POS()
	pos.Expect(204, "POST", "/sessions/"+pos.Sell(1, 30, "")+"/stop", "")
	ended := pos.Sell(1, 30, "")
	pos.Expect(204, "POST", "/simulate/advance", fmt.Sprintf(`{"session_id":%q,"minutes":30}`, ended))
	require.Equal(t, "lane_not_clear", pos.Expect(409, "POST", "/sessions", support.Order(1, 30)).Code())
}
