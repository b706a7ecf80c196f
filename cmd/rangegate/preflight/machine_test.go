package preflight

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rangegate/config"
)

func TestClocks(t *testing.T) {
	for _, f := range clocks(t.Context()) {
		require.NotEqual(t, Fail, f.Result, f.Found)
	}
	require.Equal(t, Fail, checkWallClock(time.Unix(0, 0)).Result)
	require.Equal(t, Fail, checkWallClock(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)).Result)
	require.Equal(t, OK, checkWallClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).Result)
}

func TestAnUnsynchronisedClock(t *testing.T) {
	const unsynchronised = 0x40
	for _, c := range []struct {
		status int
		state  unix.Timex
		err    error
		result Result
		found  string
	}{
		{unix.TIME_OK, unix.Timex{Maxerror: 12_345}, nil, OK, "synchronised to within 12ms"},
		{unix.TIME_ERROR, unix.Timex{Status: unsynchronised}, nil, Warn, "it is not synchronised"},
		{unix.TIME_OK, unix.Timex{Status: unsynchronised}, nil, Warn, "it is not synchronised"},
		{unix.TIME_OK, unix.Timex{Maxerror: 16_000_000}, nil, Warn, "it is synchronised to within 16s only"},
		{-1, unix.Timex{}, unix.EPERM, Warn, "the kernel does not tell whether it is synchronised"},
		{-1, unix.Timex{}, unix.EFAULT, Warn, "whether it is synchronised is unknown: bad address"},
	} {
		f := checkNTP(c.status, c.state, c.err)
		require.Equal(t, c.result, f.Result, c.found)
		require.Equal(t, c.found, f.Found)
		require.Equal(t, c.result == OK, f.Do == "")
	}
}

func TestSettingsWithoutEffect(t *testing.T) {
	c := config.Config{
		Environment: config.InPlayground, HTTP: config.HTTP{BehindProxy: true},
		Ranges: []config.Range{{Purchasing: true, Lanes: make([]config.Lane, 2)}},
	}
	all := Settings{Config: c}.configuration(t.Context())
	require.Equal(t, "ok: playground: 1 range, 2 lanes\nwarn: ranges[0].purchasing has no effect\n"+
		"warn: http.behind_proxy without http.trusted_proxies: all clients count as one address, the "+
		"proxy's\n", text(all))
}
