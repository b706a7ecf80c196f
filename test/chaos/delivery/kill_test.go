package delivery

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

const (
	slots = 64 // attempts at a time
	// events that clients may still make while the gateway is being killed, so that they are busy then
	beyondKill = 1_000
)

func TestMain(m *testing.M) { support.Run(m) }

// 200 lanes, 10,000 events, five kills.
func TestEventsArriveInOrderAndOnceWhateverHappens(t *testing.T) {
	const lives, events = 5, 10_000
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 1))
	receiver := support.NewReceiver(t)
	receiver.Respond(support.Unreliable(seed))
	config := support.NewConfig(t, support.Lanes(0, laneCount-1),
		receiver.Setting("timeout: 500ms", fmt.Sprintf("concurrency: %d", slots)))
	config.HTTP = support.NoLimit

	var made atomic.Int64
	for life := range lives {
		gateway := config.Serve(t)
		killed := int64((life+1)*events/lives) + chance.Int64N(100) // anywhere in a request, a save, an attempt
		wait := startClients(gateway.POS(), &made, killed+beyondKill)
		waitMade(t, &made, killed)
		gateway.Kill()
		wait()
	}

	// The last life delivers what is left, ends properly, and what it has recorded is read.
	gateway := config.Serve(t)
	after := "0"
	support.EventuallyNone(t, "everything is attempted", func() []support.Event {
		read := gateway.POS().Events(after)
		for i, event := range read {
			if event.Attempt == nil {
				return read[i:]
			}
			after = event.Cursor
		}
		return nil
	})
	require.Zero(t, gateway.Terminate())
	log := config.Serve(t).POS().Events("0")
	arrived := receiver.Arrived()
	found := judge(t, log, arrived)
	require.GreaterOrEqual(t, len(log), events)
	require.Positive(t, found.refused)
	require.Greater(t, found.delivered, len(log)/2, "what the receiver takes is not given up")
	require.LessOrEqual(t, found.lost, lives*slots, "a kill interrupts no more than were under way")
	t.Logf("%d events, %d arrived: %+v", len(log), len(arrived), found)
}
