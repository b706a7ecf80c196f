package hardware

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

const (
	busyLanes = 20
	processes = 9 // of the gateway; all but the last end with a kill
	reports   = 10_000
	kept      = 8 // reports that a controller keeps before its customer waits
	maxBreaks = 4 // that break the connection, of a lane in a life: each doubles the gateway's back-off
	disorder  = 2 // lanes whose reports overtake one another, which LINK.md does not allow
)

// shooter makes reports on a lane, as fast as they are acked.
type shooter struct {
	lane   *lanesim.Controller
	chance *rand.Rand
	made   map[string]int // by event
	total  *atomic.Int64
}

// shoot goes on until enough reports are made on all lanes together.
func (s *shooter) shoot(enough int64) {
	for s.total.Load() < enough {
		if s.lane.Unacked() >= kept {
			time.Sleep(time.Millisecond)
			continue
		}
		kind, report := "help", s.lane.Help
		if s.chance.IntN(2) == 0 {
			kind, report = "carrierHit", s.lane.HitCarrier
		}
		if report() != nil { // after a power cut: no session until the gateway says so
			time.Sleep(time.Millisecond)
			continue
		}
		s.made[kind]++
		s.total.Add(1)
	}
}

// disturb has one fault after the other on a lane, until it is done or the connection was broken often
// enough; then it ends every fault. It counts them.
func disturb(lane *lanesim.Controller, chance *rand.Rand, disorderly bool, done <-chan struct{}, counted *sync.Map) {
	count := func(what string, times int) {
		n, _ := counted.LoadOrStore(what, new(atomic.Int64))
		n.(*atomic.Int64).Add(int64(times))
	}
	defer func() {
		lane.LoseAcks(false)
		lane.Duplicate(false)
		lane.Reorder(false)
		lane.Drop() // what was kept back, or whose ack was lost, comes again
	}()
	for breaks := 0; breaks < maxBreaks; {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(chance.Int64N(int64(50 * time.Millisecond)))):
		}
		switch on := chance.IntN(2) == 0; chance.IntN(5) {
		case 0:
			lane.Drop()
			breaks++
			count("dropped", 1)
		case 1:
			count("power cuts", 1)
			count("reports kept over a power cut", lane.Unacked())
			lane.PowerCut(false)
			breaks++
		case 2:
			lane.LoseAcks(on)
			count("acks lost, or not any more", 1)
		case 3:
			lane.Duplicate(on)
			count("duplicates, or no more", 1)
		case 4:
			lane.Reorder(on && disorderly)
		}
	}
}

// Twenty lanes, 10,000 reports, eight kills; connections break, acks get lost, reports come twice, controllers lose
// power. What a lane's reports say that come in the wrong order may get lost (an ack is for all before it), but is not
// said twice.
func TestNoReportIsLostOrAppliedTwice(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	controllers := support.NewControllers(t, 0, busyLanes-1)
	config := newConfig(t, controllers)
	pos, gateway := serve(t, config)
	sessions := make([]string, busyLanes)
	for n := range busyLanes {
		sessions[n] = pos.sell(n)
		controllers.WaitOpen(n, sessions[n])
	}

	var total atomic.Int64
	shooters := make([]*shooter, busyLanes)
	for n := range shooters {
		shooters[n] = &shooter{
			controllers.Controller(n), rand.New(rand.NewPCG(seed, uint64(n+1))),
			map[string]int{},
			&total,
		}
	}
	var wrong sync.Map
	var shooting sync.WaitGroup
	for _, one := range shooters {
		shooting.Go(func() { one.shoot(reports) })
	}
	for life := range processes {
		if life > 0 {
			pos, gateway = serve(t, config)
		}
		done, suffering := make(chan struct{}), sync.WaitGroup{}
		for n := range shooters {
			suffers := rand.New(rand.NewPCG(seed, uint64(life*busyLanes+n)<<8))
			suffering.Go(func() { disturb(controllers.Controller(n), suffers, n < disorder, done, &wrong) })
		}
		enough := int64((life + 1) * reports / processes)
		support.Eventually(t, fmt.Sprintf("the reports of life %d", life), func() bool {
			return total.Load() >= enough
		})
		if life < processes-1 {
			time.Sleep(time.Duration(chance.Int64N(int64(20 * time.Millisecond)))) // anywhere in a save, an ack
			gateway.Kill()
		}
		close(done)
		suffering.Wait()
		t.Logf("life %d: %d reports so far", life, total.Load())
	}
	shooting.Wait()

	for n := range shooters {
		controllers.WaitAcked(n)
	}
	wrong.Range(func(what, many any) bool {
		t.Logf("%s: %d", what, many.(*atomic.Int64).Load())
		return true
	})
	logged := make([]map[string]int, busyLanes)
	for n := range logged {
		logged[n] = map[string]int{}
	}
	for _, e := range pos.Events("0") {
		if e.Payload.Event != "help" && e.Payload.Event != "carrierHit" {
			continue
		}
		n := slices.Index(sessions, e.Payload.Session)
		require.NotEqual(t, -1, n, "%+v", e)
		require.Equal(t, support.LaneID(n), e.Payload.Lane)
		logged[n][e.Payload.Event]++
	}
	for n, one := range shooters {
		if n >= disorder {
			require.Equal(t, one.made, logged[n], "lane %d", n)
			continue
		}
		for kind, many := range one.made {
			require.LessOrEqual(t, logged[n][kind], many, "lane %d: %s", n, kind)
		}
		t.Logf("lane %d, in disorder: %v made, %v in the log", n, one.made, logged[n])
	}
	require.GreaterOrEqual(t, total.Load(), int64(reports))
	require.Zero(t, gateway.Terminate())
}
