// Package stories has a test for each way in which products of this kind have failed, told on the outside of the real
// binary, with a real receiver and with controllers on real sockets. The controllers live in the tests' own process
// (cmd/rangegate/lanesim), so they outlive the gateway as real ones do.
//
//	range.go          the range: its controllers, its gateway      till.go      what POS sees and does
//	device.go         a controller that says what a test tells it  receiver.go  the integrator's webhook
//	restart_test.go   of power cuts, kills and reconnects          lane_test.go     of who has the lane
//	reports_test.go   of what controllers report                   receiver_test.go of events and who gets them
//	time_test.go      of a session's time
package stories

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/test/process"
)

const (
	rangeID  = "11111111-1111-4111-8111-111111111111"
	token    = "22222222-2222-4222-8222-222222222222"
	operator = "99999999-9999-4999-8999-999999999999" // the operations token
	group    = "33333333-3333-4333-8333-000000000001"
	bay      = "55555555-5555-4555-8555-000000000001"
	secret   = "whsec_cmFuZ2VnYXRlIHBsYXlncm91bmQ6IG5vIHNlY3JldCBhdCBhbGw="

	patience = time.Minute      // for what has to come
	often    = time.Millisecond // is how often it is looked for
)

func laneID(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n+1) }

// station is a range: its controllers, the integrator's receiver, and the configuration of the gateway between them.
type station struct {
	t             testing.TB
	controllers   *lanesim.Controllers
	receiver      *receiver
	configuration string
}

var powerUp = time.Now()

func now() lanes.Instant {
	t := time.Now()
	return lanes.Instant{Wall: t.UTC(), Mono: t.Sub(powerUp)}
}

// build powers up so many controllers.
func build(t testing.TB, many int) *station {
	var all []lanesim.Lane
	for n := range many {
		all = append(all, lanesim.Lane{ID: uuid.MustParse(laneID(n)), Listen: "127.0.0.1:0", Key: laneID(n)})
	}
	controllers, err := lanesim.New(lanesim.Settings{Now: now}, all...)
	require.NoError(t, err)
	t.Cleanup(controllers.Close)
	var addresses []string
	for _, lane := range all {
		addresses = append(addresses, controllers.Controller(lane.ID).Address())
	}
	s := buildOf(t, addresses...)
	s.controllers = controllers
	return s
}

// buildOf is a range whose controllers answer at those addresses.
func buildOf(t testing.TB, addresses ...string) *station {
	s := &station{t: t, receiver: newReceiver(t)}
	server := httptest.NewServer(s.receiver)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	var list strings.Builder
	for n, address := range addresses {
		fmt.Fprintf(&list, "      - {id: %s, name: Lane %d, bay: %s, link: {driver: websocket, address: %q, key: %s}}\n",
			laneID(n), n+1, bay, address, laneID(n))
	}
	s.configuration = fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0, limits: {requests: 0}}
operations: {address: 127.0.0.1:0, token: %s}
store: {sqlite: %q}
ranges:
  - id: %s
    name: Range
    token: %s
    purchasing: true
    webhook: {url: "%s/webhook", secrets: [%s], timeout: %s}
    bays: [{id: %s, name: Bay A}]
    groups: [{id: %s, name: Public}]
    lanes:
%s`, operator, filepath.Join(t.TempDir(), "rangegate.db"), rangeID, token, server.URL, secret, answersWithin, bay, group, list.String())
	return s
}

// serve starts a gateway. It is killed when the test ends, if not before.
func (s *station) serve() (*process.Process, till) {
	gateway := process.Serve(s.t, s.configuration).Ready()
	kept := &http.Transport{MaxIdleConnsPerHost: 32} // so that what is done at once arrives at once
	s.t.Cleanup(kept.CloseIdleConnections)
	return gateway, till{s.t, gateway, process.Client{
		API: gateway.API, Range: rangeID, Token: token, HTTP: &http.Client{Transport: kept},
	}}
}

// serveLinked starts a gateway, and waits until it has reached every controller.
func (s *station) serveLinked() (*process.Process, till) {
	s.t.Helper()
	gateway, pos := s.serve()
	pos.linked()
	return gateway, pos
}

func (s *station) controller(n int) *lanesim.Controller {
	return s.controllers.Controller(uuid.MustParse(laneID(n)))
}

// opens waits until anyone can shoot on the lane, in that session.
func (s *station) opens(n int, session string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		shown := s.controller(n).Shown()
		return shown.Open && shown.Session.String() == session
	}, patience, often, "lane %d opens", n+1)
}

// locks waits until the lane is locked, with no session on it.
func (s *station) locks(n int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		shown := s.controller(n).Shown()
		return !shown.Open && shown.Session == uuid.Nil
	}, patience, often, "lane %d locks", n+1)
}

// outOfReach has the controller on the lane miss everything, while its connection stays open.
func (s *station) outOfReach(n int) { s.controller(n).HalfOpen(true) }

// withinReach has the controller answer again, on another connection.
func (s *station) withinReach(n int) {
	s.controller(n).HalfOpen(false)
	s.controller(n).Drop()
}

// heard waits until everything that the controller has reported is saved.
func (s *station) heard(n int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.controller(n).Unacked() == 0 }, patience, often, "lane %d is heard", n+1)
}
