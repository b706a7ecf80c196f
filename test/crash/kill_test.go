package crash

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/process"
)

// The gateway is built before the tests.
func TestMain(m *testing.M) { process.Run(m) }

func TestKillTheGatewayOnBolt(t *testing.T) {
	t.Parallel()
	rounds(t, "bolt: "+filepath.Join(t.TempDir(), "rangegate.db"))
}

func TestKillTheGatewayOnRedis(t *testing.T) {
	t.Parallel()
	rounds(t, fmt.Sprintf("redis: %q", redistest.Start(t).URL()))
}

// rounds kills the gateway again and again, and at last tells it to stop.
func rounds(t *testing.T, store string) {
	x := newTrial(t, store)
	x.start()
	last := number(t, "ROUNDS", 3)
	for round := 1; round <= last; round++ {
		x.load(func() {
			x.moment(soonest, latest)
			x.kill()
		})
		if round == last || round%10 == 0 {
			x.outlast(3)
		}
		x.start()
		x.check()
		x.repeat()
		x.check()
	}

	x.load(func() {
		x.moment(soonest, latest)
		code, took := x.terminate()
		require.Zero(t, code)
		require.Less(t, took, 10*time.Second)
	})
	x.start()
	x.check()
	t.Log(x.figures())
	require.Positive(t, x.tally.of("ran out while the gateway was down"))
}

// The store is killed and comes back, and the gateway lives on. So do all that it acknowledged, and what it answered as
// not saved.
func TestKillRedisUnderTheGateway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	x := newTrial(t, fmt.Sprintf("redis: %q", server.URL()))
	x.start()
	for range number(t, "ROUNDS", 3) {
		x.load(func() {
			x.moment(soonest, latest)
			server.Kill()
			x.moment(0, latest)
			server.Restart()
			x.moment(soonest, latest)
		})
		x.life().Ready()
		x.settle() // what is in force is saved after the store is back, and not all at once
		x.check()
		x.repeat()
		x.check()
	}
	x.kill()
	x.start()
	x.check()
	t.Log(x.figures())
}

// The store is killed and then the gateway, before the store is back: what was in force only may be gone, the rest not.
func TestKillRedisAndTheGateway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	x := newTrial(t, fmt.Sprintf("redis: %q", server.URL()))
	x.start()
	for range number(t, "ROUNDS", 3) {
		x.load(func() {
			x.moment(soonest, latest)
			server.Kill()
			x.moment(0, soonest)
			x.kill()
		})
		server.Restart()
		x.start()
		x.check()
		x.repeat()
		x.check()
	}
	t.Log(x.figures())
}

// When the kill comes, after the clients have begun.
const (
	soonest = 200 * time.Millisecond
	latest  = 1500 * time.Millisecond
)
