package main

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/config"
)

// serviceManager receives the messages of NOTIFY_SOCKET.
type serviceManager struct {
	t      *testing.T
	socket *net.UnixConn
}

// startServiceManager makes this process a service with that watchdog timeout in microseconds.
func startServiceManager(t *testing.T, timeout string) serviceManager {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", timeout)
	return serviceManager{t, socket}
}

// next returns the next message, or "" when none arrives within the timeout.
func (m serviceManager) next(within time.Duration) string {
	require.NoError(m.t, m.socket.SetReadDeadline(time.Now().Add(within)))
	message := make([]byte, 1000)
	n, err := m.socket.Read(message)
	if err != nil {
		return ""
	}
	return string(message[:n])
}

const longTimeout = time.Minute

func TestTheServiceManagerGetsReadyPingsAndStopping(t *testing.T) {
	manager := startServiceManager(t, "100000")
	cfg := config.Playground(2, t.TempDir(), "127.0.0.1:0", "http://127.0.0.1:1")
	cfg.Operations.Address = "127.0.0.1:0"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	failed := make(chan error, 1)
	go func() { failed <- run(&terminal{ctx: ctx, out: io.Discard, log: io.Discard}, program{config: cfg}) }()
	require.Equal(t, "READY=1", manager.next(longTimeout))
	for range 5 {
		require.Equal(t, "WATCHDOG=1", manager.next(longTimeout))
	}
	stop()
	message := manager.next(longTimeout)
	for message == "WATCHDOG=1" {
		message = manager.next(longTimeout)
	}
	require.Equal(t, "STOPPING=1", message)
	require.NoError(t, <-failed)
}

// While the actors do not answer, as in a deadlock, the watchdog gets no ping.
func TestTheWatchdogGetsNoPingWhileActorsDoNotAnswer(t *testing.T) {
	manager := startServiceManager(t, "40000")
	var hanging atomic.Bool
	asked := make(chan struct{}, 1000)
	defer startWatchdog(func(ctx context.Context) error {
		if !hanging.Load() {
			return nil
		}
		asked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, zerolog.Nop())()
	require.Equal(t, "WATCHDOG=1", manager.next(longTimeout))
	hanging.Store(true)
	<-asked // earlier pings are on their way
	for manager.next(200*time.Millisecond) != "" {
	}
	for range 20 { // five timeouts
		<-asked
	}
	require.Empty(t, manager.next(time.Millisecond))
	hanging.Store(false)
	require.Equal(t, "WATCHDOG=1", manager.next(longTimeout))
}

func TestWithoutAWatchdogActorsAreNotAsked(t *testing.T) {
	for _, timeout := range []string{"", "0", "soon"} {
		manager := startServiceManager(t, timeout)
		startWatchdog(func(context.Context) error {
			require.Fail(t, "asked")
			return nil
		}, zerolog.Nop())()
		require.Empty(t, manager.next(10*time.Millisecond))
	}
}
