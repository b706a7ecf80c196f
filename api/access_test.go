package api

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	v2 "rangegate/api/v2"
)

// newLimitedAPI returns an API with these limits, and its metrics.
func newLimitedAPI(limits Limits) (http.Handler, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	s := settings(&fakeRange{status: 200})
	s.Limits, s.Traffic = limits, NewTraffic(registry)
	return New(s), registry
}

// The limit of a range counts the requests of both versions. Another range has its own.
func TestTheLimitOfARange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, registry := newLimitedAPI(Limits{PerSecond: 10, Burst: 3})
		require.Equal(t, 200, sendAuthorized(h, "GET", prefix2+"/sessions", "").Code)
		require.Equal(t, 200, sendAuthorized(h, "GET", prefix1+"/sessions", "").Code)
		require.Equal(t, 201, sendAuthorized(h, "POST", prefix2+"/simulate/help", "").Code)

		for _, path := range []string{
			prefix2 + "/sessions", prefix1 + "/sessions", prefix2 + "/simulate/products",
			prefix2 + "/nowhere",
		} {
			response := sendAuthorized(h, "GET", path, "")
			require.Equal(t, http.StatusTooManyRequests, response.Code, path)
			require.Contains(t, response.Body.String(), `"code":"too_many_requests"`)
			require.Equal(t, "1", response.Header().Get("Retry-After"))
		}
		require.Equal(t, []string{
			`rangegate_requests_limited_total{limit="address"} 0`, `rangegate_requests_limited_total{limit="pages"} 0`,
			`rangegate_requests_limited_total{limit="process"} 0`,
			`rangegate_requests_limited_total{limit="range"} 4`,
			`rangegate_requests_limited_total{limit="waiting"} 0`,
		}, metricLines(registry, "rangegate_requests_limited_total"))
		require.Equal(t, 200, send(h, "GET", prefix2+"/sessions", "range-id", otherRange, "token", otherToken).Code)
		require.Equal(t, 401, send(h, "GET", prefix2+"/sessions", "range-id", someRange).Code,
			"unauthenticated requests do not use the limit")

		time.Sleep(100 * time.Millisecond)
		require.Equal(t, 200, sendAuthorized(h, "GET", prefix2+"/sessions", "").Code)
		require.Equal(t, 429, sendAuthorized(h, "GET", prefix2+"/sessions", "").Code)
	})
}

func TestWithoutLimitsNoRequestIsRefused(t *testing.T) {
	h, _ := newLimitedAPI(Limits{})
	for range 300 {
		require.Equal(t, 200, sendAuthorized(h, "GET", prefix2+"/groups", "").Code)
		require.Equal(t, 401, send(h, "GET", prefix2+"/groups").Code)
	}
}

// The default burst is the limit of a second.
func TestTheBurstOfALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := newLimitedAPI(Limits{PerSecond: 2})
		require.Equal(t, 200, sendAuthorized(h, "GET", prefix2+"/groups", "").Code)
		require.Equal(t, 200, sendAuthorized(h, "GET", prefix2+"/groups", "").Code)
		require.Equal(t, 429, sendAuthorized(h, "GET", prefix2+"/groups", "").Code)
	})
}

// sendFrom sends a request from an address.
func sendFrom(h http.Handler, address, token string) *httptest.ResponseRecorder {
	request := httptest.NewRequest("GET", prefix2+"/groups", nil)
	request.RemoteAddr = address
	request.Header.Set("range-id", someRange)
	request.Header.Set("token", token)
	request.Header.Set("X-Forwarded-For", "203.0.113.77")
	response := httptest.NewRecorder()
	h.ServeHTTP(response, request)
	return response
}

// An address that guesses credentials is refused after so many; a POS at the same address is not.
func TestTheLimitOnFailedAuthentications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, registry := newLimitedAPI(Limits{FailuresPerMinute: 4})
		for range 4 {
			require.Equal(t, 401, sendFrom(h, "192.0.2.1:4711", "wrong").Code)
		}
		response := sendFrom(h, "192.0.2.1:4712", "wrong")
		require.Equal(t, http.StatusTooManyRequests, response.Code)
		require.Equal(t, "15", response.Header().Get("Retry-After"))
		require.Equal(t, []string{
			`rangegate_requests_limited_total{limit="address"} 1`, `rangegate_requests_limited_total{limit="pages"} 0`,
			`rangegate_requests_limited_total{limit="process"} 0`,
			`rangegate_requests_limited_total{limit="range"} 0`,
			`rangegate_requests_limited_total{limit="waiting"} 0`,
		}, metricLines(registry, "rangegate_requests_limited_total"))

		require.Equal(t, 200, sendFrom(h, "192.0.2.1:4713", someToken).Code)
		require.Equal(t, 401, sendFrom(h, "192.0.2.2:4711", "wrong").Code)

		time.Sleep(15 * time.Second)
		require.Equal(t, 401, sendFrom(h, "192.0.2.1:4711", "wrong").Code)
		require.Equal(t, 429, sendFrom(h, "192.0.2.1:4711", "wrong").Code)
	})
}

// All concurrent requests of one range are stuck. Its next request is refused at once, those of another range
// are carried out, and once the stuck ones are done the range is served again.
func TestAStuckRangeLeavesRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked, free := &fakeRange{gate: make(chan struct{})}, &fakeRange{}
		s := settings(blocked)
		s.Range = func(id uuid.UUID) (v2.Range, error) {
			if id == uuid.MustParse(otherRange) {
				return free, nil
			}
			return blocked, nil
		}
		h := New(s)
		body := `{"customer_name":"Jo","lane_id":"` + theLane + `","group_id":"` + theGroup + `","duration":30}`
		other := []string{"range-id", otherRange, "token", otherToken}
		var waiting sync.WaitGroup
		for range mostRoom / 2 {
			waiting.Go(func() { sendAuthorized(h, "POST", prefix2+"/sessions", body) })
		}
		synctest.Wait()

		refused := sendAuthorized(h, "POST", prefix2+"/sessions", body)
		require.Equal(t, http.StatusServiceUnavailable, refused.Code)
		require.Contains(t, refused.Body.String(), `"code":"overloaded"`)
		require.Equal(t, "1", refused.Header().Get("Retry-After"))
		require.Equal(t, 503, sendAuthorized(h, "GET", prefix2+"/sessions", "").Code)
		require.Equal(t, 400, sendAuthorized(h, "POST", prefix2+"/sessions", `{}`).Code,
			"a malformed request is not carried out and needs no slot")
		require.Equal(t, 201, sendBody(h, "POST", prefix2+"/sessions", body, other...).Code)
		require.Equal(t, 200, send(h, "GET", prefix2+"/sessions", other...).Code)

		close(blocked.gate)
		waiting.Wait()
		require.Equal(t, 200, sendAuthorized(h, "GET", prefix2+"/sessions", "").Code)
	})
}
