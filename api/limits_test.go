package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// limited is an API with these limits, and what is counted of it.
func limited(limits Limits) (http.Handler, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	s := settings(&stand{status: 200})
	s.Limits, s.Traffic = limits, NewTraffic(registry)
	return New(s), registry
}

// A range has one bucket for all versions: when it is empty, its requests are turned away until it fills again. Another
// range has its own.
func TestARangeHasItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, registry := limited(Limits{PerSecond: 10, Burst: 3})
		require.Equal(t, 200, known(h, "GET", prefix2+"/sessions", "").Code)
		require.Equal(t, 200, known(h, "GET", prefix1+"/sessions", "").Code)
		require.Equal(t, 201, known(h, "POST", prefix2+"/simulate/help", "").Code)

		for _, path := range []string{prefix2 + "/sessions", prefix1 + "/sessions", prefix2 + "/simulate/products", prefix2 + "/nowhere"} {
			answer := known(h, "GET", path, "")
			require.Equal(t, http.StatusTooManyRequests, answer.Code, path)
			require.Contains(t, answer.Body.String(), `"code":"too_many_requests"`)
			require.Equal(t, "1", answer.Header().Get("Retry-After"))
		}
		require.Equal(t, []string{
			`rangegate_requests_limited_total{limit="address"} 0`, `rangegate_requests_limited_total{limit="process"} 0`,
			`rangegate_requests_limited_total{limit="range"} 4`,
		}, counted(registry, "rangegate_requests_limited_total"))
		require.Equal(t, 200, ask(h, "GET", prefix2+"/sessions", "range-id", otherRange, "token", otherToken).Code)
		require.Equal(t, 401, ask(h, "GET", prefix2+"/sessions", "range-id", someRange).Code, "who is not of the range does not use it up")

		time.Sleep(100 * time.Millisecond)
		require.Equal(t, 200, known(h, "GET", prefix2+"/sessions", "").Code)
		require.Equal(t, 429, known(h, "GET", prefix2+"/sessions", "").Code)
	})
}

func TestWithoutLimitsAllAreAnswered(t *testing.T) {
	h, _ := limited(Limits{})
	for range 300 {
		require.Equal(t, 200, known(h, "GET", prefix2+"/groups", "").Code)
		require.Equal(t, 401, ask(h, "GET", prefix2+"/groups").Code)
	}
}

// A burst that is not given is a second's worth.
func TestTheBurstOfALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := limited(Limits{PerSecond: 2})
		require.Equal(t, 200, known(h, "GET", prefix2+"/groups", "").Code)
		require.Equal(t, 200, known(h, "GET", prefix2+"/groups", "").Code)
		require.Equal(t, 429, known(h, "GET", prefix2+"/groups", "").Code)
	})
}

// from sends a request from an address.
func from(h http.Handler, address, token string) *httptest.ResponseRecorder {
	request := httptest.NewRequest("GET", prefix2+"/groups", nil)
	request.RemoteAddr = address
	request.Header.Set("range-id", someRange)
	request.Header.Set("token", token)
	request.Header.Set("X-Forwarded-For", "203.0.113.77")
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer
}

// Who guesses credentials is turned away after so many, and only who guesses: a POS at the same address is answered.
func TestAnAddressThatFailsToAuthenticate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, registry := limited(Limits{FailuresPerMinute: 4})
		for range 4 {
			require.Equal(t, 401, from(h, "192.0.2.1:4711", "wrong").Code)
		}
		answer := from(h, "192.0.2.1:4712", "wrong")
		require.Equal(t, http.StatusTooManyRequests, answer.Code)
		require.Equal(t, "15", answer.Header().Get("Retry-After"))
		require.Equal(t, []string{
			`rangegate_requests_limited_total{limit="address"} 1`, `rangegate_requests_limited_total{limit="process"} 0`,
			`rangegate_requests_limited_total{limit="range"} 0`,
		}, counted(registry, "rangegate_requests_limited_total"))

		require.Equal(t, 200, from(h, "192.0.2.1:4713", someToken).Code)
		require.Equal(t, 401, from(h, "192.0.2.2:4711", "wrong").Code)

		time.Sleep(15 * time.Second)
		require.Equal(t, 401, from(h, "192.0.2.1:4711", "wrong").Code)
		require.Equal(t, 429, from(h, "192.0.2.1:4711", "wrong").Code)
	})
}

func TestWhoseAddressItIs(t *testing.T) {
	for remote, prefix := range map[string]string{
		"192.0.2.1:80":           "192.0.2.1/32",
		"[::ffff:192.0.2.1]:80":  "192.0.2.1/32",
		"[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":      "fe80::/64",
		"@":                      "invalid Prefix",
		"":                       "invalid Prefix",
	} {
		require.Equal(t, prefix, network(remote).String(), remote)
	}
}

// However many addresses fail, so many are kept; one that fails all the time is among them.
func TestTheAddressesKeptAreBounded(t *testing.T) {
	s := &strangers{perMinute: 1, refused: prometheus.NewCounter(prometheus.CounterOpts{})}
	require.EqualError(t, s.refusal("192.0.2.1:80"), "unauthorized")
	for i := range 3 * generation {
		require.EqualError(t, s.refusal(fmt.Sprintf("[2001:db8:%x:%x::1]:80", i>>16, i&0xffff)), "unauthorized")
		if i%1000 == 0 {
			require.EqualError(t, s.refusal("192.0.2.1:80"), "too many failed authentications from this address")
		}
	}
	require.LessOrEqual(t, len(s.recent)+len(s.before), 2*generation)
}
