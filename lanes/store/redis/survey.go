package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Survey is how a server is, as far as one can tell without writing to it.
type Survey struct {
	Version   string        // of the server
	RoundTrip time.Duration // of one question
	Warnings  []string      // as of Store.Warnings, and that there are too few replicas
}

// Survey asks the server, or every master of a cluster. Of a cluster, Version and RoundTrip are those of one node.
func (r *Reader) Survey(ctx context.Context) (Survey, error) {
	begun := time.Now()
	if err := r.client.Ping(ctx).Err(); err != nil {
		return Survey{}, r.failed(err)
	}
	found := Survey{RoundTrip: time.Since(begun)}
	info, err := r.client.Info(ctx, "server").Result()
	if err != nil {
		return Survey{}, r.failed(err)
	}
	found.Version = field(info, "redis_version")

	s := &Store{where: r.where, replicas: r.replicas, met: newMeetings(), reads: r.client}
	found.Warnings = s.Warnings(ctx)
	lacking, err := eachServer(ctx, s, s.lacking)
	if err != nil {
		return Survey{}, r.failed(err)
	}
	found.Warnings = append(found.Warnings, lacking...)
	return found, nil
}

// lacking says that a server has fewer replicas than are waited for.
func (s *Store) lacking(ctx context.Context, where string, from goredis.UniversalClient) []string {
	if s.replicas == 0 {
		return nil
	}
	info, err := from.Info(ctx, "replication").Result()
	if err != nil {
		return []string{unchecked(where, err)}
	}
	if have, err := strconv.Atoi(field(info, "connected_slaves")); err == nil && have < s.replicas {
		return []string{fmt.Sprintf("redis server %s: it has %d of the %d replicas that wait_replicas waits for: nothing "+
			"could be sold", where, have, s.replicas)}
	}
	return nil
}
