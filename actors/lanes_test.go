package actors

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestARangeLeavesNothingBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	inFakeTime(t, func(t *testing.T, g *rig) {
		for i := range 10 {
			g.create(i, 30)
		}
		g.restart()
		require.Len(t, g.onBoard(), 10)
		g.shutDown()
		goleak.VerifyNone(t, append(bubble, before)...)
	}, withLanes(1000))
	goleak.VerifyNone(t, before)
}

// bubble is what a synctest bubble itself consists of.
var bubble = []goleak.Option{
	goleak.IgnoreTopFunction("internal/synctest.Run"), goleak.IgnoreTopFunction("testing/synctest.testingSynctestTest"),
}

// A bound, not a measurement: an idle lane is a few actors, a link and a line on the board.
func TestAnIdleLaneIsCheap(t *testing.T) {
	const count, bound = 10_000, 16 << 10
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shutDown()
		g.settings.Layout.Lanes = places(count)
		before := memory()
		g.start()
		taken := memory() - before
		t.Logf("%d bytes a lane", taken/count)
		require.Less(t, taken, uint64(count*bound))
		g.create(count-1, 30)
		require.True(t, g.open(count-1))
	})
}

// memory is the bytes in use, heap and stacks.
func memory() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}
