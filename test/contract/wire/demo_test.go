// Package wire asks the running binary over HTTP, as a POS does, and compares what it answers with WIRE.md to the byte.
package wire

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

const (
	rangeID = "11111111-1111-4111-8111-111111111111"
	token   = "22222222-2222-4222-8222-222222222222"
	group   = "33333333-3333-4333-8333-000000000001"
	bay     = "55555555-5555-4555-8555-000000000001"

	otherRange = "aaaaaaaa-1111-4111-8111-111111111111"
	otherToken = "aaaaaaaa-2222-4222-8222-222222222222"
	otherLane  = "aaaaaaaa-4444-4444-8444-000000000001"

	unknown = "99999999-9999-4999-8999-999999999999"
)

// lane is the id of the demo range's lane with that number. Lane 8 is closed for sale.
func lane(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }

// configuration keeps two ranges in a file: the demo range with 8 lanes and purchasing, another with one lane and
// without.
func configuration(t testing.TB) string {
	return configured("sqlite: " + filepath.Join(t.TempDir(), "rangegate.db"))
}

func configured(store string) string {
	var lanes strings.Builder
	for n := 1; n <= 8; n++ {
		fmt.Fprintf(&lanes, "      - {id: %s, name: Lane %d, bay: %s, accessible: %v}\n", lane(n), n, bay, n != 8)
	}
	return fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0}
operations: {address: 127.0.0.1:0}
store: {%s}
ranges:
  - id: %s
    name: Demo range
    token: %s
    purchasing: true
    groups: [{id: %s, name: Public}]
    bays: [{id: %s, name: Bay A}]
    lanes:
%s
  - id: %s
    name: Another range
    token: %s
    groups: [{id: aaaaaaaa-3333-4333-8333-000000000001, name: Public}]
    bays: [{id: aaaaaaaa-5555-4555-8555-000000000001, name: Bay A}]
    lanes: [{id: %s, name: Lane 1, bay: aaaaaaaa-5555-4555-8555-000000000001}]
`, store, rangeID, token, group, bay, lanes.String(), otherRange, otherToken, otherLane)
}

// pos is a POS system at the demo range.
type pos struct {
	t testing.TB
	process.Client
}

func open(t testing.TB) (*process.Process, pos) { return serve(t, configuration(t)) }

func serve(t testing.TB, configuration string) (*process.Process, pos) {
	p := process.Serve(t, configuration).Ready()
	return p, pos{t, process.Client{API: p.API, Range: rangeID, Token: token}}
}

// ask makes a request that is answered.
func (p pos) ask(method, path, body string, headers ...string) process.Answer {
	p.t.Helper()
	answer, err := p.Do(method, path, body, headers...)
	require.NoError(p.t, err)
	return answer
}

// sell creates a session and gives its id.
func (p pos) sell(n, minutes int, more string) string {
	p.t.Helper()
	answer := p.ask("POST", v2+"/sessions", order(lane(n), minutes, more))
	require.Equal(p.t, 201, answer.Status, answer.Body)
	var session struct {
		ID string `json:"session_id"`
	}
	require.NoError(p.t, json.Unmarshal([]byte(answer.Body), &session))
	return session.ID
}

const v2 = "/api/v2/pos"

// order is the body of a create; more is further keys, each with a comma before it.
func order(lane string, minutes int, more string) string {
	return fmt.Sprintf(`{"customer_name":"Jo Smith","lane_id":%q,"group_id":%q,"duration":%d%s}`, lane, group, minutes, more)
}

// What differs from run to run, and what stands for it in the expected bodies.
var masks = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`), `"TIME"`},
	{regexp.MustCompile(`"trace_id":"[0-9a-f]{32}"`), `"trace_id":"TRACE"`},
	{regexp.MustCompile(`"minutes_remaining":\d+(\.\d{1,5})?([,}])`), `"minutes_remaining":MINUTES$2`},
	{regexp.MustCompile(`"(minutes_used|minutes_paused)":\d+(\.\d{1,5})?([,}])`), `"$1":MINUTES$3`},
	{regexp.MustCompile(`"id":"[0-9a-f-]{36}","occurred_at"`), `"id":"ID","occurred_at"`},
}

// masked is the body with what differs from run to run replaced, and the session named by its place in sessions.
func masked(body string, sessions ...string) string {
	body = strings.TrimSuffix(body, "\n")
	for i, id := range sessions {
		body = strings.ReplaceAll(body, id, fmt.Sprintf("SESSION-%d", i+1))
	}
	for _, m := range masks {
		body = m.pattern.ReplaceAllString(body, m.name)
	}
	return body
}
