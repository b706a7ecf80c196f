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

// started is a start as it is answered.
type started struct {
	ID       string    `json:"start_id"`
	At       time.Time `json:"at"`
	Sessions []struct {
		Session string     `json:"session_id"`
		State   string     `json:"state"`
		Began   *time.Time `json:"began_at"`
	} `json:"sessions"`
}

func (s started) states() (states []string) {
	for _, session := range s.Sessions {
		states = append(states, session.State)
	}
	return states
}

// A relay: its sessions begin at one instant, whatever has become of some of them.
func TestStarts(t *testing.T) {
	_, pos := serve(t)
	read := func(answer support.Answer, status int) (s started) {
		t.Helper()
		require.Equal(t, status, answer.Status, answer.Body)
		require.NoError(t, json.Unmarshal([]byte(answer.Body), &s))
		return s
	}
	get := func(start string) started { return read(pos.ask("GET", v2+"/starts/"+start, ""), 200) }
	first, second, early := pos.sell(1, 30, `,"auto_start":false`), pos.sell(2, 30, `,"auto_start":false`),
		pos.sell(3, 30, "")
	all := `"session_ids":["` + strings.Join([]string{first, second, early}, `","`) + `"]`

	scheduled := read(pos.ask("POST", v2+"/starts", `{`+all+`,"in_seconds":3600}`, "Idempotency-Key", "relay"), 201)
	require.Equal(t, []string{"waiting", "waiting", "begun"}, scheduled.states())
	require.Equal(t, scheduled, read(pos.ask("POST", v2+"/starts", `{`+all+`,"in_seconds":3600}`, "Idempotency-Key",
		"relay"), 201), "a repeat")
	require.Contains(t, pos.ask("GET", v2+"/sessions/"+first, "").Body, `"starts_at":"`+
		scheduled.At.Format("2006-01-02T15:04:05.000Z")+`"`)
	require.Equal(t, []string{"waiting", "waiting"}, get(scheduled.ID).states())
	require.Equal(t, 204, pos.ask("DELETE", v2+"/starts/"+scheduled.ID, "").Status)

	scheduled = read(pos.ask("POST", v2+"/starts", `{`+all+`,"in_seconds":1}`), 201)
	support.Eventually(t, "both have begun",
		func() bool { return strings.Join(get(scheduled.ID).states(), " ") == "begun begun" })
	for _, session := range get(scheduled.ID).Sessions {
		require.Equal(t, scheduled.At, *session.Began)
	}
	require.NotContains(t, pos.ask("GET", v2+"/sessions/"+first, "").Body, `"starts_at"`)
	require.Equal(t, "not_waiting", pos.ask("DELETE", v2+"/starts/"+scheduled.ID, "").Code())
	for _, session := range []string{first, second, early} {
		require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/stop", "").Status)
	}
	require.Equal(t, "start_not_found", pos.ask("GET", v2+"/starts/"+scheduled.ID, "").Code())

	later := pos.sell(1, 30, `,"auto_start":false`)
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	order := `{"session_ids":["` + later + `","` + first + `"],"at":"` + at.Format(time.RFC3339Nano) + `"}`
	other := read(pos.ask("POST", v2+"/starts", order), 201)
	require.WithinDuration(t, at, other.At, time.Millisecond)
	require.Equal(t, []string{"waiting", "over"}, other.states())
	require.Equal(t, "start_scheduled",
		pos.ask("POST", v2+"/starts", `{"session_ids":["`+later+`"],"in_seconds":5}`).Code())
	require.Equal(t, 204, pos.ask("DELETE", v2+"/starts/"+other.ID, "").Status)
	require.Equal(t, "start_not_found", pos.ask("DELETE", v2+"/starts/"+other.ID, "").Code())
	require.Contains(t, pos.ask("GET", v2+"/sessions/"+later, "").Body, `"began_at":null`)
}

func TestStartsThatAreRefused(t *testing.T) {
	_, pos := serve(t)
	session := pos.sell(1, 30, `,"auto_start":false`)
	one := `"session_ids":["` + session + `"]`
	for _, c := range []struct{ body, says string }{
		{`{` + one + `}`, `"in_seconds":"must be given, or at, and not both"`},
		{
			`{` + one + `,"in_seconds":5,"at":"2026-05-01T10:00:00Z"}`,
			`"in_seconds":"must be given, or at, and not both"`,
		},
		{`{` + one + `,"at":"2026-05-01T10:00:00Z"}`, `"at":"must be from now, `},
		{`{` + one + `,"at":"tomorrow"}`, `"at":"must be a time like 2026-05-01T10:00:00Z (RFC 3339)"`},
		{`{` + one + `,"in_seconds":86401}`, `"in_seconds":"must be an integer from 0 to 86400"`},
		{`{"in_seconds":5}`, `"session_ids":"is required"`},
		{`{"session_ids":[],"in_seconds":5}`, `"session_ids":"must be a list of 1 to 500 different UUIDs`},
		{
			`{"session_ids":["` + session + `","` + session + `"],"in_seconds":5}`,
			`"session_ids":"must be a list of 1 to 500 different UUIDs`,
		},
		{`{"session_ids":["` + session + `","` + unknownID + `"],"in_seconds":5}`, `"code":"session_not_found"`},
		{`{"session_ids":["` + pos.sell(2, 30, "") + `"],"in_seconds":5}`, `"code":"not_waiting"`},
	} {
		answer := pos.ask("POST", v2+"/starts", c.body)
		require.GreaterOrEqual(t, answer.Status, 400, c.body)
		require.Contains(t, answer.Body, c.says, c.body)
	}
	require.NotContains(t, pos.ask("GET", v2+"/sessions/"+session, "").Body, "starts_at", "nothing is done by halves")
}

// A start that makes sessions end after the closing of their lane or group names them and when that is, and schedules
// none. Without them the others begin.
func TestAStartThatIsTooLate(t *testing.T) {
	ofRange, _ := support.ClosingIn(300)
	ofBay, bayCloses := support.ClosingIn(90)
	ofGroup, groupCloses := support.ClosingIn(60)
	config := newConfig(support.NewSQLite(t), ofRange)
	r := &config.Ranges[0]
	r.Bays = []string{support.Entry(support.Bay, "Bay A"), support.Entry(earlyBay, "Bay B", ofBay)}
	r.Groups = []string{support.Entry(support.Group, "Public"), support.Entry(earlyGroup, "Ladies", ofGroup)}
	r.Lanes[0] = support.Entry(support.LaneID(1), "Lane 1", "bay: "+earlyBay)
	_, pos := serveConfig(t, config)
	inBay, fits := pos.sell(1, 60, `,"auto_start":false`), pos.sell(2, 60, `,"auto_start":false`)
	toLadies := strings.Replace(order(3, 30, `,"auto_start":false`), support.Group, earlyGroup, 1)
	ladies := pos.ask("POST", v2+"/sessions", toLadies).SessionID(t)

	start := func(minutes int, sessions ...string) support.Answer {
		order := fmt.Sprintf(`{"session_ids":["%s"],"in_seconds":%d}`, strings.Join(sessions, `","`), minutes*60)
		return pos.ask("POST", v2+"/starts", order, "Idempotency-Key", "relay")
	}
	refused := func(answer support.Answer, closes time.Time, sessions ...string) {
		t.Helper()
		require.Equal(t, 409, answer.Status, answer.Body)
		require.Equal(t, "after_closing", answer.Code())
		require.Contains(t, answer.Body, `"session_ids":["`+strings.Join(sessions, `","`)+`"]`)
		require.Contains(t, answer.Body, `"closes_at":"`+closes.Format("2006-01-02T15:04:05.000Z")+`"`)
		require.NotContains(t, answer.Body, "max_minutes")
	}
	refused(start(45, ladies, fits, inBay), groupCloses, ladies, inBay)
	refused(start(45, fits, inBay), bayCloses, inBay)
	for _, session := range []string{inBay, fits, ladies} {
		require.NotContains(t, pos.ask("GET", v2+"/sessions/"+session, "").Body, "starts_at", "all of it or nothing")
	}
	require.Equal(t, 201, start(45, fits).Status)
	require.Equal(t, 201, pos.ask("POST", v2+"/starts", `{"session_ids":["`+inBay+`","`+ladies+
		`"],"in_seconds":600}`).Status)
}
