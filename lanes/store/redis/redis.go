// Package redis stores ranges in a Redis server, in a Redis Cluster, or in the master that Redis Sentinels
// name.
//
// All keys of a range share one hash tag (load.go). Every read and every write of a range is one script on
// the server (*.lua): it sees the range at one instant, and a flush is written completely or not at all. Load
// alone reads the idempotency keys in several pages: nobody else writes to a range that this process has
// claimed. Flushes of several ranges share a pipeline (flush.go).
//
// A flush is as durable as the settings of the server make it: Warnings lists settings that weaken the
// promise of the gateway. With wait_replicas a flush is acknowledged once that many replicas have it; before,
// its outcome is unknown, and a repeat asks the replicas again. Sentinels promote the replica with the most
// data, so nothing that was acknowledged is lost. Without wait_replicas a promoted replica may have less:
// store.ErrRolledBack.
//
// The server is Redis 7.0 or newer, or a compatible one such as Valkey. Its user needs the keys ~rangegate:*
// and the commands ping, select, eval, evalsha, type, hget, hmget, hgetall, hscan, hset, hdel, hincrby, zadd,
// zrem, zcard, zrange, zrangebylex, del, time, config|get, info and bgrewriteaof; in a cluster also
// cluster|slots and command, with wait_replicas also wait. Several nodes (nodes.go) also need publish and
// subscribe, and the channels &rangegate:*. Checking, exporting and importing (reader.go) also need scan and
// rename, forgetting a range (forget.go) scan and unlink.
package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
)

// Connections to the server, or to each node of a cluster. Each flusher has one of its own: no flush waits
// for a read.
const (
	readConnections = 8
	flusherCount    = 2
)

var errClosed = errors.New("the store is closed")

// Store is a store.Store in a Redis server.
type Store struct {
	server    server
	address   string // for error messages: without the password
	retention store.Retention
	replicas  int // that must have a flush before it is acknowledged

	viaSentinels bool
	runs         sync.Map      // run_id, new at each start of a server → chan struct{}, closed when it is prepared
	problems     sync.Map      // run_id → error: why its append-only file was not rewritten
	changed      chan struct{} // of one
	opened       atomic.Bool   // new connections are prepared (prepareConnection)

	reads    goredis.UniversalClient
	flushes  goredis.UniversalClient
	flushers []*flusher

	mu     sync.RWMutex
	closed bool
	calls  sync.WaitGroup // that begin has admitted
}

var _ store.Store = (*Store)(nil)

// Open connects to the server: redis:// or, with TLS, rediss://, then user:password@host:port/database. It
// fails within seconds when a server does not answer, or is older than Redis 7.0. The options behind ? are
//
//	addr                                     host:port of another node of a cluster, or of another Sentinel
//	master_name                              the addresses are Sentinels, which know the master by this name
//	sentinel_username, sentinel_password     the user of the Sentinels; the one in front of @ is that of the master
//	wait_replicas                            how many replicas must have a flush, or a claim, before it is acknowledged
//	dial_timeout, read_timeout,
//	write_timeout, pool_timeout              timeouts: 500ms, or a number of seconds
//	client_name, skip_verify                 the name of the connections; no check of the TLS certificate
//
// Sentinels: redis://user:password@one:26379/0?master_name=main&addr=two:26379&addr=three:26379
func Open(ctx context.Context, url string, retention store.Retention) (*Store, error) {
	server, err := parse(url)
	if err != nil {
		return nil, err
	}
	s := &Store{
		server: server, address: server.address, retention: retention, replicas: server.replicas,
		viaSentinels: server.master != "", changed: make(chan struct{}, 1),
	}
	s.reads = server.client(readConnections, loadTimeout, s.prepareConnection)
	s.flushes = server.client(flusherCount, flushTimeout, s.prepareConnection)
	for range flusherCount {
		s.flushers = append(s.flushers, startFlusher(s.flushes, replicaWait{server.replicas, server.waitTimeout()}))
	}
	checking, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	_, err = call(checking, s, func(ctx context.Context) (string, error) { return s.reads.Ping(ctx).Result() })
	if err == nil {
		err = s.checkServers(checking)
	}
	if err != nil {
		_ = s.reads.Close() // ends the calls that Close would wait for
		_ = s.Close()
		return nil, s.serverError(err)
	}
	s.prepareServers(ctx)
	return s, nil
}

// checkServers returns why a server cannot be used: it is too old, or the user may not wait for replicas.
func (s *Store) checkServers(ctx context.Context) error {
	faults, err := eachServer(ctx, s, func(ctx context.Context, _ string, server goredis.UniversalClient) []string {
		if _, err := runID(ctx, server); err != nil {
			return []string{err.Error()}
		}
		if s.replicas == 0 {
			return nil
		}
		if err := server.Do(ctx, "WAIT", 0, 1).Err(); err != nil {
			return []string{"replicas cannot be waited for: " + err.Error()}
		}
		return nil
	})
	if err == nil && len(faults) > 0 {
		err = errors.New(faults[0])
	}
	return err
}

func (s *Store) serverError(err error) error {
	return fmt.Errorf("redis server %s: %w", s.address, err)
}

// Close waits for calls that have begun, and releases the connections.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.calls.Wait()
	for _, f := range s.flushers {
		f.stop()
	}
	err := errors.Join(s.reads.Close(), s.flushes.Close())
	close(s.changed)
	return err
}

// begin admits a call, which ends with s.calls.Done, unless the store is closed.
func (s *Store) begin() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return errClosed
	}
	s.calls.Add(1)
	return nil
}

// call runs an exchange with the server. It returns when ctx ends, although the client may wait longer for a
// reply.
func call[T any](ctx context.Context, s *Store, exchange func(context.Context) (T, error)) (T, error) {
	var none T
	if err := s.begin(); err != nil {
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	results := make(chan result, 1)
	go func() {
		defer s.calls.Done()
		value, err := exchange(ctx)
		results <- result{value, err}
	}()
	select {
	case r := <-results:
		return r.value, r.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}
