package cluster

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// Whatever happens to nodes, to Redis and to the networks between them, every range is served again, nothing
// that was acknowledged is lost, nothing that was refused has happened, and no event is received twice.
func TestFaults(t *testing.T) {
	t.Parallel()
	// A test run has each kind once; make soak has more rounds and ranges, and the TTL that operators have.
	rounds, ttl := number(t, "CLUSTER_ROUNDS", len(faults)), time.Duration(number(t, "CLUSTER_TTL", 1))*time.Second
	c := newCluster(t, settings{ttl: ttl, ranges: number(t, "CLUSTER_RANGES", 30)})
	began := now()
	c.start(c.nodes...)
	c.sellLong()
	c.started = now() - began
	t.Logf("started, and every range sells, within %.1f s", c.started.Seconds())

	defer c.work()()

	var order []int
	for round := range rounds {
		if len(order) == 0 {
			order = c.random.Perm(len(faults))
		}
		f, n := faults[order[0]], c.nodes[c.random.IntN(len(c.nodes))]
		order = order[1:]
		t.Logf("round %d, %s: %s", round+1, n.name, f.name)
		took := c.inflict(f, n)
		t.Logf("round %d: %s", round+1, took)
		require.False(t, t.Failed())
	}
	require.Positive(t, c.judge(), "ranges have changed their owner under the eyes of the judge")
}

// Redis hangs for many TTLs, and all nodes are healthy: no range changes its owner, and a ceasefire through
// any node reaches every lane that is connected.
func TestRedisHangsForTwentySeconds(t *testing.T) {
	t.Parallel()
	for try := 1; ; try++ {
		again := false
		t.Run("a cluster", func(t *testing.T) { again = hangRedis(t) })
		if !again {
			return
		}
		require.Less(t, try, 3, "ranges have moved each time")
	}
}

// hangRedis is to be done again if ranges have moved, and rightly: a node stood still and did not renew its lease.
func hangRedis(t *testing.T) (again bool) {
	c := newCluster(t, settings{ttl: time.Second, ranges: 60})
	c.start(c.nodes...)
	c.sellLong()
	c.waitControllers()
	before := c.waitBalanced()
	changes := c.ownershipChanges()
	still, stop := c.stillness(c.nodes...)
	defer stop()
	haveMoved := func() bool {
		return still() > c.ttl/2 && (c.movedFrom(before) > 0 || c.ownershipChanges() != changes)
	}

	c.redis.Hang()
	begun := time.Now()
	time.Sleep(3 * time.Second) // every lease has ended
	held := c.ceasefire(true)
	t.Logf("every controller has locked %.1f s after the ceasefire was called", held.Seconds())
	time.Sleep(time.Until(begun.Add(20 * time.Second)))
	if haveMoved() {
		return true
	}
	c.requireOwners(before)
	require.Equal(t, changes, c.ownershipChanges(), "a range was dropped, or claimed")
	c.redis.Wake()

	took := c.waitServed(now())
	t.Logf("served again: %s", took)
	time.Sleep(5 * time.Second) // renewed for several TTLs: now others could take over
	if haveMoved() {
		return true
	}
	c.requireOwners(before)
	require.Equal(t, changes, c.ownershipChanges(), "a range was dropped, or claimed")
	c.ceasefire(false)
	c.judgeControllers()
	return false
}

// movedFrom is how many controllers listen to another owner than before. A range that was dropped and claimed again
// has another epoch, whoever has claimed it.
func (c *cluster) movedFrom(before map[uuid.UUID]uint64) (changed int) {
	for lane, epoch := range c.hardware.epochs() {
		if before[lane] != epoch {
			changed++
		}
	}
	return changed
}

// requireOwners requires that every controller listens to the same owner as before.
func (c *cluster) requireOwners(before map[uuid.UUID]uint64) {
	c.t.Helper()
	changed := c.movedFrom(before)
	if changed > 0 {
		c.logNodes("own")
	}
	require.Zero(c.t, changed, "controllers of %d have another owner", len(before))
}

// ownershipChanges is how often a node began or ceased to own a range, for any reason, as the nodes count it.
func (c *cluster) ownershipChanges() (changes float64) {
	for _, n := range c.nodes {
		changes += n.current().Metrics().Sum("rangegate_ownership_changes_total")
	}
	return changes
}

// The master dies, and a Sentinel promotes its only replica, which has all that was acknowledged. The dead
// server comes back as a replica of that one, and until then nothing is acknowledged. Of several replicas a
// Sentinel may promote one that lacks the last writes: see docs/store.md.
func TestFailoverBySentinel(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	redistest.StartReplica(t, master)
	sentinel := redistest.StartSentinel(t, "main", master)
	waitReplicas(t, sentinel, 1)
	waitWrites(t, master, 1)
	c := newCluster(t, settings{
		ttl: time.Second, ranges: 60,
		store: "redis://" + sentinel.Addr() + "/0?master_name=main&wait_replicas=1&read_timeout=1s",
	})
	c.start(c.nodes...)
	c.sellLong()
	defer c.work()()
	time.Sleep(2 * time.Second)

	died := now()
	master.Kill()
	waitPromoted(t, sentinel, master)
	master.Restart()
	t.Logf("the master dies: %s", c.waitServed(died))
	c.sleep(2)
	time.Sleep(2 * time.Second)
	c.judge()
}

// A planned failover, without wait_replicas: the old master goes on for some TTLs, until the Sentinel makes it a
// replica, and keeps its connections. All nodes live: no range changes its owner, and nothing acknowledged is lost.
func TestAPlannedFailoverBySentinel(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	redistest.StartReplica(t, master)
	sentinel := redistest.StartSentinel(t, "main", master)
	waitReplicas(t, sentinel, 1)
	c := newCluster(t, settings{
		ttl: 2 * time.Second, ranges: 60,
		store: "redis://" + sentinel.Addr() + "/0?master_name=main&read_timeout=1s",
	})
	for _, n := range c.nodes { // apart, so that not all of them make their connections anew at the same time
		c.start(n)
		time.Sleep(3 * time.Second)
	}
	c.sellLong()
	c.waitBalanced()
	defer c.work()()
	time.Sleep(2 * time.Second)
	changes := c.ownershipChanges()
	still, stop := c.stillness(c.nodes...)
	defer stop()

	askSentinel(t, sentinel, "the failover begins", func(client *goredis.SentinelClient) bool {
		return client.Failover(t.Context(), "main").Err() == nil
	})
	waitPromoted(t, sentinel, master)
	c.sleep(4)
	if still() < c.ttl/2 {
		require.Equal(t, changes, c.ownershipChanges(), "a range was dropped, or claimed")
	}
	c.judge()
}

// askSentinel waits until arrived returns true, which asks the Sentinel.
func askSentinel(t *testing.T, sentinel *redistest.Server, wanted string, arrived func(*goredis.SentinelClient) bool) {
	client := goredis.NewSentinelClient(&goredis.Options{Addr: sentinel.Addr()})
	defer func() { _ = client.Close() }()
	support.Eventually(t, wanted, func() bool { return arrived(client) })
}

// waitReplicas waits until the Sentinel knows that many replicas, in sync with the master.
func waitReplicas(t *testing.T, sentinel *redistest.Server, replicas int) {
	askSentinel(t, sentinel, "the Sentinel knows the replicas", func(client *goredis.SentinelClient) bool {
		found, err := client.Replicas(t.Context(), "main").Result()
		up := 0
		for _, replica := range found {
			if replica["master-link-status"] == "ok" {
				up++
			}
		}
		return err == nil && up == replicas
	})
}

// waitWrites waits until so many replicas confirm what the master writes: one that is in sync by its own word
// may not be counted yet.
func waitWrites(t *testing.T, master *redistest.Server, replicas int) {
	client := goredis.NewClient(&goredis.Options{Addr: master.Addr()})
	defer func() { _ = client.Close() }()
	connection := client.Conn() // WAIT is for what the same connection has written
	defer func() { _ = connection.Close() }()
	support.Eventually(t, "the replicas confirm a write", func() bool {
		if connection.Set(t.Context(), "written", 1, time.Second).Err() != nil {
			return false
		}
		confirmed, err := connection.Wait(t.Context(), replicas, time.Second).Result()
		return err == nil && confirmed == int64(replicas)
	})
}

// waitPromoted waits until the Sentinel has another master than that, which was killed, or gives way.
func waitPromoted(t *testing.T, sentinel, former *redistest.Server) {
	redistest.SetDownAfter(t, sentinel, "main", 5*time.Second)
	defer redistest.SetDownAfter(t, sentinel, "main", redistest.DownAfter)
	askSentinel(t, sentinel, "the Sentinel promotes the replica", func(client *goredis.SentinelClient) bool {
		address, err := client.GetMasterAddrByName(t.Context(), "main").Result()
		return err == nil && net.JoinHostPort(address[0], address[1]) != former.Addr()
	})
}
