package redis_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/powercut"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/storetest"
)

// The power is cut at some instant of several lives of a server that syncs each write (appendfsync always), and its
// disk has what was synced and, of what was appended behind it, the first bytes. The next server starts by itself,
// and a gateway finds everything that was acknowledged, once and whole.
func TestNoPowerCutLosesWhatRedisAcknowledged(t *testing.T) {
	t.Parallel()
	rounds := 1
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil {
		rounds = n
	}
	record := func() *powercut.Recording { return recordLives(t) }
	powercut.Try(t, record, powercut.FirstBytes, 60*rounds, func(folder string, c *powercut.Cut) {
		startAfterCut(t, folder, c)
	})
}

const (
	livesOfServer  = 4
	flushesOfLife  = 6
	flushedOnRedis = "flushed %d: %d batches in epoch %d" // the number of the range
)

var cutRanges = []uuid.UUID{
	uuid.MustParse("11111111-1111-4111-8111-000000000001"), uuid.MustParse("11111111-1111-4111-8111-000000000002"),
}

// recordLives records a server under two ranges, which has its file rewritten at the begin of each life. It is
// killed at the end of each but one.
func recordLives(t *testing.T) *powercut.Recording {
	folder := powercut.Folder(t)
	r, err := powercut.New(folder)
	require.NoError(t, err)
	var server *redistest.Server
	for life := range livesOfServer {
		if server == nil {
			server = redistest.StartBy(t, r.Start, "--dir", folder)
		} else {
			server.Restart()
		}
		s, err := redis.Open(t.Context(), server.URL(), retention)
		require.NoError(t, err)
		ended := make(chan error)
		for number := range cutRanges {
			go func() { ended <- flushRecorded(t.Context(), r, s, number) }()
		}
		for range cutRanges {
			require.NoError(t, <-ended)
		}
		require.NoError(t, s.Close())
		admin := client(t, server.URL())
		require.Eventually(t, func() bool {
			return info(t, admin, "persistence", "aof_rewrite_in_progress") == "0" &&
				info(t, admin, "persistence", "aof_rewrite_scheduled") == "0" &&
				info(t, admin, "persistence", "aof_pending_bio_fsync") == "0"
		}, patience, tick)
		if life == 1 {
			server.Stop()
		} else {
			server.Kill()
		}
		require.NoError(t, r.Complete())
	}
	return r
}

func flushRecorded(ctx context.Context, r *powercut.Recording, s *redis.Store, number int) error {
	id := cutRanges[number]
	epoch, err := s.Claim(ctx, id, opening)
	if err != nil {
		return err
	}
	loaded, err := s.Load(ctx, store.InAnyEpoch(id))
	if err != nil {
		return err
	}
	r.Note(fmt.Sprintf(flushedOnRedis, number, loaded.LastEnded, epoch))
	for n := uint64(1); n <= flushesOfLife; n++ {
		b := storetest.BatchOf(id, epoch, loaded.LastEnded+n)
		b.N = n
		if err := s.Flush(ctx, b); err != nil {
			return err
		}
		r.Note(fmt.Sprintf(flushedOnRedis, number, loaded.LastEnded+n, epoch))
	}
	return nil
}

// startAfterCut starts the server and a store anew, reads everything, and goes on with one of the ranges.
func startAfterCut(t *testing.T, folder string, c *powercut.Cut) {
	batches, epochs := make([]uint64, len(cutRanges)), make([]uint64, len(cutRanges))
	for _, note := range c.Notes {
		var number int
		var count, epoch uint64
		_, err := fmt.Sscanf(note, flushedOnRedis, &number, &count, &epoch)
		require.NoError(t, err)
		batches[number], epochs[number] = count, epoch
	}
	server := redistest.Start(t, "--dir", folder)
	s, err := redis.Open(t.Context(), server.URL(), retention)
	require.NoError(t, err)
	for i, id := range cutRanges {
		count := storetest.RequireBatches(t, s, id, batches[i])
		epoch, err := s.Claim(t.Context(), id, opening)
		require.NoError(t, err)
		require.Greater(t, epoch, epochs[i])
		if i == c.Number%len(cutRanges) {
			b := storetest.BatchOf(id, epoch, count+1)
			b.N = 1
			require.NoError(t, s.Flush(t.Context(), b))
			storetest.RequireBatches(t, s, id, count+1)
		}
	}
	require.NoError(t, s.Close())
	server.Kill()
}
