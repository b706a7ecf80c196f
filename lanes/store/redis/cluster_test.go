package redis_test

import (
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
)

func TestRangesSpreadOverACluster(t *testing.T) {
	t.Parallel()
	one, two := redistest.Start(t, "--cluster-enabled", "yes"), redistest.Start(t, "--cluster-enabled", "yes")
	first, second := client(t, one.URL()), client(t, two.URL())
	require.NoError(t, first.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", "0", "8191").Err())
	require.NoError(t, second.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", "8192", "16383").Err())
	host, port, _ := strings.Cut(two.Addr(), ":")
	require.NoError(t, first.ClusterMeet(t.Context(), host, port).Err())
	for _, node := range []*goredis.Client{first, second} {
		require.Eventually(t, func() bool {
			info, err := node.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:2")
		}, patience, tick)
	}

	s := open(t, strings.TrimSuffix(one.URL(), "/0")+"?addr="+two.Addr())
	for range 12 {
		o := own(t, s)
		require.NoError(t, o.flush(t.Context()))
		require.NoError(t, o.flush(t.Context()))
		o.saved()
	}
	for _, node := range []*goredis.Client{first, second} {
		keys, err := node.DBSize(t.Context()).Result()
		require.NoError(t, err)
		require.Positive(t, keys)
	}
	require.Empty(t, s.Warnings(t.Context()))
}
