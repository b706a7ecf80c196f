package hardware

import (
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rangegate/cmd/rangegate/lanesim"
)

const (
	crowd    = 1000 // lanes
	flapping = 200  // of them, the first
	tills    = 16   // that sell them
	flaps    = 15 * time.Second
	flapsFor = 2 * time.Minute // with ROUNDS set, in the soak
)

// flap has a lane's link go up and down until it is told to stop.
func flap(lane *lanesim.Controller, chance *rand.Rand, done <-chan struct{}) {
	defer lane.HalfOpen(false)
	defer lane.Hang(false)
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(chance.Int64N(int64(time.Second)))):
		}
		switch chance.IntN(8) {
		case 0, 1, 2:
			lane.Drop()
		case 3, 4:
			lane.PowerCut(false)
		case 5:
			lane.Hang(true)
			lane.Drop()
		case 6:
			lane.Hang(false)
		case 7:
			lane.HalfOpen(chance.IntN(4) == 0)
		}
	}
}

// kept is what the gateway keeps at this moment: its goroutines, and what its heap has in objects (how full the runtime's
// spans are is its own matter). Pings come and go, and so does what asking for it leaves behind: the least of it counts.
func (s staff) kept() (goroutines, heap float64) {
	s.t.Helper()
	http.DefaultClient.CloseIdleConnections() // the gateway has a goroutine for each
	return s.count("go_goroutines"), s.count("go_memstats_heap_alloc_bytes")
}

// atRest is the least that the gateway keeps over some collections.
func (s staff) atRest() (goroutines, heap float64) {
	s.t.Helper()
	goroutines, heap = s.kept()
	collected := func() float64 { return s.count("go_gc_duration_seconds_count") }
	for enough := collected() + 10; collected() < enough; {
		g, h := s.kept()
		goroutines, heap = min(goroutines, g), min(heap, h)
	}
	return goroutines, heap
}

// A session runs on every lane, and every controller locks its fire line when it misses its gateway for 15 s.
func TestLanesThatFlapDoNotTouchTheOthers(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Setenv("GOGC", "10") // the gateway's: it collects often enough to be looked at
	s := build(t, crowd, "on_link_loss: hold")
	gateway, till, desk := s.serve()
	allUp := func() bool { return !slices.ContainsFunc(till.stand(), func(now standing) bool { return !isUp(now) }) }
	converged := func() bool {
		for n := range crowd {
			if !s.controller(n).Shown().Open {
				return false
			}
		}
		return allUp()
	}
	require.Eventually(t, allUp, patience, 100*time.Millisecond)
	var selling sync.WaitGroup
	for first := range tills {
		selling.Go(func() {
			for n := first; n < crowd; n += tills {
				answer, err := till.trySell(n)
				assert.NoError(t, err)
				assert.Equal(t, 201, answer.Status, answer.Body)
			}
		})
	}
	selling.Wait()
	for n := range flapping { // what the first time leaves behind is no leak
		s.controller(n).Drop()
	}
	require.Eventually(t, converged, patience, 100*time.Millisecond)
	goroutines, heap := desk.atRest()
	stood := till.stand()

	seed, lasts := uint64(time.Now().UnixNano()), flaps
	if os.Getenv("ROUNDS") != "" {
		lasts = flapsFor
	}
	t.Logf("seed %d", seed)
	done, suffering := make(chan struct{}), sync.WaitGroup{}
	for n := range flapping {
		suffering.Go(func() { flap(s.controller(n), rand.New(rand.NewPCG(seed, uint64(n))), done) })
	}
	untouched := func() {
		require.Equal(t, stood[flapping:], till.stand()[flapping:])
		for n := flapping; n < crowd; n++ {
			require.True(t, s.controller(n).Shown().Open, "lane %d", n)
		}
	}
	for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		untouched()
	}
	close(done)
	suffering.Wait()
	for end := time.Now().Add(patience); !converged(); time.Sleep(100 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "not every lane is in order again")
		untouched()
	}
	for lane := range desk.lost() {
		require.Less(t, lane, laneID(flapping), "whose link was lost")
	}
	require.Empty(t, desk.holds())

	t.Logf("%v links went down, %v could not be made",
		desk.count("rangegate_links_total", `what="down"`), desk.count("rangegate_links_total", `what="not_made"`))
	bound, last := 1.05*heap, [2]float64{}
	require.Eventually(t, func() bool {
		g, h := desk.kept()
		last = [2]float64{g, h}
		return g <= goroutines && h < bound
	}, patience, time.Millisecond, "%v goroutines and less than %.0f bytes of heap; last seen: %.0f", goroutines, bound, &last)
	t.Logf("goroutines: %v, then %v; heap: %.0f, then %.0f", goroutines, last[0], heap, last[1])

	require.Zero(t, gateway.Terminate())
	s.controllers.Close()
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, before) // in the controllers
}
