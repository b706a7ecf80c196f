package screens

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/test/process"
)

const (
	rangeID = "11111111-1111-4111-8111-111111111111"
	token   = "22222222-2222-4222-8222-222222222222"
	pin     = "471147"
	many    = 6 // lanes, half of them in each bay

	operator = "the-operations-token"

	anotherRange = "11111111-1111-4111-8111-222222222222"
	anotherLane  = "44444444-4444-4444-8444-999999999999"
)

func laneID(n int) string    { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }
func screenKey(n int) string { return fmt.Sprintf("the-key-of-screen-%d", n) }

// house is a range with its controllers, which outlive the gateway, and the integrator.
type house struct {
	t             testing.TB
	till          *till
	controllers   *lanesim.Controllers
	configuration string
	gateway       *process.Process
}

var powerUp = time.Now()

func now() lanes.Instant {
	t := time.Now()
	return lanes.Instant{Wall: t.UTC(), Mono: t.Sub(powerUp)}
}

// build powers everything up but the gateway.
func build(t testing.TB) *house {
	h := &house{t: t, till: newTill(t)}
	var all []lanesim.Lane
	for n := range many {
		all = append(all, lanesim.Lane{ID: uuid.MustParse(laneID(n + 1)), Listen: "127.0.0.1:0"})
	}
	var err error
	h.controllers, err = lanesim.New(lanesim.Settings{Now: now}, all...)
	require.NoError(t, err)
	t.Cleanup(h.controllers.Close)
	var list strings.Builder
	for n := 1; n <= many; n++ {
		fmt.Fprintf(&list, "      - {id: %s, name: Lane %d, bay: 55555555-5555-4555-8555-00000000000%d, screen_key: %s, link: {driver: websocket, address: %q}}\n",
			laneID(n), n, 1+(n-1)/(many/2), screenKey(n), h.controller(n).Address())
	}
	hash := hashOf(t, pin)
	h.configuration = fmt.Sprintf(`
environment: playground
http: {address: %q}
operations: {address: 127.0.0.1:0, token: %q}
store: {sqlite: %q}
ranges:
  - id: %s
    name: North range
    token: %s
    purchasing: true
    webhook: {url: "%s/webhook", timeout: 2s}
    products: {url: "%s"}
    staff: [{name: sam, pin_hash: %q}, {name: kim, pin_hash: %q}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}, {id: 55555555-5555-4555-8555-000000000002, name: Bay B}]
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}, {id: 33333333-3333-4333-8333-000000000002, name: Members}]
    lanes:
%s
  - id: %s
    name: South range
    token: 22222222-2222-4222-8222-333333333333
    staff: [{name: sam, pin_hash: %q}]
    bays: [{id: 55555555-5555-4555-8555-000000000009, name: Bay Z}]
    groups: [{id: 33333333-3333-4333-8333-000000000009, name: Public}]
    lanes: [{id: %s, name: Lane 99, bay: 55555555-5555-4555-8555-000000000009}]
`, freeAddress(t), operator, filepath.Join(t.TempDir(), "rangegate.db"), rangeID, token, h.till.url, h.till.url, hash, hash, list.String(), anotherRange, hash, anotherLane)
	return h
}

// serve starts the gateway, always at the same address.
func (h *house) serve() {
	h.gateway = process.Serve(h.t, h.configuration)
	h.gateway.Ready()
}

func (h *house) controller(n int) *lanesim.Controller {
	return h.controllers.Controller(uuid.MustParse(laneID(n)))
}

// ports counts up from anywhere: no two ranges of this process get the same one.
var ports atomic.Int64

func init() { ports.Store(20_000 + rand.Int64N(10_000)) }

// freeAddress is one that a gateway can come back to: below those that connections are given, so that none of them takes
// it meanwhile.
func freeAddress(t testing.TB) string {
	for range 2_000 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports.Add(1)))
		if err == nil {
			_ = listener.Close()
			return listener.Addr().String()
		}
	}
	require.Fail(t, "no port is free")
	return ""
}

// hashOf is what the configuration keeps of a PIN.
func hashOf(t testing.TB, pin string) string {
	cmd := process.Command("hash-pin")
	cmd.Stdin = strings.NewReader(pin + "\n")
	hash, err := cmd.Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(hash))
}
