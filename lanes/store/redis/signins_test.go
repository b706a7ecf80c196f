package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/storetest"
)

func TestSignInsOnARealServer(t *testing.T) {
	t.Parallel()
	runSignIns(t, redistest.Start(t).URL())
}

func TestSignInsOnMiniredis(t *testing.T) {
	t.Parallel()
	runSignIns(t, "redis://"+miniredis.RunT(t).Addr())
}

func runSignIns(t *testing.T, url string) {
	storetest.RunSignIns(t, func(t *testing.T) store.SignIns { return openStore(t, url).SignIns() })
	ids, err := openStore(t, url).Ranges(t.Context())
	require.NoError(t, err)
	require.Empty(t, ids, "they are no range")
}

func openStore(t *testing.T, url string) *redis.Store {
	s, err := redis.Open(t.Context(), url, store.Retention{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Of two gateways that start at the same time both sign with the same secret.
func TestTheFirstSecretCounts(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	secrets := make(chan [32]byte)
	for i := range 8 {
		s := openStore(t, "redis://"+server.Addr()).SignIns()
		go func() {
			secret, _, err := s.Load(context.Background(), [32]byte{byte(i + 1)})
			if err != nil {
				secret = [32]byte{}
			}
			secrets <- secret
		}()
	}
	first := <-secrets
	require.NotZero(t, first)
	for range 7 {
		require.Equal(t, first, <-secrets)
	}
}

func TestSignInsOfAServerThatHoldsSomethingElse(t *testing.T) {
	t.Parallel()
	const key, planted = "rangegate:{sign-ins}", "5ec2e75ec2e7"
	server := miniredis.RunT(t)
	s := openStore(t, "redis://"+server.Addr()).SignIns()
	server.HSet(key, "secret", planted)
	_, _, err := s.Load(t.Context(), [32]byte{1})
	var corrupt *store.CorruptError
	require.ErrorAs(t, err, &corrupt)
	require.NotContains(t, err.Error(), planted)

	require.NoError(t, s.NewSecret(t.Context()))
	for name, value := range map[string]string{"x": "1", strings.Repeat("ab", 32): "soon"} {
		server.HSet(key, name, value)
		_, _, err = s.Load(t.Context(), [32]byte{1})
		require.ErrorAs(t, err, &corrupt)
		server.HDel(key, name)
	}

	server.Del(key)
	require.NoError(t, server.Set(key, "text"))
	_, _, err = s.Load(t.Context(), [32]byte{1})
	require.Error(t, err)
	err = s.SignOut(t.Context(), map[[32]byte]time.Time{{1}: time.Now().Add(time.Hour)}, nil)
	require.ErrorAs(t, err, &corrupt)
}
