package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	rewriteTimeout = 30 * time.Second // for the append-only file of a server to be written anew
	rewritePoll    = 10 * time.Millisecond
)

// rewrite has a server write its append-only file anew before anything is added to it.
//
// A server that died while it wrote cuts the end of the file when it starts again (aof-load-truncated). Redis 7.0 cuts
// it in the wrong place when that was inside a flush: half of the flush stays, held up by its missing end, and comes
// into force with the end of the next one when the file is read again. So a stop that never happened would free a lane
// later. A file written anew holds what is in force and nothing else.
func rewrite(ctx context.Context, from goredis.Cmdable) error {
	found, err := from.ConfigGet(ctx, "appendonly").Result()
	if err != nil || found["appendonly"] != "yes" {
		return nil // Warnings says what follows from either
	}
	ctx, cancel := context.WithTimeout(ctx, rewriteTimeout)
	defer cancel()
	if err := from.BgRewriteAOF(ctx).Err(); err != nil && !strings.Contains(err.Error(), "already in progress") {
		return err
	}
	poll := time.NewTicker(rewritePoll)
	defer poll.Stop()
	for {
		info, err := from.Info(ctx, "persistence").Result()
		switch {
		case err != nil:
			return err
		case strings.Contains(info, "aof_rewrite_in_progress:1"), strings.Contains(info, "aof_rewrite_scheduled:1"):
		case strings.Contains(info, "aof_last_bgrewrite_status:ok"):
			return nil
		default:
			return errors.New("the server failed to write it")
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// rewriteAll has every server of the store rewrite its file. Where that fails, Warnings says so.
func (s *Store) rewriteAll(ctx context.Context) {
	all, err := eachServer(ctx, s, func(ctx context.Context, where string, from goredis.Cmdable) []string {
		if err := rewrite(ctx, from); err != nil {
			return []string{fmt.Sprintf("redis server %s: its append-only file could not be written anew: %v. If the "+
				"server died while it wrote, run redis-check-aof --fix or BGREWRITEAOF before its next start", where, err)}
		}
		return nil
	})
	if err == nil {
		s.notRewritten = all
	}
}

// eachServer asks the server, or every master of a cluster, and collects what is to be said of them.
func eachServer(
	ctx context.Context, s *Store, ask func(ctx context.Context, where string, from goredis.Cmdable) []string,
) ([]string, error) {
	return call(ctx, s, func(ctx context.Context) ([]string, error) {
		cluster, is := s.reads.(*goredis.ClusterClient)
		if !is {
			return ask(ctx, s.where, s.reads), nil
		}
		var mu sync.Mutex
		var all []string
		err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
			found := ask(ctx, node.Options().Addr, node)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, found...)
			return nil
		})
		return all, err
	})
}
