package actors

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A switch that comes back brings all lanes at once: so many are dialled at a time, and each has its time from when it
// is its turn.
func TestSoManyControllersAreDialledAtOnce(t *testing.T) {
	var under, most atomic.Int64
	s := &switchboard{answer: func(ctx context.Context) error {
		most.Store(max(most.Load(), under.Add(1)))
		defer under.Add(-1)
		<-ctx.Done()
		return ctx.Err()
	}}
	inFakeTime(t, func(t *testing.T, g *rig) {
		require.EqualValues(t, 64, under.Load())
		g.pass(time.Minute)
		require.EqualValues(t, 64, most.Load())
		require.Greater(t, len(s.dialled()), 200, "everybody has a turn")
		for _, dial := range s.dialled() {
			require.Equal(t, dialTimeout, dial.took)
		}
		s.answers(nil)
		g.pass(time.Minute)
		for _, lane := range g.Lanes() {
			require.Equal(t, lanes.LinkUp, lane.Link)
		}
		synctest.Wait()
	}, withLanes(200), withDriver(s))
}

// What waits for its turn holds up no stop of the gateway.
func TestAStopDoesNotWaitForDials(t *testing.T) {
	s := &switchboard{answer: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	inFakeTime(t, func(t *testing.T, g *rig) {
		stopped := time.Now()
		g.shutDown()
		require.Equal(t, stopped, time.Now())
	}, withLanes(200), withDriver(s))
}

// What waits has no goroutine, and is not passed over by what came later.
func TestDialsThatWaitAreMadeInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiting = 1000
		var d dialQueue
		goOn := make(chan struct{})
		for range maxDials {
			d.add(func() { <-goOn })
		}
		before := runtime.NumGoroutine()
		var mu sync.Mutex
		var made []int
		for i := range waiting {
			d.add(func() {
				mu.Lock()
				defer mu.Unlock()
				made = append(made, i)
			})
		}
		synctest.Wait()
		require.Less(t, runtime.NumGoroutine(), before+waiting/2)
		require.Empty(t, made)
		goOn <- struct{}{} // one of them, which makes all that wait
		d.add(func() {})
		synctest.Wait()
		require.Len(t, made, waiting)
		require.True(t, slices.IsSorted(made))
		close(goOn)
		d.finished.Wait()
		require.Zero(t, d.running)
	})
}

func TestASocketThatWasClosedIsNotDialled(t *testing.T) {
	var s socket
	s.close()
	_, wanted := s.beginDial(t.Context())
	require.False(t, wanted)
}
