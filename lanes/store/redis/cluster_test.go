package redis_test

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
)

// nodes are the masters of a cluster.
type nodes []node

type node struct {
	*redistest.Server
	admin *goredis.Client
}

// The commands that the package documents are enough in a cluster.
func TestAUserOfFewRightsInACluster(t *testing.T) {
	t.Parallel()
	masters := startCluster(t, 2)
	for _, n := range masters {
		user := []any{"ACL", "SETUSER", "gateway", "on", ">secret", "resetkeys", "~rangegate:*", "-@all"}
		for _, command := range strings.Fields(rights + " wait cluster|slots command") {
			user = append(user, "+"+command)
		}
		require.NoError(t, n.admin.Do(t.Context(), user...).Err())
	}
	url := strings.Replace(masters.url(""), "redis://", "redis://gateway:secret@", 1)
	s := open(t, url)
	for range 4 {
		o := own(t, s)
		require.NoError(t, o.flush(t.Context()))
		o.saved()
	}
	require.Empty(t, s.Warnings(t.Context()))
	_, err := open(t, url+"&wait_replicas=1&read_timeout=2s").Claim(t.Context(), uuid.New(), opening)
	require.ErrorContains(t, err, "0 of the 1 replicas")
}

// startCluster starts that many masters, each with its share of the slots.
func startCluster(t *testing.T, count int) nodes {
	t.Helper()
	const slots = 16384
	var masters nodes
	for i := range count {
		server := redistest.Start(t, "--cluster-enabled", "yes")
		n := node{server, client(t, server.URL())}
		first, last := i*slots/count, (i+1)*slots/count-1
		require.NoError(t, n.admin.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", first, last).Err())
		masters = append(masters, n)
	}
	for _, n := range masters[1:] {
		masters.meet(t, n.Server)
	}
	masters.settled(t, count)
	return masters
}

func (n nodes) meet(t *testing.T, other *redistest.Server) {
	t.Helper()
	host, port, err := net.SplitHostPort(other.Addr())
	require.NoError(t, err)
	require.NoError(t, n[0].admin.ClusterMeet(t.Context(), host, port).Err())
}

// settled waits until every master knows that many nodes.
func (n nodes) settled(t *testing.T, count int) {
	t.Helper()
	for _, each := range n {
		require.Eventually(t, func() bool {
			info, err := each.admin.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(count))
		}, patience, tick)
	}
}

// replicate makes the server a replica of a master.
func (n nodes) replicate(t *testing.T, replica *redistest.Server, master node) {
	t.Helper()
	n.meet(t, replica)
	id, err := master.admin.ClusterMyID(t.Context()).Result()
	require.NoError(t, err)
	c := client(t, replica.URL())
	require.Eventually(t, func() bool { return c.ClusterReplicate(t.Context(), id).Err() == nil }, patience, tick)
	inSync(t, master.Server, replica)
}

func (n nodes) url(options string) string {
	return "redis://" + n[0].Addr() + "?addr=" + n[1].Addr() + options
}

// has reports whether the node has the range.
func (n node) has(t *testing.T, o *owner) bool {
	t.Helper()
	found, err := n.admin.Keys(t.Context(), o.keys("*")).Result()
	require.NoError(t, err)
	return len(found) > 0
}

func TestRangesSpreadOverACluster(t *testing.T) {
	t.Parallel()
	masters := startCluster(t, 2)
	s := open(t, masters.url(""))
	var owned []uuid.UUID
	for range 12 {
		o := own(t, s)
		require.NoError(t, o.flush(t.Context()))
		require.NoError(t, o.flush(t.Context()))
		o.saved()
		restored := o.next()
		restored.Range = uuid.New()
		require.NoError(t, s.Restore(t.Context(), restored))
		owned = append(owned, o.rangeID, restored.Range)
	}
	ids, err := s.Ranges(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, owned, ids)
	for _, n := range masters {
		keys, err := n.admin.DBSize(t.Context()).Result()
		require.NoError(t, err)
		require.Positive(t, keys)
	}
	require.Empty(t, s.Warnings(t.Context()))
}
