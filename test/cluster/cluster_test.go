package cluster

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

const (
	busyRanges  = 12 // whose first lane clients contend for
	busyClients = 16
)

// Whatever happens to nodes, to Redis and to the networks between them, every range is served again, nothing that was acknowledged is lost,
// nothing that was refused has happened, and no event is received twice.
func TestFaults(t *testing.T) {
	rounds, ttl := number(t, "CLUSTER_ROUNDS", 20), time.Duration(number(t, "CLUSTER_TTL", 1))*time.Second
	c := newCluster(t, settings{ttl: ttl, ranges: 300})
	began := time.Now()
	c.start(c.nodes...)
	c.sellLong()
	t.Logf("started, and every range sells, within %.1f s", time.Since(began).Seconds())

	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	var contended []*lane
	for _, r := range c.ranges[:busyRanges] {
		contended = append(contended, r.lanes[busyLane])
	}
	for n := range busyClients {
		working.Go(func() { c.newClient(n).work(ctx, contended) })
	}
	defer working.Wait()
	defer stop()

	var order []int
	for round := range rounds {
		if len(order) == 0 {
			order = c.random.Perm(len(faults))
		}
		f, n := faults[order[0]], c.nodes[c.random.IntN(len(c.nodes))]
		order = order[1:]
		took := c.inflict(f, n)
		t.Logf("round %d, %s: %s: %s", round+1, n.name, f.name, took)
		require.False(t, t.Failed())
	}
	stop()
	working.Wait()
	c.judge(clockError)
}

// clockError is how exactly time is counted that a session has spent on several machines (docs/ownership.md).
const clockError = 500 * time.Millisecond
