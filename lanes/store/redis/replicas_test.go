package redis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
)

// A replica that hangs does not have the flush. No repeat is acknowledged either, not even on a connection that has
// written nothing.
func TestAFlushThatTooFewReplicasHaveIsUnknown(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	inSync(t, master, replica)
	admin := client(t, master.URL())
	o := own(t, open(t, master.URL()+"?wait_replicas=1&read_timeout=2s"))
	o.save(o.next())

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

	// Refused, fenced and rolled back are certain, whatever the replica has.
	require.ErrorIs(t, o.store.Flush(t.Context(), batch), store.ErrFenced)
	replica.Wake()
	o.known(func() (err error) {
		o.epoch, err = o.store.Claim(t.Context(), o.rangeID, opening)
		return err
	})
	skipped := o.next()
	require.ErrorIs(t, o.store.Flush(t.Context(), skipped), store.ErrRolledBack)
}

// After a repeat is acknowledged the replica has what the first attempt wrote, although the master has died since.
func TestARepeatThatIsAcknowledgedIsOnTheReplica(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	inSync(t, master, replica)
	admin := client(t, master.URL())
	o := own(t, open(t, master.URL()+"?wait_replicas=1&read_timeout=2s"))
	o.save(o.next())
	for range 2 {
		replica.Hang()
		batch := o.next()
		unknown(t, o.store.Flush(t.Context(), batch))
		require.NoError(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err())
		replica.Wake()
		o.save(batch)
	}
	acknowledged := dump(t, admin, o.keys("*"))
	master.Kill()
	require.Equal(t, acknowledged, dump(t, client(t, replica.URL()), o.keys("*")))
}

// WAIT covers only writes of its own connection: a repeat writes the stored n, so that it waits for the replicas.
func TestARepeatThatWaitsForReplicasWrites(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	inSync(t, master, replica)
	admin := client(t, master.URL())
	changes := func() string { return info(t, admin, "persistence", "rdb_changes_since_last_save") }
	for options, writes := range map[string]bool{"": false, "?wait_replicas=1": true} {
		o := own(t, open(t, master.URL()+options))
		batch := o.next()
		o.save(batch)
		before, keys := changes(), dump(t, admin, o.keys("*"))
		o.save(batch)
		require.Equal(t, keys, dump(t, admin, o.keys("*")), "it changes nothing")
		require.Equal(t, writes, changes() != before, options)
	}
}

// Each node of a cluster has replicas of its own: flushes to a node whose replica hangs are not acknowledged,
// others are.
func TestReplicasInACluster(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 2)
	hanging, well := redistest.Start(t, "--cluster-enabled", "yes"), redistest.Start(t, "--cluster-enabled", "yes")
	nodes.replicate(t, hanging, nodes[0])
	nodes.replicate(t, well, nodes[1])
	s := open(t, nodes.url("&wait_replicas=1&read_timeout=2s"))
	byNode := map[bool]*owner{}
	for byNode[true] == nil || byNode[false] == nil {
		o := own(t, s)
		byNode[nodes[0].has(t, o)] = o
	}

	hanging.Hang()
	batch := byNode[true].next()
	unknown(t, s.Flush(t.Context(), batch))
	byNode[false].save(byNode[false].next())
	hanging.Wake()
	byNode[true].save(batch)
	byNode[true].saved()
	byNode[false].saved()
}
