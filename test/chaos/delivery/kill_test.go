package delivery

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

const slots = 64 // attempts at a time

func TestMain(m *testing.M) { process.Run(m) }

func configuration(t testing.TB, webhook string) string {
	var lanes strings.Builder
	for n := range laneCount {
		fmt.Fprintf(&lanes, "      - {id: %s, name: Lane %d, bay: 55555555-5555-4555-8555-555555555555}\n", laneID(n), n)
	}
	return fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0, limits: {requests: 0}}
operations: {address: 127.0.0.1:0}
store: {sqlite: %s}
ranges:
  - id: %s
    name: Range
    token: %s
    webhook: {url: %s, timeout: 500ms, concurrency: %d}
    bays: [{id: 55555555-5555-4555-8555-555555555555, name: Bay A}]
    groups: [{id: %s, name: Public}]
    lanes:
%s`, filepath.Join(t.TempDir(), "rangegate.db"), rangeID, token, webhook, slots, group, lanes.String())
}

// 200 lanes, 10,000 events, five kills.
func TestEventsArriveInOrderAndOnceWhateverHappens(t *testing.T) {
	const lives, events = 5, 10_000
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 1))
	integrator := Receive(t, seed)
	cfg := configuration(t, integrator.URL)

	var made atomic.Int64
	for life := range lives {
		gateway := process.Serve(t, cfg).Ready()
		wait := tills(gateway.API, &made)
		enough := int64((life + 1) * events / lives)
		require.Eventually(t, func() bool { return made.Load() >= enough }, time.Minute, time.Millisecond)
		time.Sleep(time.Duration(chance.Int64N(int64(20 * time.Millisecond)))) // anywhere in a request, a save, an attempt
		gateway.Kill()
		wait()
	}

	// The last life delivers what is left, ends properly, and what it has recorded is read.
	gateway := process.Serve(t, cfg).Ready()
	pos := process.Client{API: gateway.API, Range: rangeID, Token: token}
	after := "0"
	require.Eventually(t, func() bool {
		rest, _ := read(t, pos, after)
		for _, event := range rest {
			if event.pending() {
				return false
			}
			after = event.Cursor
		}
		return true
	}, time.Minute, 100*time.Millisecond, "everything is attempted")
	require.Zero(t, gateway.Terminate())
	gateway = process.Serve(t, cfg).Ready()
	log, _ := read(t, process.Client{API: gateway.API, Range: rangeID, Token: token}, "0")
	arrived := integrator.Arrived()
	found := judge(t, log, arrived)
	require.GreaterOrEqual(t, len(log), events)
	require.Positive(t, found.refused)
	require.LessOrEqual(t, found.lost, lives*slots, "a kill interrupts no more than were under way")
	t.Logf("%d events, %d arrived: %+v", len(log), len(arrived), found)
}
