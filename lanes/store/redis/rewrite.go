package redis

import (
	"context"
	"errors"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

var (
	errNotWritten = errors.New("the server failed to write it")
	errUnfinished = errors.New("the server has not finished it in time")
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
	if isReply(err) || (err == nil && found["appendonly"] != "yes") {
		return nil // Warnings says what follows from either
	}
	if err != nil {
		return err
	}
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
			return errNotWritten
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return errUnfinished
		}
	}
}

// isReply tells whether the server answered so, and the connection is as good as it was.
func isReply(err error) bool {
	var reply goredis.Error
	return errors.As(err, &reply)
}
