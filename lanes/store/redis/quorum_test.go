package redis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
)

// A replica that hangs has not got the flush, and neither the repeat nor one on a connection that has written nothing
// yet may say so.
func TestAFlushThatTooFewReplicasHaveIsUnknown(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	inSync(t, master, replica)
	admin := client(t, master.URL())
	o := own(t, open(t, master.URL()+"?wait_replicas=1&read_timeout=2s"))
	require.NoError(t, o.flush(t.Context()))

	replica.Hang()
	batch := o.next()
	for range 2 {
		err := o.store.Flush(t.Context(), batch)
		unknown(t, err)
		require.ErrorContains(t, err, "0 of the 1 replicas")
		require.NoError(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err())
	}
	_, err := o.store.Claim(t.Context(), o.rangeID, opening)
	require.ErrorContains(t, err, "0 of the 1 replicas")

	// What is refused, fenced or rolled back is that for certain, whatever the replica has.
	require.ErrorIs(t, o.store.Flush(t.Context(), batch), store.ErrFenced)
	replica.Wake()
	o.epoch, err = o.store.Claim(t.Context(), o.rangeID, opening)
	require.NoError(t, err)
	skipped := o.next()
	require.ErrorIs(t, o.store.Flush(t.Context(), skipped), store.ErrRolledBack)
}

// Once the repeat is acknowledged the replica has what the first try wrote, though the master is gone by then.
func TestARepeatThatIsAcknowledgedIsOnTheReplica(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	inSync(t, master, replica)
	admin := client(t, master.URL())
	o := own(t, open(t, master.URL()+"?wait_replicas=1&read_timeout=2s"))
	require.NoError(t, o.flush(t.Context()))
	for range 2 {
		replica.Hang()
		batch := o.next()
		unknown(t, o.store.Flush(t.Context(), batch))
		require.NoError(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err())
		replica.Wake()
		require.Eventually(t, func() bool { return o.store.Flush(t.Context(), batch) == nil }, patience, tick)
		o.n++
	}
	acknowledged := dump(t, admin, o.keys("*"))
	master.Kill()
	require.Equal(t, acknowledged, dump(t, client(t, replica.URL()), o.keys("*")))
}

// Servers remember for each connection what it wrote last, some only that: a repeat writes, or there would be nothing
// that replicas are waited for with.
func TestARepeatThatReplicasAreAskedForWrites(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	inSync(t, master, replica)
	admin := client(t, master.URL())
	changes := func() string { return info(t, admin, "persistence", "rdb_changes_since_last_save") }
	for options, writes := range map[string]bool{"": false, "?wait_replicas=1": true} {
		o := own(t, open(t, master.URL()+options))
		batch := o.next()
		require.NoError(t, o.store.Flush(t.Context(), batch))
		before, had := changes(), dump(t, admin, o.keys("*"))
		require.NoError(t, o.store.Flush(t.Context(), batch))
		require.Equal(t, had, dump(t, admin, o.keys("*")), "it changes nothing")
		require.Equal(t, writes, changes() != before, options)
	}
}

// Each node of a cluster has replicas of its own: the ranges of one whose replica hangs are not acknowledged, the others
// are.
func TestReplicasInACluster(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 2)
	hanging, well := redistest.Start(t, "--cluster-enabled", "yes"), redistest.Start(t, "--cluster-enabled", "yes")
	nodes.replicate(t, hanging, nodes[0])
	nodes.replicate(t, well, nodes[1])
	s := open(t, nodes.url("&wait_replicas=1&read_timeout=2s"))
	on := map[bool]*owner{}
	for on[true] == nil || on[false] == nil {
		o := own(t, s)
		on[nodes[0].has(t, o)] = o
	}

	hanging.Hang()
	batch := on[true].next()
	unknown(t, s.Flush(t.Context(), batch))
	require.NoError(t, on[false].flush(t.Context()))
	hanging.Wake()
	require.Eventually(t, func() bool { return s.Flush(t.Context(), batch) == nil }, patience, tick)
	on[true].n++
	on[true].saved()
	on[false].saved()
}
