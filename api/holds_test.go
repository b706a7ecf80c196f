package api

import (
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// Until there is a control screen, a ceasefire is declared with the operator's token.
func TestHolds(t *testing.T) {
	staff := &shelf{}
	h := operationsWith(prometheus.NewRegistry(), staff, "operator")
	at := "/ranges/" + someRange + "/holds"
	set := func(body string) (int, string) {
		answer := known(h, "PUT", at, body)
		return answer.Code, answer.Body.String()
	}
	status, said := set(`{"scope":"range","id":null,"on":true}`)
	require.Equal(t, 200, status)
	require.Equal(t, `{"confirmed":["`+theLane+`"],"sent":[],"not_reached":[],"saved":true}`+"\n", said)
	require.Equal(t, lanes.Scope{Kind: lanes.OverRange}, staff.over)
	require.Equal(t, "operator", staff.who)

	staff.who = ""
	status, said = set(`{"scope":"bay","id":"` + theBay + `","on":false}`)
	require.Equal(t, 503, status)
	require.Contains(t, said, "store_unavailable")
	require.Equal(t, lanes.Scope{Kind: lanes.OverBay, ID: uuid.MustParse(theBay)}, staff.over)
	require.True(t, staff.lifted)
	require.Equal(t, "operator", staff.who)

	for body, field := range map[string]string{
		`{"scope":"range"}`: "on", `{"on":true}`: "scope", `{"scope":"world","on":true}`: "scope",
		`{"scope":"bay","on":true}`: "id", `{"scope":"lane","id":"` + theBay + `","on":true}`: "id",
		`{"scope":"range","id":"` + theBay + `","on":true}`: "id", `{"scope":"range","on":"yes"}`: "on",
	} {
		status, said := set(body)
		require.Equal(t, 400, status, body)
		require.Contains(t, said, `"`+field+`":"`, body)
	}
	require.Equal(t, `[{"scope":"range","id":null,"who":"operator","since":"2026-05-01T12:00:00Z"},`+
		`{"scope":"bay","id":"`+theBay+`","who":"sam","since":"2026-05-01T12:00:00Z"}]`+"\n", known(h, "GET", at, "").Body.String())
}
