package redis

import (
	"context"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// timeScript reads the clock of the server and names its run. In a cluster all gateways ask the master that
// has timeKey.
var timeScript = goredis.NewScript(`local now = redis.call('TIME')
return {tonumber(now[1]), tonumber(now[2]), string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')}`)

const timeKey = "rangegate:time"

var errNoTime = errors.New("the server told no time")

// Time reads the wall clock of the server. name is its run_id: after a failover, and after a restart, it is
// another clock.
func (s *Store) Time(ctx context.Context) (now time.Time, name string, err error) {
	reply, err := call(ctx, s, func(ctx context.Context) ([]any, error) {
		return timeScript.Run(ctx, s.reads, []string{timeKey}).Slice()
	})
	if err != nil {
		return time.Time{}, "", s.serverError(err)
	}
	if len(reply) != 3 {
		return time.Time{}, "", s.serverError(errNoTime)
	}
	seconds, hasSeconds := reply[0].(int64)
	micros, hasMicros := reply[1].(int64)
	name, hasName := reply[2].(string)
	if !hasSeconds || !hasMicros || !hasName {
		return time.Time{}, "", s.serverError(errNoTime)
	}
	return time.Unix(seconds, micros*1000).UTC(), name, nil
}
