package api

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/control"
)

// A reload makes a new API with the limiters of the one before: what was used of a limit counts on under the new one.
func TestLimitersOutliveAReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiters, attempts := NewLimiters(), control.NewAttempts(prometheus.NewRegistry())
		reload := func(limits Limits) http.Handler {
			s := settings(&fakeRange{status: 200})
			s.Limits, s.Limiters, s.Screens.Attempts = limits, limiters, attempts
			return New(s)
		}
		signIn := func(h http.Handler) int {
			return sendBody(h, "POST", "/control/sign-in", `{"range_id":"`+someRange+`","name":"sam","pin":"0000"}`).
				Code
		}
		laneKeyOf := func(h http.Handler) int { return send(h, "GET", "/lane/"+theLane+"?key=wrong").Code }
		h := reload(Limits{PerSecond: 1, Burst: 2, FailuresPerMinute: 3})
		for range 3 {
			require.Equal(t, 401, sendFrom(h, "192.0.2.1:4711", "wrong").Code)
			require.Equal(t, 401, signIn(h))
			require.Equal(t, 401, laneKeyOf(h))
		}
		for range 2 {
			require.Equal(t, 200, sendAuthorized(h, "GET", prefix2+"/lanes", "").Code)
		}
		for range 2 {
			require.Equal(t, 429, sendFrom(h, "192.0.2.1:4711", "wrong").Code)
			require.Equal(t, 429, signIn(h))
			require.Equal(t, 429, laneKeyOf(h))
			require.Equal(t, 429, send(h, "GET", "/board/"+someRange+"?key=wrong").Code,
				"a wall board's key is one of a screen too")
			require.Equal(t, 429, sendAuthorized(h, "GET", prefix2+"/lanes", "").Code)
			h = reload(Limits{PerSecond: 1, Burst: 2, FailuresPerMinute: 3})
		}

		h = reload(Limits{PerSecond: 1, Burst: 3, FailuresPerMinute: 4})
		require.Equal(t, 401, sendFrom(h, "192.0.2.1:4711", "wrong").Code, "the new limit has one more")
		require.Equal(t, 429, sendFrom(h, "192.0.2.1:4711", "wrong").Code)

		h = reload(Limits{})
		for range 10 {
			require.Equal(t, 401, sendFrom(h, "192.0.2.1:4711", "wrong").Code)
			require.Equal(t, 200, sendAuthorized(h, "GET", prefix2+"/lanes", "").Code)
		}
		time.Sleep(time.Hour)
		statuses := map[int]int{}
		for range 10 {
			statuses[signIn(h)]++
		}
		require.Equal(t, map[int]int{401: 2, 429: 8}, statuses,
			"PINs are short: of the five for a name three were used")
	})
}

// The operations token is limited as every other credential is.
func TestTheLimitOnWrongOperationsTokens(t *testing.T) {
	limiters := NewLimiters()
	limiters.setFailures(3)
	s := Operations{
		Tokens: operationsTokens("operator"), Metrics: prometheus.NewRegistry(), Ready: func() error { return nil },
		Log:       zerolog.Nop(),
		KnownHost: func(string) bool { return true }, Limiters: limiters, Traffic: NewTraffic(prometheus.NewRegistry()),
		LogLevel: &fakeLogLevel{},
	}
	h := NewOperations(s)
	guess := func() int { return send(h, "GET", "/log-level", "Authorization", "Bearer guess").Code }
	for range 3 {
		require.Equal(t, 401, guess())
	}
	require.Equal(t, 429, guess())
	require.Equal(t, 429, func() int { h = NewOperations(s); return guess() }(), "after a reload")
	require.Equal(t, 200, send(h, "GET", "/log-level", "Authorization", "Bearer operator").Code)
}

// The access log has a line of every request with valid credentials, and a bounded number of bounded lines of others.
func TestTheAccessLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		registry := prometheus.NewRegistry()
		s := settings(&fakeRange{status: 200})
		s.Log, s.Traffic = zerolog.New(&log), NewTraffic(registry)
		h := New(s)
		for n := range 300 {
			send(h, "GET", fmt.Sprintf("%s/%d/%s", prefix2, n, strings.Repeat("a", 1000)))
		}
		require.Equal(t, 100, strings.Count(log.String(), "\n"))
		metrics := send(newOperations(registry), "GET", "/metrics").Body.String()
		require.Contains(t, metrics, "\nrangegate_access_log_dropped_total 200\n")
		for line := range strings.Lines(log.String()) {
			require.Regexp(t, `"path":".{256}"`, line)
		}
		log.Reset()
		for range 200 {
			require.Equal(t, 200, sendAuthorized(h, "GET", prefix2+"/lanes", "").Code)
		}
		require.Equal(t, 200, strings.Count(log.String(), "\n"))
		time.Sleep(time.Second)
		log.Reset()
		for range 20 {
			send(h, "GET", prefix2+"/lanes")
		}
		require.Equal(t, 10, strings.Count(log.String(), "\n"))
	})
}

// The version of the documents is that of the newest release in the changelog.
func TestTheVersionIsThatOfTheChangelog(t *testing.T) {
	changelog, err := os.ReadFile("../docs/CHANGELOG.md")
	require.NoError(t, err)
	newest := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindSubmatch(changelog)
	require.Equal(t, string(newest[1]), release)
}
