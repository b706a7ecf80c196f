// Package hardware has the real gateway meet lane controllers that misbehave. The controllers are in the tests' own
// process (cmd/rangegate/lanesim), so they outlive the gateway as real ones do.
//
//	range.go          the range: its controllers, its gateway
//	till.go           what POS sees and does
//	staff.go          what staff see and do
//	faults_test.go    every fault of a lane: how it is seen, and what is in force once it is over
//	log_test.go       what may be wrong with a report log, one after the other
//	reports_test.go   no report is lost or applied twice
//	flapping_test.go  many lanes come and go, and the others do not notice
package hardware

import (
	"fmt"
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

	patience = time.Minute
)

func laneID(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n+1) }

// station is a range with real sockets: its controllers, and the configuration of the gateway that dials them.
type station struct {
	t             testing.TB
	controllers   *lanesim.Controllers
	configuration string
}

var powerUp = time.Now()

func now() lanes.Instant {
	t := time.Now()
	return lanes.Instant{Wall: t.UTC(), Mono: t.Sub(powerUp)}
}

// build powers up so many controllers. Rules are further settings of the range, as its configuration has them.
func build(t testing.TB, many int, rules ...string) *station {
	s := &station{t: t}
	var all []lanesim.Lane
	for n := range many {
		all = append(all, lanesim.Lane{ID: uuid.MustParse(laneID(n)), Listen: "127.0.0.1:0", Key: laneID(n)})
	}
	controllers, err := lanesim.New(lanesim.Settings{Now: now}, all...)
	require.NoError(t, err)
	t.Cleanup(controllers.Close)
	s.controllers = controllers
	var list strings.Builder
	for n := range many {
		fmt.Fprintf(&list, "      - {id: %s, name: Lane %d, bay: %s, link: {driver: websocket, address: %q, key: %s}}\n",
			laneID(n), n, bay, s.controller(n).Address(), laneID(n))
	}
	s.configuration = fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0, limits: {requests: 0}}
operations: {address: 127.0.0.1:0, token: %s}
log: {level: debug}   # each try of a link is told
store: {sqlite: %q}
ranges:
  - id: %s
    name: Range
    token: %s
    bays: [{id: %s, name: Bay A}]
    groups: [{id: %s, name: Public}]
    %s
    lanes:
%s`, operator, filepath.Join(t.TempDir(), "rangegate.db"), rangeID, token, bay, group, strings.Join(rules, "\n    "), list.String())
	return s
}

func (s *station) controller(n int) *lanesim.Controller {
	return s.controllers.Controller(uuid.MustParse(laneID(n)))
}

// serve starts a gateway. It is killed when the test ends, if not before.
func (s *station) serve() (*process.Process, pos, staff) {
	gateway := process.Serve(s.t, s.configuration).Ready()
	return gateway, pos{s.t, process.Client{API: gateway.API, Range: rangeID, Token: token}}, staff{s.t, gateway}
}

// opens waits until anyone can shoot on the lane.
func (s *station) opens(t testing.TB, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return s.controller(n).Shown().Open }, patience, time.Millisecond, "lane %d", n)
}
