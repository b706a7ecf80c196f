package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// Warnings says in plain words which settings of the server take away from what the gateway promises: that whatever it
// acknowledged survives. It is empty when there is nothing to say.
func (s *Store) Warnings(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	warnings, err := eachServer(ctx, s, s.check)
	if err != nil && !errors.Is(err, errClosed) {
		warnings = append(warnings, unchecked(s.where, err))
	}
	return warnings
}

func unchecked(where string, err error) string {
	return fmt.Sprintf("redis server %s: whether it keeps what it acknowledges could not be checked: %v", where, err)
}

// checked are the settings that are looked at.
var checked = []string{
	"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "save", "maxmemory-policy", "min-replicas-to-write",
}

// check looks at the settings of one server, and at how its append-only file was written anew.
func (s *Store) check(ctx context.Context, where string, from goredis.UniversalClient) []string {
	var warnings []string
	warn := func(text string, values ...any) {
		warnings = append(warnings, fmt.Sprintf("redis server %s: ", where)+fmt.Sprintf(text, values...))
	}
	if err := s.rewriteProblem(ctx, from); err != nil {
		warn("its append-only file could not be written anew: %v. If the server died while it wrote, run "+
			"redis-check-aof --fix or BGREWRITEAOF before its next start", err)
	}

	settings := map[string]string{}
	for _, name := range checked {
		found, err := from.ConfigGet(ctx, name).Result()
		if err != nil {
			return append(warnings, unchecked(where, err))
		}
		settings[name] = found[name]
	}
	switch {
	case settings["appendonly"] != "yes" && settings["save"] != "":
		warn("appendonly is not yes: what was acknowledged since its last snapshot is lost when the server stops")
	case settings["appendonly"] != "yes":
		warn("appendonly is not yes: what was acknowledged is lost when the server stops")
	case settings["appendfsync"] != "always":
		warn("appendfsync is %s, not always: the last of what was acknowledged is lost when the server's machine fails",
			settings["appendfsync"])
	case settings["no-appendfsync-on-rewrite"] != "no":
		warn("no-appendfsync-on-rewrite is not no: what is acknowledged while the append-only file is rewritten is " +
			"lost when the server's machine fails")
	}
	// Nothing of ours has a time to live, so that volatile-* drops nothing of it.
	if policy := settings["maxmemory-policy"]; strings.HasPrefix(policy, "allkeys-") {
		warn("maxmemory-policy is %s, not noeviction: a full server drops what it has acknowledged", policy)
	}
	if least, err := strconv.Atoi(settings["min-replicas-to-write"]); err == nil && least < s.replicas {
		warn("min-replicas-to-write is %d, less than wait_replicas, %d: while replicas are away it writes what cannot be "+
			"acknowledged, instead of refusing it", least, s.replicas)
	}
	return warnings
}

// rewriteProblem is why the server could not write its append-only file anew, if it could not.
func (s *Store) rewriteProblem(ctx context.Context, from goredis.Cmdable) error {
	run, err := runOf(ctx, from)
	if err != nil {
		return nil // reading the settings says so
	}
	if problem := s.met.problemOf(run); problem != nil {
		return problem
	}
	info, err := from.Info(ctx, "persistence").Result()
	if err == nil && field(info, "aof_enabled") == "1" && field(info, "aof_last_bgrewrite_status") == "err" {
		return errNotWritten
	}
	return nil
}

// eachServer asks the server, or every master of a cluster, and collects what is to be said of them.
func eachServer(
	ctx context.Context, s *Store, ask func(ctx context.Context, where string, from goredis.UniversalClient) []string,
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
