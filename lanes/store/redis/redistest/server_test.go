package redistest_test

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
)

func connect(t *testing.T, s *redistest.Server) *goredis.Client {
	client := goredis.NewClient(&goredis.Options{Addr: s.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestAcknowledgedWritesSurviveStopKillAndRestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	require.NoError(t, connect(t, server).Set(t.Context(), "stopped", "kept", 0).Err())
	server.Stop()
	require.Error(t, connect(t, server).Ping(t.Context()).Err(), "the server is down")

	server.Restart()
	require.NoError(t, connect(t, server).Set(t.Context(), "killed", "kept", 0).Err())
	server.Kill()
	server.Restart()
	found, err := connect(t, server).MGet(t.Context(), "stopped", "killed").Result()
	require.NoError(t, err)
	require.Equal(t, []any{"kept", "kept"}, found)

	server.Restart() // of one that runs
	require.NoError(t, connect(t, server).Ping(t.Context()).Err())
}

func TestAServerThatHangsAnswersWhenItWakes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := connect(t, server)
	require.NoError(t, client.Ping(t.Context()).Err())

	server.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- client.Ping(t.Context()).Err() }()
	select {
	case err := <-answered:
		t.Fatalf("a server that hangs has answered: %v", err)
	case <-ctx.Done():
	}
	server.Wake()
	require.NoError(t, <-answered)
}

func TestSeveralServersAndOptions(t *testing.T) {
	t.Parallel()
	one, two := redistest.Start(t), redistest.Start(t, "--maxmemory", "64mb")
	require.NotEqual(t, one.URL(), two.URL())
	settings, err := connect(t, two).ConfigGet(t.Context(), "maxmemory").Result()
	require.NoError(t, err)
	require.Equal(t, "67108864", settings["maxmemory"])
}
