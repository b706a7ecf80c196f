package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
)

// Reader reads what a server has as a whole, and never writes to it. A gateway may serve the ranges meanwhile.
type Reader struct {
	where    string
	replicas int // that a flush of the URL's waits for
	client   goredis.UniversalClient
}

// OpenReader connects to the server. The URL is as for Open.
func OpenReader(ctx context.Context, url string) (*Reader, error) {
	server, err := parse(url)
	if err != nil {
		return nil, err
	}
	r := &Reader{where: server.where, replicas: server.replicas, client: server.client(1, loadTimeout, nil)}
	checking, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := r.client.Ping(checking).Err(); err != nil {
		_ = r.client.Close()
		return nil, r.failed(err)
	}
	return r, nil
}

func (r *Reader) failed(err error) error { return fmt.Errorf("redis server %s: %w", r.where, err) }

// Close releases the connections.
func (r *Reader) Close() error { return r.client.Close() }

// Describe names the server.
func (r *Reader) Describe() string { return "redis server " + r.where }

// Ranges are all that the server has something of.
func (r *Reader) Ranges(ctx context.Context) ([]uuid.UUID, error) {
	ids, err := rangesOn(ctx, r.client)
	if err != nil {
		return nil, r.failed(err)
	}
	return ids, nil
}

// Ranges are all that the server has something of.
func (s *Store) Ranges(ctx context.Context) ([]uuid.UUID, error) {
	ids, err := call(ctx, s, func(ctx context.Context) ([]uuid.UUID, error) { return rangesOn(ctx, s.reads) })
	if err != nil {
		return nil, fmt.Errorf("redis server %s: %w", s.where, err)
	}
	return ids, nil
}

func rangesOn(ctx context.Context, client goredis.UniversalClient) ([]uuid.UUID, error) {
	const begin = "rangegate:{"
	var mu sync.Mutex
	found := map[uuid.UUID]bool{}
	scan := func(ctx context.Context, node goredis.Cmdable) error {
		keys := node.Scan(ctx, 0, begin+"*", 1000).Iterator()
		for keys.Next(ctx) {
			text, _, _ := strings.Cut(strings.TrimPrefix(keys.Val(), begin), "}")
			if id, err := uuid.Parse(text); err == nil {
				mu.Lock()
				found[id] = true
				mu.Unlock()
			}
		}
		return keys.Err()
	}
	var err error
	if cluster, is := client.(*goredis.ClusterClient); is {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error { return scan(ctx, node) })
	} else {
		err = scan(ctx, client)
	}
	ids := make([]uuid.UUID, 0, len(found))
	for id := range found {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	return ids, err
}

// Read tells of every record of the range: how it stands first of all, then the checkpoint, the lanes by their ids, the
// keys by their names, the holds, the event log, the history and what staff did by their cursors. It goes on behind a
// record that cannot be read, and ends with the error of visit. ErrChanging: a gateway has written to the range meanwhile.
func (r *Reader) Read(ctx context.Context, rangeID uuid.UUID, visit func(store.Record) error) error {
	return (&reading{Reader: r, ctx: ctx, keys: keysOf(rangeID), visit: visit}).all()
}
