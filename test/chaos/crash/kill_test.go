package crash

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

func TestKillTheGatewayOnSQLite(t *testing.T) {
	t.Parallel()
	killOften(t, func(t *testing.T) string { return support.NewSQLite(t) })
}

func TestKillTheGatewayOnRedis(t *testing.T) {
	t.Parallel()
	killOften(t, func(t *testing.T) string { return support.Redis(redistest.Start(t).URL()) })
}

// roundsPerRange is how many rounds a range goes through before a new one takes its place: every check reads all that a
// range has ever done.
const roundsPerRange = 25

// killOften kills the gateway in that many rounds, range by range.
func killOften(t *testing.T, store func(*testing.T) string) {
	var all counters
	for left := rounds(t, 3, 1); left > 0; left -= roundsPerRange {
		t.Run("range", func(t *testing.T) { killRange(t, store(t), min(left, roundsPerRange), &all) })
	}
	t.Logf("in all:\n%s", &all)
	require.Positive(t, all.get("ran out while the gateway was down"))
}

// killRange kills the gateway of one range in each round, and at last tells it to stop.
func killRange(t *testing.T, store string, rounds int, all *counters) {
	x := newFixture(t, store)
	x.start()
	for round := range rounds {
		x.load(func() {
			x.waitRequests(fewest, most)
			x.kill()
		})
		if round == rounds-1 {
			x.waitExpired(2)
		}
		x.start()
		x.check()
		x.repeat()
		x.load(func() { x.waitRequests(0, fewest) })
		x.check() // in this process
		x.counters.count("rounds")
	}

	x.load(func() {
		x.waitRequests(fewest, most)
		code := x.terminate()
		require.Zero(t, code, x.process().LogEnd())
	})
	x.start()
	x.check()
	x.finish()
	all.merge(&x.counters)
}

// The store is killed and comes back while the gateway runs. Everything acknowledged is there afterwards, and
// so is what was answered not_saved.
func TestKillRedisUnderTheGateway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	x := newFixture(t, support.Redis(server.URL()))
	x.start()
	for range rounds(t, 1, 20) {
		x.load(func() {
			x.waitRequests(fewest, most)
			server.Kill()
			x.waitRandom(0, latest)
			server.Restart()
			x.waitRandom(soonest, latest)
		})
		x.checkAfterOutage()
	}
	x.killAndFinish()
}

// The store is killed and then the gateway, before the store is back: only what was not saved may be lost.
func TestKillRedisAndTheGateway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	x := newFixture(t, support.Redis(server.URL()))
	x.start()
	for range rounds(t, 1, 20) {
		x.load(func() {
			x.waitRequests(fewest, most)
			server.Kill()
			x.waitRandom(0, soonest)
			x.kill()
		})
		server.Restart()
		x.start()
		x.check()
		x.repeat()
		x.check()
	}
	x.finish()
}

// The store dies while it writes a stop that gets no answer. The session goes on, also after the next kill,
// when the store reads the rest of that transaction again.
func TestKillRedisWhileItWrites(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	directory := directory(t, server)
	x := newFixture(t, support.Redis(server.URL()))
	x.receiver = nil // what is written last is the stop, and no delivery
	x.start()
	x.load(func() { x.waitRequests(fewest, most) })
	x.check()
	first, second := x.runningClient(0), x.runningClient(1)
	cutOff := &request{client: first, kind: stop, session: first.current}
	_, err := cutOff.send(x.gateway)
	require.NoError(t, err)
	first.lost = append(first.lost, cutOff) // its transaction is cut below, as if the answer had not come
	server.Kill()
	x.kill()
	cutTransaction(t, directory)

	server.Restart()
	x.start()
	x.check()
	require.False(t, cutOff.happened)
	second.command(x.gateway, &request{client: second, kind: pause, session: second.current})
	server.Kill()
	x.kill()
	server.Restart()
	x.start()
	x.check()
}

// The kill comes after a random number of the clients' requests between these, in the midst of others. What
// is broken for a while is so for a random time.
const (
	fewest  = 200
	most    = 1200
	soonest = 200 * time.Millisecond
	latest  = 1200 * time.Millisecond
)
