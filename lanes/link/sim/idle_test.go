package sim_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/link"
	"rangegate/lanes/link/sim"
)

// Measured on amd64, Go 1.26: about 400 bytes of heap a lane with its link up and a state in force, and no goroutine.
func TestAnIdleLaneIsCheap(t *testing.T) {
	const count = 10_000
	driver := sim.New(clock())
	autopilot := sim.NewAutopilot(driver, 1)
	defer autopilot.Close()
	conns := make([]link.Connection, count)
	goroutines, used := runtime.NumGoroutine(), heap()
	for i := range conns {
		conn, _, err := driver.Dial(t.Context(), link.Lane{ID: uuid.New()}, ignoreAll{})
		require.NoError(t, err)
		conn.Send(link.State{Revision: 1})
		conns[i] = conn
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+2 }, time.Minute,
		time.Millisecond)
	each := (heap() - used) / count
	t.Logf("%d bytes a lane", each)
	assert.Less(t, each, uint64(1024))
	runtime.KeepAlive(conns)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
