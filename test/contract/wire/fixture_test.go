// Package wire asks the running binary over HTTP, as a POS does, and compares what it answers with WIRE.md to the byte.
package wire

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

const (
	otherRange = "aaaaaaaa-1111-4111-8111-111111111111"
	otherToken = "aaaaaaaa-2222-4222-8222-222222222222"
	otherLane  = "aaaaaaaa-4444-4444-8444-000000000001"
	otherGroup = "aaaaaaaa-3333-4333-8333-000000000001"
	otherBay   = "aaaaaaaa-5555-4555-8555-000000000001"

	unknownID = "99999999-9999-4999-8999-999999999999"

	v1 = support.V1
	v2 = support.V2
)

// lane is the id of the first range's lane with that number. Lane 8 is closed for sale.
func lane(n int) string { return support.LaneID(n) }

// newConfig is two ranges on a store: one with 8 lanes, purchasing and further settings, another with one lane and
// without purchasing.
func newConfig(store string, settings ...string) support.Config {
	var lanes []string
	for n := 1; n <= 8; n++ {
		lanes = append(lanes, support.Lane(n, fmt.Sprintf("accessible: %v", n != 8)))
	}
	return support.Config{Store: store, Ranges: []support.Range{
		{Lanes: lanes, Settings: append(settings, "purchasing: true")},
		{
			ID: otherRange, Name: "Another range", Tokens: []string{otherToken},
			Groups: []string{support.Entry(otherGroup, "Public")},
			Bays:   []string{support.Entry(otherBay, "Bay A")},
			Lanes:  []string{support.Entry(otherLane, "Lane 1", "bay: "+otherBay)},
		},
	}}
}

// posClient is a POS system at the first range. Its paths are whole.
type posClient struct {
	support.Client
	t testing.TB
}

// serve starts a gateway on a new SQLite file.
func serve(t testing.TB) (*support.Gateway, posClient) {
	return serveConfig(t, newConfig(support.NewSQLite(t)))
}

func serveConfig(t testing.TB, config support.Config) (*support.Gateway, posClient) {
	g := config.Serve(t)
	return g, posClient{g.POS().Client, t}
}

// ask makes a request that is answered, and makes it again while the store of a busy machine is away.
func (p posClient) ask(method, path, body string, headers ...string) support.Answer {
	p.t.Helper()
	answer, err := support.Repeat(func() (support.Answer, error) {
		return p.Do(method, path, body, headers...)
	}, support.Answer.IsStoreAway)
	require.NoError(p.t, err)
	return answer
}

// sell creates a session and returns its id.
func (p posClient) sell(n, minutes int, more string) string {
	p.t.Helper()
	return support.NewPOS(p.t, p.Client).Sell(n, minutes, more)
}

// order is the body of a create; more is further keys, each with a comma before it.
func order(lane, minutes int, more string) string { return support.Order(lane, minutes, more) }

// What differs from run to run, and what stands for it in the expected bodies.
var masks = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`), `"TIME"`},
	{regexp.MustCompile(`"trace_id":"[0-9a-f]{32}"`), `"trace_id":"TRACE"`},
	{regexp.MustCompile(`"minutes_remaining":\d+(\.\d{1,5})?([,}])`), `"minutes_remaining":MINUTES$2`},
	{regexp.MustCompile(`"(minutes_used|minutes_paused|minutes_turn)":\d+(\.\d{1,5})?([,}])`), `"$1":MINUTES$3`},
	{regexp.MustCompile(`"(cursor|next)":"(\d+)\d{10}"`), `"$1":"$2"`}, // without the log and its check
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
