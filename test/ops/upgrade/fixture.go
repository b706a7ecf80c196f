// Package upgrade starts the gateway on what gateways of other versions have left, in a file and on a Redis server.
//
//	older_test.go   every older format is read, and written on
//	newer_test.go   a newer one is refused and left as it is: there is no way back
package upgrade

import (
	"fmt"
	"testing"

	"rangegate/test/support"
)

// The range that the samples of the stores were made of, which have these lanes and group (storetest.Written).
const (
	rangeID = "a5000000-0000-0000-0000-000000000000"
	group   = "a5000000-0000-0000-0000-000000000006"

	lane1, lane2, lane3 = "a5000000-0000-0000-0000-000000000001", "a5000000-0000-0000-0000-000000000003",
		"a5000000-0000-0000-0000-000000000005"
)

// configured writes a configuration of the range on that store, and returns its path.
func configured(t *testing.T, store string) string {
	t.Helper()
	samples := support.Range{ID: rangeID, Groups: []string{support.Entry(group, "Public")}}
	for _, lane := range []string{lane1, lane2, lane3} {
		samples.Lanes = append(samples.Lanes, support.Entry(lane, "Lane", "bay: "+support.Bay))
	}
	store += ", retention: {history: 1000000h, names: 1000000h, events: 1000000h}" // the samples are old
	return support.Config{Store: store, Ranges: []support.Range{samples}}.Write(t)
}

// posClient is a POS of the range at a gateway.
type posClient struct {
	support.POS
	t *testing.T
}

func newPOSClient(t *testing.T, gateway *support.Gateway) posClient {
	return posClient{support.NewPOS(t, support.Client{API: gateway.API, Range: rangeID, Token: support.Token}), t}
}

// soldSession is what the tests look at of a session.
type soldSession struct {
	id, lane string
	minutes  int
}

func (p posClient) sell(lane string) soldSession {
	p.t.Helper()
	var session support.Session
	p.Expect(201, "POST", "/sessions",
		fmt.Sprintf(`{"customer_name": "Jo Smith", "duration": 60, "lane_id": %q, "group_id": %q}`, lane, group)).
		Decode(p.t, &session)
	return soldSession{session.ID, session.Lane, session.Minutes}
}

// active are the sessions on the lanes.
func (p posClient) active() (sessions []soldSession) {
	p.t.Helper()
	for _, session := range p.Sessions() {
		sessions = append(sessions, soldSession{session.ID, session.Lane, session.Minutes})
	}
	return sessions
}
