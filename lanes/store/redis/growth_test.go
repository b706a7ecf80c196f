package redis_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/storetest"
)

// Whatever a range has lived, it is eleven keys, and the server's memory stays.
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
