package main

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// serviceManager is at the other end of NOTIFY_SOCKET, and hears what it is told.
type serviceManager struct {
	t      *testing.T
	socket *net.UnixConn
}

// supervised has this process be a service whose watchdog has that patience.
func supervised(t *testing.T, patience string) serviceManager {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", patience)
	return serviceManager{t, socket}
}

// hears is the next thing that it is told; empty when it is told nothing for that long.
func (m serviceManager) hears(within time.Duration) string {
	require.NoError(m.t, m.socket.SetReadDeadline(time.Now().Add(within)))
	said := make([]byte, 1000)
	n, err := m.socket.Read(said)
	if err != nil {
		return ""
	}
	return string(said[:n])
}

const long = 30 * time.Second

func TestTheServiceManagerHearsOfAWholeLife(t *testing.T) {
	manager := supervised(t, "100000")
	l := begin(t, t.TempDir())
	require.Equal(t, "READY=1", manager.hears(long))
	for range 5 {
		require.Equal(t, "WATCHDOG=1", manager.hears(long))
	}
	ended := make(chan struct{})
	go func() {
		l.end()
		close(ended)
	}()
	said := manager.hears(long)
	for said == "WATCHDOG=1" {
		said = manager.hears(long)
	}
	require.Equal(t, "STOPPING=1", said)
	<-ended
}

// The actors do not answer any more, as in a deadlock: nothing is told, until they answer again.
func TestTheWatchdogIsToldNothingWhileActorsDoNotAnswer(t *testing.T) {
	manager := supervised(t, "40000")
	var stuck atomic.Bool
	asked := make(chan struct{}, 1000)
	defer startWatchdog(func(ctx context.Context) error {
		if !stuck.Load() {
			return nil
		}
		asked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, zerolog.Nop())()
	require.Equal(t, "WATCHDOG=1", manager.hears(long))
	stuck.Store(true)
	<-asked // whatever was told before is on its way
	for manager.hears(time.Millisecond) != "" {
	}
	for range 20 { // five times its patience
		<-asked
	}
	require.Empty(t, manager.hears(time.Millisecond))
	stuck.Store(false)
	require.Equal(t, "WATCHDOG=1", manager.hears(long))
}

func TestWithoutAWatchdogNobodyIsAsked(t *testing.T) {
	for _, patience := range []string{"", "0", "soon"} {
		manager := supervised(t, patience)
		startWatchdog(func(context.Context) error {
			require.Fail(t, "asked")
			return nil
		}, zerolog.Nop())()
		require.Empty(t, manager.hears(10*time.Millisecond))
	}
}
