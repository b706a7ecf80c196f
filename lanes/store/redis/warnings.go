package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Warnings names each setting of the server that weakens the promise of the gateway: what it acknowledged survives. It is
// empty when there is none.
func (s *Store) Warnings(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	warnings, err := eachServer(ctx, s, s.checkSettings)
	if err != nil && !errors.Is(err, errClosed) {
		warnings = append(warnings, unchecked(s.address, err))
	}
	return warnings
}

func unchecked(address string, err error) string {
	return fmt.Sprintf("redis server %s: whether it keeps what it acknowledges could not be checked: %v", address, err)
}

var checkedSettings = []string{
	"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "save", "maxmemory-policy", "min-replicas-to-write",
}

// checkSettings checks one server: its settings, and the rewrite of its append-only file.
func (s *Store) checkSettings(ctx context.Context, address string, server goredis.UniversalClient) []string {
	var warnings []string
	warn := func(text string, values ...any) {
		warnings = append(warnings, fmt.Sprintf("redis server %s: ", address)+fmt.Sprintf(text, values...))
	}
	if err := s.rewriteProblem(ctx, server); err != nil {
		warn("its append-only file could not be rewritten: %v. If the server died while it wrote, run "+
			"redis-check-aof --fix or BGREWRITEAOF before its next start", err)
	}

	settings := map[string]string{}
	for _, name := range checkedSettings {
		found, err := server.ConfigGet(ctx, name).Result()
		if err != nil {
			return append(warnings, unchecked(address, err))
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
	// No key of the store expires, so a volatile-* policy evicts none of them.
	if policy := settings["maxmemory-policy"]; strings.HasPrefix(policy, "allkeys-") {
		warn("maxmemory-policy is %s, not noeviction: a full server drops what it has acknowledged", policy)
	}
	if required, err := strconv.Atoi(settings["min-replicas-to-write"]); err == nil && required < s.replicas {
		warn("min-replicas-to-write is %d, less than wait_replicas, %d: while replicas are away it writes what cannot be "+
			"acknowledged, instead of refusing it", required, s.replicas)
	}
	return warnings
}

// rewriteProblem returns why the server could not rewrite its append-only file, or nil.
func (s *Store) rewriteProblem(ctx context.Context, server goredis.Cmdable) error {
	id, err := runID(ctx, server)
	if err != nil {
		return nil // reading the settings fails with the same error
	}
	if problem := s.runs.problem(id); problem != nil {
		return problem
	}
	info, err := server.Info(ctx, "persistence").Result()
	if err == nil && infoField(info, "aof_enabled") == "1" && infoField(info, "aof_last_bgrewrite_status") == "err" {
		return errRewriteFailed
	}
	return nil
}

// eachServer runs check on the server, or on every master of a cluster, and collects the texts that it returns.
func eachServer(
	ctx context.Context, s *Store, check func(ctx context.Context, address string, server goredis.UniversalClient) []string,
) ([]string, error) {
	return call(ctx, s, func(ctx context.Context) ([]string, error) {
		cluster, isCluster := s.reads.(*goredis.ClusterClient)
		if !isCluster {
			return check(ctx, s.address, s.reads), nil
		}
		var mu sync.Mutex
		var texts []string
		err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
			found := check(ctx, node.Options().Addr, node)
			mu.Lock()
			defer mu.Unlock()
			texts = append(texts, found...)
			return nil
		})
		return texts, err
	})
}

// Survey is the condition of a server, as far as it can be read without writing to it.
type Survey struct {
	Version   string        // of the server
	RoundTrip time.Duration // of one PING
	Warnings  []string      // as of Store.Warnings, and about missing replicas
}

// Survey checks the server, or every master of a cluster. Version and RoundTrip are then those of one node.
func (r *Reader) Survey(ctx context.Context) (Survey, error) {
	begun := time.Now()
	if err := r.client.Ping(ctx).Err(); err != nil {
		return Survey{}, r.readError(err)
	}
	survey := Survey{RoundTrip: time.Since(begun)}
	info, err := r.client.Info(ctx, "server").Result()
	if err != nil {
		return Survey{}, r.readError(err)
	}
	survey.Version = infoField(info, "redis_version")

	s := &Store{address: r.address, replicas: r.replicas, runs: newServerRuns(), reads: r.client}
	survey.Warnings = s.Warnings(ctx)
	missing, err := eachServer(ctx, s, s.checkReplicas)
	if err != nil {
		return Survey{}, r.readError(err)
	}
	survey.Warnings = append(survey.Warnings, missing...)
	return survey, nil
}

// checkReplicas warns when a server has fewer replicas than wait_replicas.
func (s *Store) checkReplicas(ctx context.Context, address string, server goredis.UniversalClient) []string {
	if s.replicas == 0 {
		return nil
	}
	info, err := server.Info(ctx, "replication").Result()
	if err != nil {
		return []string{unchecked(address, err)}
	}
	if have, err := strconv.Atoi(infoField(info, "connected_slaves")); err == nil && have < s.replicas {
		return []string{fmt.Sprintf("redis server %s: it has %d of the %d replicas that wait_replicas waits for: nothing "+
			"could be sold", address, have, s.replicas)}
	}
	return nil
}
