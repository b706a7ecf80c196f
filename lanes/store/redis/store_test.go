package redis_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStoreOnARealServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	storetest.Run(t, func(t *testing.T) storetest.Bench {
		b := bench{address: server.Addr(), admin: client(t, server.URL())}
		b.Wipe(t)
		return b
	})
}

func TestStoreOnMiniredis(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Bench {
		address := miniredis.RunT(t).Addr()
		return bench{address: address, admin: client(t, "redis://"+address)}
	})
}

// bench is a server, and a connection that damages its data.
type bench struct {
	address string
	admin   *goredis.Client
}

func (b bench) Open(t *testing.T, r store.Retention) store.Store {
	// Miniredis is slow with scripts, and slower on a busy machine.
	s, err := redis.Open(t.Context(), "redis://"+b.address+"?read_timeout=30s", r)
	require.NoError(t, err)
	return s
}

func (b bench) Where() string { return b.address }

func (b bench) Overwrite(t *testing.T, record storetest.Record, data []byte) {
	key, field := "", record.Name
	begin := "rangegate:{" + record.Range.String() + "}:"
	switch record.Kind {
	case storetest.Checkpoint:
		key, field = "meta", "checkpoint"
	case storetest.Lane:
		key = "lanes"
	case storetest.Event:
		key = "events"
	case storetest.Ended:
		key = "history"
	case storetest.Key:
		key = "answers"
	case storetest.Holds:
		key = "meta"
	case storetest.Act: // it is in its place
		places, err := b.admin.ZRange(t.Context(), begin+"acts", 0, -1).Result()
		require.NoError(t, err)
		i := slices.IndexFunc(places, func(place string) bool {
			return strings.HasPrefix(strings.TrimLeft(place, "0"), record.Name+":")
		})
		place := strings.SplitN(places[i], ":", 3)
		require.NoError(t, b.admin.ZRem(t.Context(), begin+"acts", places[i]).Err())
		place[2] = string(data)
		require.NoError(t, b.admin.ZAdd(t.Context(), begin+"acts", goredis.Z{Member: strings.Join(place, ":")}).Err())
		return
	}
	added, err := b.admin.HSet(t.Context(), begin+key, field, data).Result()
	require.NoError(t, err)
	require.Zero(t, added, "there was such a record")
}

func (b bench) Copy(t *testing.T) func() {
	values := dump(t, b.admin, "*")
	return func() {
		b.Wipe(t)
		restore(t, b.admin, values)
	}
}

func (b bench) Wipe(t *testing.T) { require.NoError(t, b.admin.FlushAll(t.Context()).Err()) }

// A range without external ids uses eleven keys, however old it is, and its memory stays bounded.
func TestAMonthStaysUnderTheRetention(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	storetest.Growth(t, bench{address: server.Addr(), admin: admin}, func() int64 {
		used, err := strconv.ParseInt(info(t, admin, "memory", "used_memory_dataset"), 10, 64)
		require.NoError(t, err)
		return used
	})
	keys, err := admin.DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.LessOrEqual(t, keys, int64(11))
}
