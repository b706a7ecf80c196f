package redis_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
)

// An operator has Sentinel fail over: the master of before stays up, and connections to it live on. What is claimed and
// saved on the new master is read, although the connections of reads are with the one of before.
func TestAfterAFailoverNothingIsReadFromTheMasterOfBefore(t *testing.T) {
	t.Parallel()
	w := watch(t)
	type reader struct {
		owner
		read func(o *owner) (n uint64, err error)
	}
	readers := map[string]*reader{}
	for name, read := range map[string]func(o *owner) (uint64, error){
		"a range": func(o *owner) (uint64, error) {
			loaded, err := o.store.Load(t.Context(), o.rangeEpoch())
			return loaded.LastEvent, err
		},
		"an event": func(o *owner) (n uint64, err error) {
			page, err := o.store.Events(t.Context(), o.rangeEpoch(), 1, 10)
			for _, event := range page {
				n = event.Cursor
			}
			return n, err
		},
	} {
		r := &reader{owner: *own(t, open(t, w.url(""))), read: read}
		r.save(r.next())
		r.store = open(t, w.url("")) // its flushes have no connection yet
		_, err := r.store.Load(t.Context(), store.InAnyEpoch(r.rangeID))
		require.NoError(t, err)
		readers[name] = r
	}
	inSync(t, w.master, w.replica)
	asked := w.ask(t)
	require.NoError(t, asked.Failover(t.Context(), "main").Err())
	require.Eventually(t, func() bool {
		found, err := asked.GetMasterAddrByName(t.Context(), "main").Result()
		return err == nil && net.JoinHostPort(found[0], found[1]) == w.replica.Addr()
	}, patience, tick)

	for name, r := range readers {
		var err error
		r.epoch, err = r.store.Claim(t.Context(), r.rangeID, opening)
		require.NoError(t, err, name)
		batch := r.next()
		batch.N = 1
		require.NoError(t, r.store.Flush(t.Context(), batch), name)
		r.n = 1
		n, err := r.read(&r.owner)
		require.NoError(t, err, name)
		require.Equal(t, uint64(2), n, name)
		require.NoError(t, r.store.Confirm(t.Context(), r.rangeEpoch()), name)
	}
}

// Without Sentinels there is no other server to ask: the read fails, and so does the next one until the server has what
// it lacks.
func TestAServerThatLacksAFlushIsNotRead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	o.save(o.next())
	require.NoError(t, client(t, server.URL()).FlushAll(t.Context()).Err())
	for range 2 {
		require.ErrorIs(t, load(o), store.ErrRolledBack)
		require.ErrorIs(t, events(o), store.ErrRolledBack)
	}
	batch := o.next()
	batch.Refill = true
	o.save(batch)
	require.NoError(t, load(o))
	require.NoError(t, events(o))
}
