package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// quorum is how many replicas must have a write before it is acknowledged, and how long they may take.
//
// WAIT asks for what was written on its own connection. A repeat is often on another one than the write that it repeats,
// and would write nothing, so that WAIT had nothing to wait for: the scripts write the n that is there once more.
// Whatever a replica has, it has all before it.
type quorum struct {
	replicas int // 0: none, and nothing is asked
	within   time.Duration
}

// ask puts the question behind what is in the pipeline: once for all of it, on the same connection.
func (q quorum) ask(ctx context.Context, pipe goredis.Pipeliner) *goredis.Cmd {
	if q.replicas == 0 {
		return nil
	}
	return pipe.Do(ctx, "WAIT", q.replicas, q.within.Milliseconds())
}

// mayWait tells what keeps the store from waiting for replicas at all.
func (s *Store) mayWait(ctx context.Context) error {
	refused, err := eachServer(ctx, s, func(ctx context.Context, _ string, from goredis.UniversalClient) []string {
		if err := from.Do(ctx, "WAIT", 0, 1).Err(); err != nil {
			return []string{err.Error()}
		}
		return nil
	})
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("replicas cannot be waited for: %s", refused[0])
	}
	return err
}

// missing is the error of what was written and is not on enough replicas. It does not wrap the server's: to the writes
// in front of the question that would be a refusal.
func (q quorum) missing(asked *goredis.Cmd) error {
	if asked == nil {
		return nil
	}
	have, err := asked.Int()
	switch {
	case err != nil:
		return fmt.Errorf("whether replicas have it is not known: %v", err)
	case have < q.replicas:
		return fmt.Errorf("%d of the %d replicas that it waits for have it", have, q.replicas)
	}
	return nil
}
