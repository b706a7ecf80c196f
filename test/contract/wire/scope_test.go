package wire

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// A range may have tokens as texts beside tokens with a name and a scope. Of these one that reads is refused
// everything else, with a code of its own; the name of one that sells is in the log, also after a kill.
func TestTokensWithANameAndAScope(t *testing.T) {
	const reading, selling = "22222222-2222-4222-8222-22222222222a", "22222222-2222-4222-8222-22222222222b"
	config := newConfig(support.NewSQLite(t))
	config.Ranges[0].Tokens = []string{
		support.Token, "{token: " + reading + ", name: board, scope: read}", "{token: " + selling + ", name: till 1}",
	}
	gateway, _ := serveConfig(t, config)
	with := func(token string) posClient { return posClient{clientOf(gateway, support.RangeID, token), t} }
	session := with(selling).sell(1, 30, "")
	gateway.Kill()
	gateway, plain := serveConfig(t, config)

	require.Contains(t, with(reading).ask("GET", v2+"/sessions", "").Body, session)
	require.Equal(t, 200, with(reading).ask("GET", v2+"/events", "").Status)
	for _, write := range [][3]string{
		{"POST", v2 + "/sessions", order(2, 30, "")},
		{"POST", v2 + "/sessions/" + session + "/stop", ""},
		{"PATCH", v1 + "/sessions", fmt.Sprintf(`{"id":%q,"duration":0}`, session)},
		{"POST", v2 + "/simulate/help", ""},
	} {
		answer := with(reading).ask(write[0], write[1], write[2])
		require.Equal(t, 403, answer.Status, write)
		require.Equal(t, `{"error":"this token may only read","code":"forbidden","trace_id":"TRACE"}`,
			masked(answer.Body))
	}
	plain.sell(2, 30, "")
	require.Equal(t, 204, with(selling).ask("POST", v2+"/sessions/"+session+"/stop", "").Status)
	require.Equal(t, 0, gateway.Terminate())
	require.Regexp(t, `"command":"stop","by":"pos","result":"ok","who":"till 1"`, gateway.Log())
	require.NotRegexp(t, `"command":"create"[^}]*"who"`, gateway.Log(), "the plain token has no name")
}
