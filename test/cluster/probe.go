package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/linear"
	"rangegate/test/support"
)

// probeClients is how many ranges are probed at a time. Most of them wait: a node that is cut off answers
// only when it gives up.
const probeClients = 100

// eachRange calls do for every range, with one of the probing clients.
func (c *cluster) eachRange(do func(*client, *rangeFixture)) {
	var work sync.WaitGroup
	next := make(chan *rangeFixture)
	for n := range probeClients {
		probe := c.probes(n)
		work.Go(func() {
			for r := range next {
				do(probe, r)
			}
		})
	}
	for _, r := range c.ranges {
		next <- r
	}
	close(next)
	work.Wait()
}

func (c *cluster) probes(n int) *client {
	for len(c.probing) <= n {
		probe := c.newClient(1000 + len(c.probing))
		probe.probe = true
		// A request that is under way when a node is lost waits for it: the next one shows whether the range is served.
		probe.http.Timeout = 1500 * time.Millisecond
		c.probing = append(c.probing, probe)
	}
	return c.probing[n]
}

// sellLong sells the session on the second lane of every range.
func (c *cluster) sellLong() {
	ctx, cancel := context.WithTimeout(c.t.Context(), support.Patience)
	defer cancel()
	c.eachRange(func(probe *client, r *rangeFixture) {
		r.longAt.Lo = now()
		probe.command(ctx, r.lanes[longLane], linear.Call{Kind: "create", Lane: longLane, Minutes: longMinutes})
		r.longAt.Hi = now()
	})
	for _, r := range c.ranges {
		require.NotEmpty(c.t, r.lanes[longLane].getNewest(), "the session of range %d is sold", r.number)
	}
}

const longMinutes = 200

// served is how long after an instant every range took a change again.
type served struct{ half, last time.Duration }

func (s served) String() string {
	return fmt.Sprintf("half of the ranges within %.1f s, all within %.1f s", s.half.Seconds(), s.last.Seconds())
}

// waitServed has the session on the second lane of every range changed, through any node, and returns how
// long after the fault it was.
func (c *cluster) waitServed(fault time.Duration) served {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), support.Patience)
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	var without []int
	c.eachRange(func(probe *client, r *rangeFixture) {
		got := probe.command(ctx, r.lanes[longLane],
			linear.Call{Kind: "modify", Session: r.lanes[longLane].getNewest(), Minutes: 1})
		mu.Lock()
		defer mu.Unlock()
		if got.Outcome == linear.Done {
			took = append(took, now()-fault)
		} else {
			without = append(without, r.number)
			c.t.Logf("range %d was answered %+v", r.number, got)
			c.logNodes(r.id())
		}
	})
	require.Empty(c.t, without, "ranges that take no change")
	slices.Sort(took)
	return served{took[len(took)/2], took[len(took)-1]}
}
