package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// What would end after the range has closed is refused, and the answer says what fits: to whoever sells, and adds,
// before and after a restart. Version 1 says it with what it has.
func TestNothingIsSoldPastClosing(t *testing.T) {
	hours, closes := support.ClosingIn(90)
	config := newConfig(support.NewSQLite(t), hours)
	gateway, pos := serveConfig(t, config)

	type refusal struct {
		Code   string `json:"code"`
		Closes string `json:"closes_at"`
		Opens  string `json:"opens_at"`
		Most   *int   `json:"max_minutes"`
	}
	refused := func(path, body string) int {
		t.Helper()
		answer := pos.ask("POST", v2+path, body)
		require.Equal(t, 409, answer.Status, answer.Body)
		var said refusal
		require.NoError(t, json.Unmarshal([]byte(answer.Body), &said))
		require.Equal(t, "after_closing", said.Code)
		require.Equal(t, closes.Format("2006-01-02T15:04:05.000Z"), said.Closes)
		require.Empty(t, said.Opens)
		require.NotNil(t, said.Most, answer.Body)
		return *said.Most
	}
	most := refused("/sessions", order(1, 120, ""))
	require.Less(t, most, 91)
	left := int(time.Until(closes) / time.Minute)
	require.GreaterOrEqual(t, most, left)
	session := pos.sell(1, left-30, "")
	require.Less(t, refused("/sessions/"+session+"/modify?time=60", ""), 32)

	answer := pos.ask("POST", v1+"/sessions", sale1(2, 120))
	require.Equal(t, 409, answer.Status)
	require.Contains(t, answer.Body, `"code":"lane_not_accessible"`)
	require.NotContains(t, answer.Body, "max_minutes")
	answer = pos.ask("PATCH", v1+"/sessions", fmt.Sprintf(`{"id":%q,"duration":%d}`, session, left+60))
	require.Equal(t, 409, answer.Status)
	require.Contains(t, answer.Body, `"code":"duration_out_of_range"`)

	require.Zero(t, gateway.Terminate())
	gateway, pos = serveConfig(t, config)
	require.LessOrEqual(t, refused("/sessions", order(2, 120, "")), most)
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/modify?time=-5", "").Status)
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/modify?time=5", "").Status,
		"what was sold fits again")

	view := pos.ask("GET", v2+"/range", "").Body
	require.Contains(t, view, `"time_zone":"`)
	require.Contains(t, view, `"hours":{"is_open":true,"closes_at":"`+closes.Format("2006-01-02T15:04:05.000Z")+
		`","opens_at":null,"week":{"monday":["06:00-`)
	require.Contains(t, view, `"exceptions":[]}`)
	require.Contains(t, view, `"hours"`)
	other := posClient{clientOf(gateway, otherRange, otherToken), t}
	require.NotContains(t, other.ask("GET", v2+"/range", "").Body, "hours")
}

// A range that is closed says when it opens.
func TestNothingIsSoldWhileTheRangeIsClosed(t *testing.T) {
	tomorrow := time.Now().UTC().AddDate(0, 0, 2)
	dates := ""
	for day := range 2 {
		dates += time.Now().UTC().AddDate(0, 0, day).Format(time.DateOnly) + ": [], "
	}
	hours := `hours: {timezone: UTC, week: {monday: ["09:00-18:00"]}, exceptions: {` +
		dates + tomorrow.Format(time.DateOnly) + `: ["09:00-18:00"]}}`
	_, pos := serveConfig(t, newConfig(support.NewSQLite(t), hours))
	answer := pos.ask("POST", v2+"/sessions", order(1, 1, ""))
	require.Equal(t, 409, answer.Status)
	require.Contains(t, answer.Body, `"code":"after_closing"`)
	require.NotContains(t, answer.Body, "closes_at")
	require.Contains(t, answer.Body, `"opens_at":"`+tomorrow.Format(time.DateOnly)+`T09:00:00.000Z","max_minutes":0}`)
	require.Equal(t, 409, pos.ask("POST", v1+"/sessions", sale1(1, 1)).Status)
}

// sale1 is a sale of version 1.
func sale1(lane, minutes int) string {
	return strings.Replace(order(lane, minutes, ""), `"customer_name"`, `"name"`, 1)
}
