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

// The store dies in the middle of writing a stop, which nobody gets an answer to. The session goes on, and still does
// after the next kill, when the store reads again what is left of the stop.
func TestKillRedisWhileItWrites(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	directory := directoryOf(t, server)
	x := newTrial(t, fmt.Sprintf("redis: %q", server.URL()))
	x.start()
	x.load(func() { x.moment(soonest, latest) })
	x.check()
	one, other := x.runs(0), x.runs(1)
	cutOff := &request{client: one, kind: stop, of: one.current}
	_, err := cutOff.send(x.gateway)
	require.NoError(t, err)
	one.lost = append(one.lost, cutOff) // the answer came too early to be true
	server.Kill()
	x.kill()
	tear(t, directory)

	server.Restart()
	x.start()
	x.check()
	require.False(t, cutOff.happened)
	other.command(x.gateway, &request{client: other, kind: pause, of: other.current})
	server.Kill()
	x.kill()
	server.Restart()
	x.start()
	x.check()
}

// When the kill comes, after the clients have begun.
const (
	soonest = 200 * time.Millisecond
	latest  = 1500 * time.Millisecond
)
