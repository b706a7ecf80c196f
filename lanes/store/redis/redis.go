// Package redis keeps ranges in a Redis server, in a Redis Cluster, or in the master that Redis Sentinels name.
//
// Everything of a range lies under one hash tag (keys.go). Whatever reads or writes a range is one script on the server
// (*.lua), so that it sees the range at one instant, and a flush is written whole or not at all. Flushes of many ranges
// travel together (flusher.go). What an error says about a flush is decided in outcome.go.
//
// Durable means what the server is told it means: Warnings says when that is less than the gateway promises. With
// wait_replicas a flush is acknowledged only once so many replicas have it; until then its outcome is unknown, and
// flushing it again asks them again. So what was acknowledged is on the replica that Sentinels promote, which is the one
// with the most data. A replica that is promoted with less, without wait_replicas, shows as store.ErrRolledBack.
//
// The server is Redis 7 or later, or one that does the same. Its user needs the keys ~rangegate:* and the commands ping,
// select, eval, evalsha, type, hget, hmget, hgetall, hset, hdel, hincrby, zadd, zrem, zcard, zrange, zrangebylex, del,
// and config|get, info and bgrewriteaof for what is checked and mended whenever a server is met for the first time
// (warnings.go, meeting.go, rewrite.go); in a cluster cluster|slots and command as well, and wait for wait_replicas. To
// check a store or to carry its ranges (reader.go, restore.go) takes scan and rename as well.
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

// Connections to the server, or to each node of a cluster. Flushes have connections of their own, one for each flusher:
// no flush waits for a reader.
const (
	readers  = 8
	flushers = 2
)

var errClosed = errors.New("the store is closed")

// Store is a store.Store in a Redis server.
type Store struct {
	where     string // the server, for people: never with a password
	retention store.Retention
	replicas  int // that a flush waits for

	behindSentinels bool
	met             *meetings
	open            atomic.Bool // what is connected to from now on is greeted

	reads    goredis.UniversalClient
	flushes  goredis.UniversalClient
	flushers []*flusher

	mu       sync.RWMutex
	closed   bool
	underWay sync.WaitGroup // calls that were let in by begin
}

var _ store.Store = (*Store)(nil)

// Open connects to the server: redis:// or, with TLS, rediss://, then user:password@host:port/database. A server that
// does not answer within seconds is an error. The options behind ? are
//
//	addr                                     host:port of another node of a cluster, or of another Sentinel
//	master_name                              the addresses are Sentinels, which know the master by this name
//	sentinel_username, sentinel_password     the user there; the one in front of @ is that of the master
//	wait_replicas                            how many replicas must have a flush, or a claim, before it is acknowledged
//	dial_timeout, read_timeout,
//	write_timeout, pool_timeout              bounds of their own: 500ms, or a number of seconds
//	client_name, skip_verify                 the connections' name, and no check of the TLS certificate
//
// Sentinels: redis://user:password@one:26379/0?master_name=main&addr=two:26379&addr=three:26379
func Open(ctx context.Context, url string, r store.Retention) (*Store, error) {
	server, err := parse(url)
	if err != nil {
		return nil, err
	}
	s := &Store{
		where: server.where, retention: r, replicas: server.replicas,
		behindSentinels: server.master != "", met: newMeetings(),
	}
	s.reads = server.client(readers, loadTimeout, s.greet)
	s.flushes = server.client(flushers, flushTimeout, s.greet)
	for range flushers {
		s.flushers = append(s.flushers, startFlusher(s.flushes, quorum{server.replicas, server.waitBound()}))
	}
	checking, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	_, err = call(checking, s, func(ctx context.Context) (string, error) { return s.reads.Ping(ctx).Result() })
	if err == nil && s.replicas > 0 {
		err = s.mayWait(checking)
	}
	if err != nil {
		_ = s.reads.Close() // breaks off what Close would wait for
		_ = s.Close()
		return nil, fmt.Errorf("redis server %s: %w", s.where, err)
	}
	s.meetAll(ctx)
	return s, nil
}

// Close waits for what is under way and releases the connections.
func (s *Store) Close() error {
	s.mu.Lock()
	before := s.closed
	s.closed = true
	s.mu.Unlock()
	if before {
		return nil
	}
	s.underWay.Wait()
	for _, f := range s.flushers {
		f.stop()
	}
	err := errors.Join(s.reads.Close(), s.flushes.Close())
	s.met.close()
	return err
}

// begin lets a call in, which ends by s.underWay.Done, unless the store is closed.
func (s *Store) begin() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return errClosed
	}
	s.underWay.Add(1)
	return nil
}

// call does what asks the server, and ends with the context even where the client would go on waiting for a reply
// that does not come.
func call[T any](ctx context.Context, s *Store, ask func(context.Context) (T, error)) (T, error) {
	var none T
	if err := s.begin(); err != nil {
		return none, err
	}
	type reply struct {
		answer T
		err    error
	}
	replied := make(chan reply, 1)
	go func() {
		defer s.underWay.Done()
		answer, err := ask(ctx)
		replied <- reply{answer, err}
	}()
	select {
	case r := <-replied:
		return r.answer, r.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}
