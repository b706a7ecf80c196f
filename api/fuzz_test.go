package api

import (
	"encoding/json"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// For all headers: only the token of the range authenticates, every response has a trace id and is JSON, and
// it does not contain the token.
func FuzzHeaders(f *testing.F) {
	parent := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	f.Add(someRange, someToken, "k-1", parent, "application/json")
	f.Add(strings.ToUpper(someRange), strings.ToUpper(someToken), "", "", "")
	f.Add(someRange, otherToken, "k", parent, "text/plain")
	f.Add("urn:uuid:"+someRange, "{"+someToken+"}", strings.Repeat("k", 256), parent+"-more",
		"application/json; charset=latin1")
	f.Add("", "", "ключ", "ff"+parent[2:], ";;;")
	f.Add(someRange+" ", " "+someToken, "a b", strings.ToUpper(parent), "application/json;")
	h := newAPI(&fakeRange{})
	body := `{"customer_name":"Jo","lane_id":"` + theLane + `","group_id":"` + theGroup + `","duration":30}`
	f.Fuzz(func(t *testing.T, rangeID, token, key, trace, contentType string) {
		request := httptest.NewRequest("POST", prefix2+"/sessions", strings.NewReader(body))
		for name, value := range map[string]string{
			"range-id": rangeID, "token": token, "Idempotency-Key": key, "traceparent": trace,
			"Content-Type": contentType,
		} {
			request.Header.Set(name, value)
		}
		response := httptest.NewRecorder()
		h.ServeHTTP(response, request)
		require.Regexp(t, traceID, response.Header().Get("trace-id"))
		require.True(t, json.Valid(response.Body.Bytes()), response.Body.String())
		require.Contains(t, []int{201, 400, 401, 415}, response.Code)
		own := strings.EqualFold(rangeID, someRange) && strings.EqualFold(token, someToken) ||
			strings.EqualFold(rangeID, otherRange) && strings.EqualFold(token, otherToken)
		require.Equal(t, own, response.Code != 401)
		if len(token) > 12 {
			require.NotContains(t, response.Body.String(), token)
		}
	})
}

// For all headers X-Forwarded-For: through a trusted proxy the client is an address that stands in the
// header, or the proxy itself; what a client writes to the left of what the proxy appends changes nothing;
// and its name is short.
func FuzzXForwardedFor(f *testing.F) {
	f.Add("203.0.113.9", "192.0.2.66")
	f.Add("203.0.113.9, 10.1.2.3", "unknown, 10.1.2.3")
	f.Add("[2001:db8::9]:5000", "")
	f.Add("fe80::1%"+strings.Repeat("z", 1000), "::ffff:10.0.0.5")
	f.Add("10.0.0.5,,", "]][[:")
	proxies, peer := networks("10.0.0.5/32", "10.1.0.0/16"), netip.MustParseAddr("10.0.0.5")
	f.Fuzz(func(t *testing.T, header, forged string) {
		client := proxies.client(peer, strings.Split(header, "\n"))
		require.True(t, client.IsValid())
		require.Empty(t, client.Zone())
		require.LessOrEqual(t, len(client.String()), 45)
		if client != peer {
			require.True(t, slices.ContainsFunc(strings.Split(strings.ReplaceAll(header, "\n", ","), ","),
				func(hop string) bool {
					address, ok := parseHop(strings.TrimSpace(hop))
					return ok && address == client
				}))
		}
		const appended = "203.0.113.77"
		require.Equal(t, appended, proxies.client(peer, []string{forged, header, appended}).String())
		require.Equal(t, appended, proxies.client(peer,
			[]string{forged + ", " + header + ", " + appended + ", 10.1.2.3"}).String())
	})
}
