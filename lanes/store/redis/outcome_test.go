package redis_test

import (
	"context"
	"errors"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
)

// A server that refuses a flush has written nothing of it, and the same flush can be repeated.
func TestARefusedFlushLeavesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	do := func(command ...any) func() {
		return func() { require.NoError(t, admin.Do(context.Background(), command...).Err()) }
	}
	do("ACL", "SETUSER", "gateway", "on", ">secret", "~rangegate:*", "+@all", "-@admin")()
	url := "redis://gateway:secret@" + server.Addr() + "/0"

	for name, outage := range map[string]struct{ begins, ends func() }{
		"out of memory": {do("CONFIG", "SET", "maxmemory", "1"), do("CONFIG", "SET", "maxmemory", "0")},
		"a replica":     {do("REPLICAOF", "127.0.0.1", "1"), do("REPLICAOF", "NO", "ONE")},
		"too few replicas": {
			do("CONFIG", "SET", "min-replicas-to-write", "1"),
			do("CONFIG", "SET", "min-replicas-to-write", "0"),
		},
		"no right to scripts": {
			do("ACL", "SETUSER", "gateway", "-evalsha"),
			do("ACL", "SETUSER", "gateway", "+evalsha"),
		},
		"no right to hset": {do("ACL", "SETUSER", "gateway", "-hset"), do("ACL", "SETUSER", "gateway", "+hset")},
		"no right to zadd": {do("ACL", "SETUSER", "gateway", "-zadd"), do("ACL", "SETUSER", "gateway", "+zadd")},
		"no right to zrem": {do("ACL", "SETUSER", "gateway", "-zrem"), do("ACL", "SETUSER", "gateway", "+zrem")},
		"no right to keys": {
			do("ACL", "SETUSER", "gateway", "resetkeys", "~rangegate:*:lanes"),
			do("ACL", "SETUSER", "gateway", "~rangegate:*"),
		},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share the server
			o := own(t, open(t, url))
			require.NoError(t, o.flush(t.Context()))
			before := dump(t, admin, o.keys("*"))

			outage.begins()
			err := o.flush(t.Context())
			after := dump(t, admin, o.keys("*"))
			outage.ends()
			require.ErrorIs(t, err, store.ErrRefused)
			require.NotContains(t, err.Error(), "secret")
			require.Equal(t, before, after)

			require.Eventually(t, func() bool { return o.flush(t.Context()) == nil }, patience, tick)
			o.saved()
		})
	}
}

// The server ends the connections of a deleted user, and refuses new ones before a command is sent.
func TestAUserThatIsGoneIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	user := []any{"ACL", "SETUSER", "gateway", "on", ">secret", "~rangegate:*", "+@all"}
	require.NoError(t, admin.Do(t.Context(), user...).Err())
	o := own(t, open(t, "redis://gateway:secret@"+server.Addr()))

	require.NoError(t, admin.Do(t.Context(), "ACL", "DELUSER", "gateway").Err())
	batch := o.next()
	require.Eventually(t, func() bool { // the first one may meet a connection that is about to end
		return errors.Is(o.store.Flush(t.Context(), batch), store.ErrRefused)
	}, patience, tick)
	require.NoError(t, admin.Do(t.Context(), user...).Err())
	require.Eventually(t, func() bool { return o.store.Flush(t.Context(), batch) == nil }, patience, tick)
	o.n++
	o.saved()
}

// Error replies that a real server does not give easily.
func TestErrorRepliesAreRefusals(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	o := own(t, open(t, "redis://"+server.Addr()))
	for _, reply := range []string{
		"LOADING Redis is loading the dataset in memory",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
		"NOAUTH Authentication required.",
		"CLUSTERDOWN The cluster is down",
		"MOVED 3999 127.0.0.1:6381",
		"ERR max number of clients reached",
	} {
		server.SetError(reply)
		require.ErrorIs(t, o.flush(t.Context()), store.ErrRefused, reply)
		server.SetError("")
		require.NoError(t, o.flush(t.Context()))
	}
	o.saved()
}

func TestAServerThatIsDownRefuses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	require.NoError(t, o.flush(t.Context()))

	server.Stop()
	for range 10 {
		err := o.flush(t.Context())
		require.ErrorIs(t, err, store.ErrRefused)
		require.ErrorContains(t, err, server.Addr())
	}

	server.Restart()
	require.Eventually(t, func() bool { return o.flush(t.Context()) == nil }, patience, tick)
	o.saved()
}

// After an unexpected failure inside the script the outcome is unknown.
func TestAnUnforeseenFailureInTheScriptIsUnknown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "gateway", "on", ">x", "~*", "+@all").Err())
	o := own(t, open(t, "redis://gateway:x@"+server.Addr()))
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "gateway", "-zrange").Err())
	unknown(t, o.flush(t.Context()))
}

// The reply to a flush that was written is lost. The client does not repeat the flush by itself; a repeat succeeds, and
// the store has it once.
func TestALostReplyIsUnknownAndTheRepeatResolvesIt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := startProxy(t, server.Addr())
	o := own(t, open(t, proxy.url()))
	require.NoError(t, o.flush(t.Context()))

	proxy.set(mute)
	batch := o.next()
	unknown(t, o.store.Flush(t.Context(), batch))
	require.NoError(t, o.store.Flush(t.Context(), batch))
	o.n++
	o.saved()
}

// A server that hangs may still write what it received, even after the client has disconnected.
func TestAServerThatHangsIsUnknownWithinTheBound(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()+"?read_timeout=1s"))
	o.save(o.next())

	server.Hang()
	batch := o.next()
	unknown(t, o.store.Flush(t.Context(), batch))
	server.Wake()
	o.save(batch)
	o.saved()

	o.save(o.next())
	// the first sending arrives at last: it is committed already
	o.known(func() error { return o.store.Flush(t.Context(), batch) })
	o.saved()
}

func TestAFlushWhoseContextEndsBeforeItIsSentIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := startProxy(t, server.Addr())
	o := own(t, open(t, proxy.url()))
	require.NoError(t, o.flush(t.Context()))

	ended, end := context.WithCancel(t.Context())
	end()
	err := o.flush(ended)
	require.ErrorIs(t, err, store.ErrRefused)
	require.ErrorIs(t, err, context.Canceled)

	// One flush is sent and hangs: it stays unknown. The next one is never sent.
	proxy.set(hold)
	sent, endSent := context.WithCancel(t.Context())
	ctx, endWaiting := context.WithCancel(t.Context())
	waiting := watched{ctx, make(chan struct{}, 2)}
	first, second := make(chan error, 1), make(chan error, 1)
	batch := o.next()
	go func() { first <- o.store.Flush(sent, batch) }()
	<-proxy.arrived
	later := o.next()
	later.N++
	later.Events[0].Cursor++
	go func() { second <- o.store.Flush(waiting, later) }()
	<-waiting.asked // to get into the queue
	<-waiting.asked // and, from within the queue, for an answer
	endWaiting()
	err = <-second
	require.ErrorIs(t, err, store.ErrRefused)
	require.ErrorIs(t, err, context.Canceled)
	endSent()
	unknown(t, <-first)

	proxy.set(forward)
	require.NoError(t, o.store.Flush(t.Context(), batch))
	o.n++
	o.saved()
}

// watched is a context that reports each call of Done.
type watched struct {
	context.Context
	asked chan struct{}
}

func (w watched) Done() <-chan struct{} {
	w.asked <- struct{}{}
	return w.Context.Done()
}

// unknown requires an error after which the outcome is unknown.
func unknown(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.False(t, isDefinite(err), "%v", err)
}

// isDefinite reports whether it is known of what failed that it was not written.
func isDefinite(err error) bool {
	return errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrRolledBack)
}
