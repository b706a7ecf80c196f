package redis_test

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

// watchedServers are a master, a replica in sync, and the Sentinel that watches both.
type watchedServers struct{ master, replica, sentinel *redistest.Server }

func watch(t *testing.T) watchedServers {
	t.Helper()
	master := redistest.Start(t)
	w := watchedServers{master: master, replica: redistest.StartReplica(t, master)}
	inSync(t, master, w.replica)
	w.sentinel = redistest.StartSentinel(t, "main", master)
	asked := w.ask(t)
	require.Eventually(t, func() bool { // without a replica it has nothing to promote
		found, err := asked.Master(t.Context(), "main").Result()
		return err == nil && found["num-slaves"] == "1"
	}, patience, tick)
	return w
}

// ask connects to the Sentinel.
func (w watchedServers) ask(t *testing.T) *goredis.SentinelClient {
	t.Helper()
	c := goredis.NewSentinelClient(&goredis.Options{Addr: w.sentinel.Addr()})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (w watchedServers) url(options string) string {
	return "redis://" + w.sentinel.Addr() + "/0?master_name=main" + options
}

// promoted waits until the Sentinel names the replica as master and it is one: the master was killed. A fail-over that
// finds no replica to promote, as a busy machine has kept the Sentinel from asking it, is tried again after 10 s.
func (w watchedServers) promoted(t *testing.T) {
	t.Helper()
	redistest.SetDownAfter(t, w.sentinel, "main", 5*time.Second)
	defer redistest.SetDownAfter(t, w.sentinel, "main", redistest.DownAfter)
	asked, replica := w.ask(t), client(t, w.replica.URL())
	promoted := assert.Eventually(t, func() bool {
		found, err := asked.GetMasterAddrByName(t.Context(), "main").Result()
		if err != nil || net.JoinHostPort(found[0], found[1]) != w.replica.Addr() {
			return false
		}
		info, err := replica.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "role:master")
	}, 30*time.Second+patience, tick)
	if !promoted {
		t.Fatalf("the Sentinel says %v\n%v\n%v", client(t, w.sentinel.URL()).Do(t.Context(), "INFO", "sentinel"),
			asked.Master(t.Context(), "main"), asked.Replicas(t.Context(), "main"))
	}
}

// inSync waits until the replica has acknowledged everything of the master.
func inSync(t *testing.T, master, replica *redistest.Server) {
	t.Helper()
	c := client(t, master.URL())
	_, port, err := net.SplitHostPort(replica.Addr())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		replication, err := c.Info(t.Context(), "replication").Result()
		_, state, found := strings.Cut(replication, ",port="+port+",state=online,offset=")
		offset, _, _ := strings.Cut(state, ",")
		_, has, _ := strings.Cut(replication, "\r\nmaster_repl_offset:")
		has, _, _ = strings.Cut(has, "\r\n")
		return err == nil && found && offset == has
	}, patience, tick)
}

// The master dies and a replica is promoted. It has every flush that was acknowledged with wait_replicas, and
// the store continues with it.
func TestAfterAFailoverTheStoreIsWithTheNewMaster(t *testing.T) {
	t.Parallel()
	w := watch(t)
	o := own(t, open(t, w.url("&wait_replicas=1&read_timeout=2s")))
	for range 20 {
		o.save(o.next())
	}
	w.master.Kill()
	// No replica is left to wait for.
	batch := o.next()
	unsettled := func() error { return o.store.Flush(t.Context(), batch) }
	require.Error(t, unsettled())
	w.promoted(t)
	third := redistest.StartReplica(t, w.replica)
	inSync(t, w.replica, third)

	require.Eventually(t, func() bool { return unsettled() == nil }, patience, tick)
	o.n++
	o.save(o.next())
	o.saved()
	require.Equal(t, dump(t, client(t, w.replica.URL()), o.keys("*")), dump(t, client(t, third.URL()), o.keys("*")))
}

// Without wait_replicas the promoted replica lacks the last acknowledged flush.
func TestAReplicaPromotedWithOlderDataIsARollback(t *testing.T) {
	t.Parallel()
	w := watch(t)
	o := own(t, open(t, w.url("&read_timeout=2s")))
	o.save(o.next())
	old := client(t, w.master.URL())
	require.Eventually(t, func() bool { return old.Do(t.Context(), "WAIT", 1, 100).Val() == int64(1) }, patience, tick)

	// The replica loses the master, which has no password for it.
	require.NoError(t, client(t, w.replica.URL()).ConfigSet(t.Context(), "masterauth", "unknown").Err())
	require.NoError(t, old.Do(t.Context(), "CLIENT", "KILL", "TYPE", "replica").Err())
	o.save(o.next())
	w.master.Kill()
	w.promoted(t)
	batch := o.next()
	var err error
	require.Eventually(t, func() bool {
		err = o.store.Flush(t.Context(), batch)
		return !errors.Is(err, store.ErrRefused)
	}, patience, tick)
	require.ErrorIs(t, err, store.ErrRolledBack)

	batch.Refill = true
	o.save(batch)
	o.save(o.next())
	r, err := o.store.Load(t.Context(), o.rangeEpoch())
	require.NoError(t, err)
	require.Equal(t, o.n, r.Lanes[0].Log.Seq)
}

// One Sentinel that answers is enough: others may be down or hang, and delay nothing.
// What a node knows of leases and owners is of before a fail-over, until it has renewed its lease.
func TestAfterAFailoverNothingIsClaimedByWhatWasKnownBefore(t *testing.T) {
	t.Parallel()
	w := watch(t)
	n := nodesOf(t, open(t, w.url("&read_timeout=1s")))
	lease, free := store.Lease{Node: newNode("a")}, []store.Ownership{{Range: uuid.New()}}
	before, err := n.Renew(t.Context(), lease, time.Minute)
	require.NoError(t, err)
	require.False(t, before.ServerIsNew, "no server had the leases before it")
	by := store.Claimant{Node: lease.Node, Now: opening, Server: before.Server}
	inSync(t, w.master, w.replica)

	w.master.Kill()
	w.promoted(t)
	require.Eventually(t, func() bool {
		claimed := n.Claim(t.Context(), by, free)[0]
		require.Error(t, claimed.Err)
		return errors.Is(claimed.Err, store.ErrAnotherServer)
	}, patience, tick)
	var after store.Leases
	require.Eventually(t, func() bool {
		after, err = n.Renew(t.Context(), lease, time.Minute)
		return err == nil
	}, patience, tick)
	require.NotEqual(t, before.Server, after.Server)
	require.True(t, after.ServerIsNew)

	by.Server = after.Server
	require.NoError(t, n.Claim(t.Context(), by, free)[0].Err)
	time.Sleep(time.Second + 2*time.Millisecond)
	long, err := n.Renew(t.Context(), lease, time.Second)
	require.NoError(t, err)
	require.False(t, long.ServerIsNew, "it has had the leases for a whole TTL")
}

func TestOneSentinelThatAnswersIsEnough(t *testing.T) {
	t.Parallel()
	w := watch(t)
	down, hanging := redistest.StartSentinel(t, "main", w.master), redistest.StartSentinel(t, "main", w.master)
	down.Stop()
	hanging.Hang()
	url := "redis://" + hanging.Addr() + "?master_name=main&addr=" + down.Addr() + "&addr=" + w.sentinel.Addr()
	o := own(t, open(t, url))
	require.NoError(t, o.flush(t.Context()))
	o.saved()

	// With no Sentinel left, the store uses the last known address.
	w.sentinel.Stop()
	require.NoError(t, client(t, w.master.URL()).Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err())
	require.NoError(t, o.flush(t.Context()))
	o.saved()
}

// A Sentinel that has named the master hangs later: the next connection is made by what another one answers.
func TestASentinelThatHangsLater(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	admin := client(t, master.URL())
	asked := []*redistest.Server{
		redistest.StartSentinel(t, "main", master), redistest.StartSentinel(t, "main", master),
	}
	o := own(t, open(t, "redis://"+asked[0].Addr()+"?master_name=main&addr="+asked[1].Addr()))
	for _, sentinel := range asked { // one of them has answered first
		sentinel.Hang()
		require.NoError(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err())
		require.NoError(t, o.flush(t.Context()))
		require.NoError(t, load(o))
		sentinel.Wake()
	}
	o.saved()
}

func TestSentinelsThatDoNotKnowTheMaster(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	sentinel := redistest.StartSentinel(t, "main", server)
	_, err := redis.Open(t.Context(), "redis://u:secret@"+sentinel.Addr()+"?master_name=other&sentinel_password=hidden",
		retention)
	require.ErrorContains(t, err, sentinel.Addr())
	require.NotContains(t, err.Error(), "secret")
	require.NotContains(t, err.Error(), "hidden")

	_, err = redis.Open(t.Context(), "redis://u:secret@"+sentinel.Addr()+"?master_name=other", retention)
	require.ErrorContains(t, err, "the Sentinel "+sentinel.Addr()+" knows no master other")
	_, err = redis.Open(t.Context(), "redis://"+server.Addr()+"?master_name=main", retention)
	require.ErrorContains(t, err, "the Sentinel "+server.Addr())
}

// The Sentinel and the master have different users.
func TestUsersOfTheSentinelAndOfTheMaster(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	sentinel := redistest.StartSentinel(t, "main", server)
	for _, s := range []*redistest.Server{server, sentinel} {
		name := "gateway"
		if s == sentinel {
			name = "asker"
		}
		require.NoError(t, client(t, s.URL()).Do(t.Context(), "ACL", "SETUSER", name, "on", ">pass-"+name, "~*",
			"+@all").Err())
	}
	require.NoError(t, client(t, sentinel.URL()).Do(t.Context(), "ACL", "SETUSER", "default", "off").Err())
	url := "redis://gateway:pass-gateway@" + sentinel.Addr() + "?master_name=main"
	_, err := redis.Open(t.Context(), url, retention)
	require.ErrorContains(t, err, "NOAUTH")
	o := own(t, open(t, url+"&sentinel_username=asker&sentinel_password=pass-asker"))
	require.NoError(t, o.flush(t.Context()))
	o.saved()
}

// The Sentinel still names a master that has become a replica. Its data may be old: it is not read.
func TestAMasterThatIsAReplicaIsNotRead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	sentinel := redistest.StartSentinel(t, "main", server)
	o := own(t, open(t, "redis://"+sentinel.Addr()+"?master_name=main"))
	require.NoError(t, o.flush(t.Context()))
	admin := client(t, server.URL())
	require.NoError(t, admin.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
	require.NoError(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err())
	require.ErrorContains(t, load(o), "is a replica, of 127.0.0.1:1")
	require.ErrorIs(t, o.flush(t.Context()), store.ErrRefused)

	require.NoError(t, admin.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	require.Eventually(t, func() bool { return o.flush(t.Context()) == nil }, patience, tick)
	o.saved()
}

// planned fails over while the old master lives on: the Sentinel makes it a replica some seconds after it has named
// the new one. It calls meanwhile until the Sentinel names that one.
func (w watchedServers) planned(t *testing.T, meanwhile func()) {
	t.Helper()
	inSync(t, w.master, w.replica)
	asked := w.ask(t)
	require.NoError(t, asked.Failover(t.Context(), "main").Err())
	require.Eventually(t, func() bool {
		found, err := asked.GetMasterAddrByName(t.Context(), "main").Result()
		if err == nil && net.JoinHostPort(found[0], found[1]) == w.replica.Addr() {
			return true
		}
		meanwhile()
		return false
	}, 30*time.Second, tick)
}

// A failover while the old master lives on, with connections to it that work. A node that lives renews its lease at
// the new master and saves there. If not, the others would take its ranges over a TTL later, without what the old
// master has acknowledged.
func TestAfterAPlannedFailoverANodeIsWithTheNewMasterAtOnce(t *testing.T) {
	t.Parallel()
	w := watch(t)
	o := own(t, open(t, w.url("&read_timeout=1s")))
	n, lease := nodesOf(t, o.store), store.Lease{Node: newNode("a")}
	renew := func() store.Leases {
		leases, err := n.Renew(t.Context(), lease, time.Minute)
		require.NoError(t, err)
		return leases
	}
	before := renew()
	o.save(o.next())
	w.planned(t, func() { renew() })

	require.NotEqual(t, before.Server, renew().Server)
	require.NoError(t, o.flush(t.Context()))
	require.Equal(t, "2", client(t, w.replica.URL()).HGet(t.Context(), o.keys("meta"), "n").Val())
}

// A node that stood still during the failover, and has not renewed its lease since, does not save at the old master.
func TestANodeThatStoodStillAsksForTheMasterBeforeItSaves(t *testing.T) {
	t.Parallel()
	w := watch(t)
	o := own(t, open(t, w.url("&read_timeout=1s")))
	n, ttl := nodesOf(t, o.store), time.Second
	_, err := n.Renew(t.Context(), store.Lease{Node: newNode("a")}, ttl)
	require.NoError(t, err)
	o.save(o.next())
	w.planned(t, func() {})
	time.Sleep(ttl)

	require.NoError(t, o.flush(t.Context()))
	require.Equal(t, "2", client(t, w.replica.URL()).HGet(t.Context(), o.keys("meta"), "n").Val())
}

// A Sentinel that has not heard of a failover names the old master on. The others outvote it.
func TestTheMasterIsWhatMostSentinelsName(t *testing.T) {
	t.Parallel()
	former, master := redistest.Start(t), redistest.Start(t)
	url := "redis://" + redistest.StartSentinel(t, "main", former).Addr() + "?master_name=main"
	for range 2 {
		url += "&addr=" + redistest.StartSentinel(t, "main", master).Addr()
	}
	for range 10 {
		own(t, open(t, url))
	}
	require.Empty(t, client(t, former.URL()).Keys(t.Context(), "*").Val())
}

// So it is with TLS, where the client does not see of itself that a connection is to be used no more.
func TestNoConnectionWithTLSToAFormerMasterIsUsed(t *testing.T) {
	t.Parallel()
	certificate := httptest.NewTLSServer(nil)
	defer certificate.Close()
	encrypted := func(server string) string {
		listener, err := tls.Listen("tcp", "127.0.0.1:0", certificate.TLS)
		require.NoError(t, err)
		return startProxyOn(t, listener, server).listener.Addr().String()
	}
	var named atomic.Value // the master's address
	named.Store(encrypted(redistest.Start(t).Addr()))
	sentinel, err := server.NewServer("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(sentinel.Close)
	require.NoError(t, sentinel.Register("SENTINEL", func(c *server.Peer, _ string, _ []string) {
		host, port, _ := net.SplitHostPort(named.Load().(string))
		c.WriteStrings([]string{host, port})
	}))
	n := nodesOf(t, open(t, "rediss://"+encrypted(sentinel.Addr().String())+"?master_name=main&skip_verify=true"))
	lease := store.Lease{Node: newNode("a")}
	before, err := n.Renew(t.Context(), lease, time.Minute)
	require.NoError(t, err)
	again, err := n.Renew(t.Context(), lease, time.Minute)
	require.NoError(t, err)
	require.True(t, again.Continued)

	named.Store(encrypted(redistest.Start(t).Addr()))
	after, err := n.Renew(t.Context(), lease, time.Minute)
	require.NoError(t, err)
	require.NotEqual(t, before.Server, after.Server)
}
