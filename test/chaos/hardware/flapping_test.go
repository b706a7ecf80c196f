package hardware

import (
	"math"
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
	"rangegate/test/support"
)

const (
	laneCount = 400 // lanes
	flapping  = 80  // of them, the first
	clients   = 16  // that sell them
	duration  = 10 * time.Second
	soak      = 2 * time.Minute // with ROUNDS set
)

// waitSlowly is support.Eventually for a condition that asks about hundreds of lanes.
func waitSlowly(t *testing.T, what string, condition func() bool) {
	t.Helper()
	support.Eventually(t, what, func() bool {
		if condition() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
		return false
	})
}

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

// memory is what the gateway keeps: its goroutines, and the objects on its heap in bytes.
type memory struct{ goroutines, heap float64 }

func (m memory) least(other memory) memory {
	return memory{min(m.goroutines, other.goroutines), min(m.heap, other.heap)}
}

// scrape reads the metrics over a connection of its own, and closes it: the gateway has a goroutine for each.
func (o operator) scrape() support.Metrics {
	o.t.Helper()
	http.DefaultClient.CloseIdleConnections()
	return o.Metrics()
}

func memoryIn(m support.Metrics) memory {
	return memory{m.Sum("go_goroutines"), m.Sum("go_memstats_heap_alloc_bytes")}
}

// idleMemory is the least that the gateway keeps over some collections while every link is up: pings come and
// go, and so does what a scrape leaves behind. A busy machine loses links too, and a gateway without them keeps
// less: a moment counts when all were up before it and after it, and none was lost in between.
func (o operator) idleMemory() memory {
	o.t.Helper()
	linksOf := func(m support.Metrics) [2]float64 {
		return [2]float64{m.Sum("rangegate_links", `state="up"`), m.Sum("rangegate_links_total", `what="down"`)}
	}
	least := memory{math.Inf(1), math.Inf(1)}
	before := o.scrape()
	collections := func(m support.Metrics) float64 { return m.Sum("go_gc_duration_seconds_count") }
	for enough := collections(before) + 10; collections(before) < enough || math.IsInf(least.heap, 1); {
		now, after := o.scrape(), o.scrape()
		if links := linksOf(before); links == linksOf(after) && links[0] == laneCount {
			least = least.least(memoryIn(now))
		}
		before = after
	}
	return least
}

// A session runs on every lane, and every controller locks its fire line when it misses its gateway for 15 s.
func TestLanesThatFlapDoNotTouchTheOthers(t *testing.T) {
	ownGoroutines := goleak.IgnoreCurrent()
	t.Setenv("GOGC", "10") // the gateway's: it collects often enough to be looked at
	controllers := support.NewControllers(t, 0, laneCount-1)
	pos, operator := serve(t, newConfig(t, controllers, "on_link_loss: hold"))
	allUp := func() bool { return !slices.ContainsFunc(pos.lanes(), func(l lane) bool { return !l.isUp() }) }
	converged := func() bool {
		for n := range laneCount {
			if !controllers.Controller(n).Shown().Open {
				return false
			}
		}
		return allUp()
	}
	waitSlowly(t, "every link is up", allUp)
	still := operator.Stillness(t.Context())
	var selling sync.WaitGroup
	for first := range clients {
		selling.Go(func() {
			for n := first; n < laneCount; n += clients {
				answer, err := pos.DoInsisting("POST", "/sessions", support.Order(n, soldMinutes))
				assert.NoError(t, err)
				assert.Equal(t, 201, answer.Status, answer.Body)
			}
		})
	}
	selling.Wait()
	for n := range flapping { // what the first time leaves behind is no leak
		controllers.Controller(n).Drop()
	}
	waitSlowly(t, "every lane is open", converged)
	atFirst := operator.idleMemory()
	before := pos.lanes()

	seed, lasts := uint64(time.Now().UnixNano()), duration
	if os.Getenv("ROUNDS") != "" {
		lasts = soak
	}
	t.Logf("seed %d", seed)
	done, suffering := make(chan struct{}), sync.WaitGroup{}
	for n := range flapping {
		suffering.Go(func() { flap(controllers.Controller(n), rand.New(rand.NewPCG(seed, uint64(n))), done) })
	}
	untouched := func() {
		present, locked := pos.lanes(), []int(nil)
		for n := flapping; n < laneCount; n++ {
			if !controllers.Controller(n).Shown().Open {
				locked = append(locked, n)
			}
		}
		if still() < support.Standstill {
			require.Equal(t, before[flapping:], present[flapping:])
			require.Empty(t, locked)
		}
	}
	for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		untouched()
	}
	close(done)
	suffering.Wait()
	for end := time.Now().Add(support.Patience); !converged(); time.Sleep(100 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "not every lane is in order again")
		untouched()
	}
	linkErrors := operator.linkErrors()
	if still() < support.Standstill {
		for lane := range linkErrors {
			require.Less(t, lane, support.LaneID(flapping), "whose link was lost")
		}
	}
	require.Empty(t, operator.holds())

	t.Logf("%v links went down, %v could not be made",
		operator.metric("rangegate_links_total", `what="down"`),
		operator.metric("rangegate_links_total", `what="not_made"`))
	atLast := memory{math.Inf(1), math.Inf(1)}
	require.Eventually(t, func() bool {
		atLast = atLast.least(memoryIn(operator.scrape()))
		return atLast.goroutines <= atFirst.goroutines && atLast.heap < 1.05*atFirst.heap
	}, support.Patience, time.Millisecond,
		"as many goroutines at most and as large a heap as before, %+v; the least seen: %+v", atFirst, &atLast)
	t.Logf("at first %+v, at last %+v", atFirst, atLast)

	require.Zero(t, operator.Terminate())
	controllers.Close()
	http.DefaultClient.CloseIdleConnections()
	goleak.VerifyNone(t, ownGoroutines) // in the controllers
}
