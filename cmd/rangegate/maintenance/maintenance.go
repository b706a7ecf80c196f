// Package maintenance backs a store up and verifies it, beside the gateway that serves from it or within: the commands
// of rangegate and the operations address share it.
//
//	maintenance.go how a store is opened and checked
//	verify.go      the sessions of the record are computed again
package maintenance

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"rangegate/config"
	"rangegate/lanes/store/archive"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/sqlite"
)

// ErrRedis means that a store is backed up by other means.
var ErrRedis = errors.New("the store is a Redis server: back it up with the means of Redis, or use " +
	"rangegate store export")

// Open opens the configured store for reading. It is not for the process that has a SQLite file open, which has
// sqlite.Store.Beside.
func Open(ctx context.Context, c config.Store) (Record, error) {
	if c.Redis == "" {
		return sqlite.OpenBeside(c.SQLite)
	}
	return redis.OpenReader(ctx, c.Redis.Reveal())
}

// Check reads every record of these ranges, and reports what each range has. Its error counts the records that cannot
// be read or contradict others, or says why the store could not be read to the end.
func Check(
	ctx context.Context, from archive.Source, ids []uuid.UUID,
	report func(rangeID uuid.UUID, contents archive.Contents, faults []error),
) error {
	bad := 0
	for _, id := range ids {
		contents, faults, err := archive.Check(ctx, from, id)
		if err != nil {
			return fmt.Errorf("range %s: %w", id, err)
		}
		report(id, contents, faults)
		bad += len(faults)
	}
	if bad > 0 {
		return fmt.Errorf("records that cannot be read, or do not go together: %d", bad)
	}
	return nil
}
