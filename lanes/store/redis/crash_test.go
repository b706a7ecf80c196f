package redis_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
)

func TestKillBetweenFlushesKeepsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	for range 5 {
		for range 10 {
			require.NoError(t, o.flush(t.Context()))
		}
		server.Kill()
		server.Restart()
		require.Eventually(t, func() bool { return o.flush(t.Context()) == nil }, patience, tick)
		o.saved()
	}
}

// Many ranges flush while the server is killed. Each flush is acknowledged, refused or unknown. After the others are
// repeated, the store has every flush once.
func TestKillAmongFlushes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL())
	owners := make([]*owner, 16)
	for i := range owners {
		owners[i] = own(t, s)
	}
	for range 3 {
		var working sync.WaitGroup
		enough := make(chan struct{}, 1000)
		unsettled := make([]store.Batch, len(owners))
		for i, o := range owners {
			working.Go(func() {
				for {
					unsettled[i] = o.next()
					if err := s.Flush(context.Background(), unsettled[i]); err != nil {
						return
					}
					o.n++
					select {
					case enough <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 300 {
			<-enough
		}
		server.Kill()
		working.Wait()
		server.Restart()
		for i, o := range owners {
			require.Eventually(t, func() bool { return s.Flush(t.Context(), unsettled[i]) == nil }, patience, tick)
			o.n++
			o.saved()
		}
	}
}

func TestAnEmptiedServerIsARollbackUntilItIsRefilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	require.NoError(t, o.flush(t.Context()))
	require.NoError(t, o.flush(t.Context()))

	require.NoError(t, client(t, server.URL()).FlushAll(t.Context()).Err())
	require.ErrorIs(t, o.flush(t.Context()), store.ErrRolledBack)

	refill := o.next()
	refill.Refill = true
	require.NoError(t, o.store.Flush(t.Context(), refill))
	o.n++
	require.NoError(t, o.flush(t.Context()))
	r, err := o.store.Load(t.Context(), o.rangeEpoch())
	require.NoError(t, err)
	require.Equal(t, uint64(4), r.LastEvent)
}

// A refill has every lane, and the bodies of the newest answers: it takes none from the store.
func TestARefillKeepsTheAnswersOfAnOldState(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	batch := o.next()
	batch.Keys = []lanes.KeptAnswer{{Name: "older", Body: "its body"}}
	require.NoError(t, o.store.Flush(t.Context(), batch))
	o.n = 5 // four more flushes, which the store has lost

	older := batch.Keys[0]
	batch = o.next()
	require.ErrorIs(t, o.store.Flush(t.Context(), batch), store.ErrRolledBack)
	batch.Refill = true
	batch.Keys = []lanes.KeptAnswer{{Name: "newer"}, older.Shed()}
	require.NoError(t, o.store.Flush(t.Context(), batch))
	r, err := o.store.Load(t.Context(), o.rangeEpoch())
	require.NoError(t, err)
	require.Len(t, r.Keys, 2)
	older, err = o.store.Answer(t.Context(), o.rangeEpoch(), "older")
	require.NoError(t, err)
	require.Equal(t, "its body", older.Body)
}

// A server forgets its scripts at a restart or on command. All flushes of a pipeline succeed nevertheless.
func TestAServerWithoutTheScriptReceivesIt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL())
	admin := client(t, server.URL())
	owners := make([]*owner, 32)
	for i := range owners {
		owners[i] = own(t, s)
	}
	for range 10 {
		require.NoError(t, admin.ScriptFlush(t.Context()).Err())
		var working sync.WaitGroup
		failures := make([]error, len(owners))
		for i, o := range owners {
			working.Go(func() { failures[i] = o.flush(t.Context()) })
		}
		working.Wait()
		require.NoError(t, errors.Join(failures...))
	}
	for _, o := range owners {
		o.saved()
	}
}

func TestCloseWaitsForCallsThatHaveBegun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, work := range map[string]func(*owner) error{
		"a flush": func(o *owner) error { return o.flush(context.Background()) },
		"a read": func(o *owner) error {
			_, err := o.store.Load(context.Background(), o.rangeEpoch())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := startProxy(t, server.Addr())
			o := own(t, open(t, proxy.url()+"?read_timeout=1m"))
			proxy.set(hold)
			done, closed := make(chan error, 1), make(chan error, 1)
			go func() { done <- work(o) }()
			<-proxy.arrived
			go func() { closed <- o.store.Close() }()
			ended, end := context.WithCancel(t.Context())
			end()
			require.Eventually(t, func() bool { // a store that is being closed admits no call
				return !errors.Is(o.store.Flush(ended, store.Batch{}), context.Canceled)
			}, patience, tick)
			select {
			case err := <-done:
				t.Fatalf("it was broken off: %v", err)
			case err := <-closed:
				t.Fatalf("closed while something was under way: %v", err)
			case <-time.After(5 * tick):
			}

			proxy.set(forward)
			require.NoError(t, <-done)
			require.NoError(t, <-closed)
			require.ErrorIs(t, o.flush(t.Context()), store.ErrRefused)
			_, err := o.store.Load(t.Context(), o.rangeEpoch())
			require.ErrorContains(t, err, "closed")
			require.NoError(t, o.store.Close())
		})
	}
}
