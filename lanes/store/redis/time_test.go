package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
)

// The server runs on this machine, so its clock is this one's. After a restart it is another clock by name.
func TestTheClockOfTheServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.URL())
	before := time.Now()
	now, name, err := s.Time(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, name)
	require.WithinRange(t, now, before.Add(-time.Millisecond), time.Now())
	_, again, err := s.Time(t.Context())
	require.NoError(t, err)
	require.Equal(t, name, again)

	server.Hang()
	limited, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err = s.Time(limited)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	server.Wake()
	server.Restart()
	require.Eventually(t, func() bool {
		_, again, err = s.Time(t.Context())
		return err == nil
	}, patience, 50*time.Millisecond)
	require.NotEqual(t, name, again)
}
