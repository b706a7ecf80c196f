package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// A POS that was written for version 1 works as it did: the bodies of SPEC.md 4.3, to the byte.
func TestVersion1(t *testing.T) {
	_, pos := serve(t)
	ask := func(method, path, body string, status int) support.Answer {
		t.Helper()
		answer := pos.ask(method, v1+path, body)
		require.Equal(t, status, answer.Status, answer.Body)
		require.Equal(t, "@1706918400", answer.Header.Get("Deprecation"))
		require.Contains(t, answer.Header.Get("Link"), "</api/v2/swagger/>")
		require.Empty(t, answer.Header.Get("Sunset"), "it stays supported")
		return answer
	}
	require.Equal(t, `[{"id":"`+support.Bay+`","bay_id":"`+support.Bay+`","name":"Bay A"}]`+"\n",
		ask("GET", "/bays", "", 200).Body)
	require.Equal(t, `[{"id":"`+support.Group+`","name":"Public"}]`+"\n", ask("GET", "/groups", "", 200).Body)
	require.True(t, strings.HasPrefix(ask("GET", "/lanes", "", 200).Body, `[{"id":"`+lane(1)+`","lane_id":"`+lane(1)+
		`","bay_id":"`+support.Bay+`","readable_name":"Lane 1","is_accessible":true,"is_usable":true},`))

	order := `{"name":"Jo Smith","lane_id":"` + lane(1) + `","group_id":"` + support.Group +
		`","duration":30,"auto_start":false}`
	created := ask("POST", "/sessions", order, 201)
	var session struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(created.Body), &session))
	one := session.ID
	view := func(minutes string) string {
		return `{"id":"SESSION-1","session_id":"SESSION-1","lane_id":"` + lane(1) + `","group_id":"` + support.Group +
			`","duration":` + minutes +
			`,"began_at":null,"created_at":"TIME","minutes_remaining":null,"enable_purchasing":false}`
	}
	require.Equal(t, view("30"), masked(created.Body, one))
	require.Equal(t, "["+view("30")+"]", masked(ask("GET", "/sessions", "", 200).Body, one))
	require.Contains(t, ask("POST", "/sessions", order, 409).Body, "lane_occupied")
	require.Contains(t, ask("POST", "/sessions", strings.Replace(order, "name", "customer_name", 1), 400).Body,
		`"name":"is required"`)

	patch := func(duration string, status int) string {
		t.Helper()
		return ask("PATCH", "/sessions", `{"id":"`+one+`","duration":`+duration+`}`, status).Body
	}
	require.Equal(t, `{"id":"`+one+`","duration":45}`+"\n", patch("45", 200))
	require.Equal(t, `{"id":"`+one+`","duration":45}`+"\n", patch("45", 200), "the same again")
	require.Equal(t, "["+view("45")+"]", masked(ask("GET", "/sessions", "", 200).Body, one))
	for _, wrong := range []string{"-1", "481", "60.5", `"60"`, "null", "true"} {
		require.Contains(t, patch(wrong, 400), `"fields":{"duration":`)
	}
	require.Equal(t, `{"id":"`+one+`","message":"session stopped"}`+"\n", patch("0", 200))
	require.Contains(t, patch("0", 404), "session_ended")
	require.Equal(t, "[]\n", ask("GET", "/sessions", "", 200).Body)

	for path, status := range map[string]int{
		"/sessions/" + one: 404, "/simulate/help": 404, "/events": 404, "/bays": 405,
	} {
		ask("POST", path, "", status)
	}
	require.Equal(t, 401, pos.ask("GET", v1+"/bays", "", "token", "").Status)
}

// A repeat of a PATCH under its key does nothing twice.
func TestVersion1RepeatsSafely(t *testing.T) {
	_, pos := serve(t)
	one := pos.sell(1, 30, "")
	stop := func() support.Answer {
		return pos.ask("PATCH", v1+"/sessions", `{"id":"`+one+`","duration":0}`, "Idempotency-Key", "receipt-9")
	}
	first, again := stop(), stop()
	require.Equal(t, 200, first.Status)
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, "true", again.Header.Get("idempotency-replayed"))
}
