package wire

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// A request repeated with its Idempotency-Key is answered as the first time and has no second effect, also when the
// gateway was killed in between and the session has ended since.
func TestARepeatHasOneEffect(t *testing.T) {
	config := newConfig(support.NewSQLite(t))
	p, pos := serveConfig(t, config)
	key := []string{"Idempotency-Key", "pos-4-receipt-1017"}
	first := pos.ask("POST", v2+"/sessions", order(1, 30, ""), key...)
	require.Equal(t, 201, first.Status)
	require.Empty(t, first.Header.Get("idempotency-replayed"))

	again := pos.ask("POST", v2+"/sessions", order(1, 30, ""), key...)
	require.Equal(t, 201, again.Status)
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, "true", again.Header.Get("idempotency-replayed"))

	p.Kill()
	_, pos = serveConfig(t, config)
	again = pos.ask("POST", v2+"/sessions", order(1, 30, ""), key...)
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, "true", again.Header.Get("idempotency-replayed"))

	session := first.Body[len(`{"session_id":"`) : len(`{"session_id":"`)+36]
	stop := []string{"Idempotency-Key", "pos-4-stop-1"}
	for range 2 {
		require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/stop", "", stop...).Status)
	}
	require.Equal(t, 404, pos.ask("POST", v2+"/sessions/"+session+"/stop", "").Status)
}

// A refusal frees the key: the same request may succeed later.
func TestARefusalFreesTheKey(t *testing.T) {
	_, pos := serve(t)
	session := pos.sell(1, 30, "")
	key := []string{"Idempotency-Key", "k"}
	require.Equal(t, 409, pos.ask("POST", v2+"/sessions", order(1, 10, ""), key...).Status)
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/stop", "").Status)
	require.Equal(t, 201, pos.ask("POST", v2+"/sessions", order(1, 10, ""), key...).Status)
}

// Of 50 who want the lane at the same time one gets it, and that one's session is the one that is listed.
func TestOneOfFiftyGetsTheLane(t *testing.T) {
	_, pos := serve(t)
	answers := make([]support.Answer, 50)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i], _ = pos.Do("POST", v2+"/sessions", order(1, 30, "")) })
	}
	wg.Wait()

	var won []string
	for _, answer := range answers {
		if answer.Status == 201 {
			won = append(won, answer.Body[len(`{"session_id":"`):len(`{"session_id":"`)+36])
			continue
		}
		require.Equal(t, 409, answer.Status, answer.Body)
		require.Contains(t, answer.Body, `"code":"lane_occupied"`)
	}
	require.Len(t, won, 1)
	listed := pos.ask("GET", v2+"/sessions", "").Body
	require.Equal(t, 1, strings.Count(listed, `"session_id"`))
	require.Contains(t, listed, won[0])
}

// A key that another request has is refused as such before the fields are judged, whatever is wrong with them.
func TestAReusedKeyIsJudgedBeforeTheFields(t *testing.T) {
	_, pos := serve(t)
	key := []string{"Idempotency-Key", "pos-4-receipt-1018"}
	first := pos.ask("POST", v2+"/sessions", order(1, 30, ""), key...)
	require.Equal(t, 201, first.Status)
	session := first.Body[len(`{"session_id":"`) : len(`{"session_id":"`)+36]
	for name, r := range map[string]struct{ method, path, body string }{
		"a field":                {"POST", v2 + "/sessions", order(1, 481, "")},
		"no field":               {"POST", v2 + "/sessions", "{}"},
		"no JSON":                {"POST", v2 + "/sessions", "["},
		"no body":                {"POST", v2 + "/sessions", ""},
		"the query":              {"POST", v2 + "/sessions/" + session + "/modify?time=x", ""},
		"the path":               {"POST", v2 + "/sessions/nobody/stop", ""},
		"the older version":      {"PATCH", v1 + "/sessions", `{"id":"x","duration":481}`},
		"a lane that is unknown": {"POST", v2 + "/sessions", strings.Replace(order(1, 30, ""), lane(1), unknownID, 1)},
	} {
		answer := pos.ask(r.method, r.path, r.body, key...)
		require.Equal(t, 422, answer.Status, "%s: %s", name, answer.Body)
		require.Equal(t, "idempotency_key_reused", answer.Code(), name)
		require.Equal(t, 400, statusWithout(pos, r.method, r.path, r.body), name)
	}
	require.Equal(t, first.Body, pos.ask("POST", v2+"/sessions", order(1, 30, ""), key...).Body)
	require.Equal(t, 400, pos.ask("POST", v2+"/sessions", "{}", "Idempotency-Key", "a key of nobody").Status)
	require.Equal(t, 400, pos.ask("POST", v2+"/sessions", "{}", "Idempotency-Key", "pos-4-receipt-1019").Status)
}

// statusWithout is the status without a key; that of an unknown lane counts as 400.
func statusWithout(pos posClient, method, path, body string) int {
	answer := pos.ask(method, path, body)
	if answer.Code() == "lane_not_found" {
		return 400
	}
	return answer.Status
}
