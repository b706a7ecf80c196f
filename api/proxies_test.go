package api

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// seen is the client's address and whether it asks over TLS, as the API sees them in a request from that peer.
func seen(proxies Proxies, peer string, headers ...string) (client string, secure bool) {
	var log bytes.Buffer
	s := settings(&stand{status: 200})
	s.Proxies, s.Log = proxies, zerolog.New(&log)
	request := httptest.NewRequest("GET", "/lane/"+theLane+"?key="+laneKey, nil)
	request.RemoteAddr = peer
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	New(s).ServeHTTP(answer, request)
	var line struct{ From string }
	_ = json.Unmarshal(log.Bytes(), &line)
	host, _, _ := net.SplitHostPort(line.From)
	cookies := answer.Result().Cookies()
	return host, len(cookies) == 1 && cookies[0].Secure
}

func networks(all ...string) (p Proxies) {
	for _, one := range all {
		p = append(p, netip.MustParsePrefix(one))
	}
	return p
}

// Read from the right, past trusted proxies: what stands left of the first other address is the client's own word.
func TestWhereARequestCameFrom(t *testing.T) {
	const by = "X-Forwarded-For"
	for name, c := range map[string]struct {
		peer   string
		lines  []string
		client string
	}{
		"through the proxy":                    {"10.0.0.5:4000", []string{by, "203.0.113.9"}, "203.0.113.9"},
		"through two proxies":                  {"10.0.0.5:4000", []string{by, "203.0.113.9, 10.1.2.3"}, "203.0.113.9"},
		"with words of the client's own":       {"10.0.0.5:4000", []string{by, "192.0.2.66, 10.1.9.9, 203.0.113.9"}, "203.0.113.9"},
		"with words that name a trusted proxy": {"10.0.0.5:4000", []string{by, "192.0.2.66, 203.0.113.9, 10.1.2.3"}, "203.0.113.9"},
		"in several lines":                     {"10.0.0.5:4000", []string{by, "192.0.2.66", by, "203.0.113.9"}, "203.0.113.9"},
		"from a proxy that is not trusted":     {"10.0.0.6:4000", []string{by, "203.0.113.9"}, "10.0.0.6"},
		"from a client that asks directly":     {"203.0.113.9:4000", []string{by, "10.0.0.5"}, "203.0.113.9"},
		"from the proxy itself":                {"10.0.0.5:4000", nil, "10.0.0.5"},
		"from a proxy behind the proxy":        {"10.0.0.5:4000", []string{by, "10.1.2.3"}, "10.1.2.3"},
		"with a port":                          {"10.0.0.5:4000", []string{by, "203.0.113.9:5000"}, "203.0.113.9"},
		"over IPv6":                            {"10.0.0.5:4000", []string{by, "2001:db8::9"}, "2001:db8::9"},
		"over IPv6 with a port":                {"10.0.0.5:4000", []string{by, "[2001:db8::9]:5000"}, "2001:db8::9"},
		"over IPv6 in brackets":                {"10.0.0.5:4000", []string{by, "[2001:db8::9]"}, "2001:db8::9"},
		"to a socket for both versions of IP":  {"[::ffff:10.0.0.5]:4000", []string{by, "::ffff:203.0.113.9"}, "203.0.113.9"},
		"from nobody that the proxy knows":     {"10.0.0.5:4000", []string{by, "203.0.113.9, unknown"}, "10.0.0.5"},
		"with nonsense of the client's own":    {"10.0.0.5:4000", []string{by, "<script>, 203.0.113.9"}, "203.0.113.9"},
		"with an empty line":                   {"10.0.0.5:4000", []string{by, ""}, "10.0.0.5"},
		"with the header that is not read":     {"10.0.0.5:4000", []string{"Forwarded", "for=192.0.2.66"}, "10.0.0.5"},
		"with another header that is not read": {"10.0.0.5:4000", []string{"X-Real-IP", "192.0.2.66", by, "203.0.113.9"}, "203.0.113.9"},
	} {
		client, _ := seen(networks("10.0.0.5/32", "10.1.0.0/16"), c.peer, c.lines...)
		require.Equal(t, c.client, client, name)
	}
	client, _ := seen(nil, "10.0.0.5:4000", by, "203.0.113.9")
	require.Equal(t, "10.0.0.5", client, "no proxy is trusted")
	client, _ = seen(networks("0.0.0.0/0", "::/0"), "10.0.0.5:4000", by, "192.0.2.66, 203.0.113.9")
	require.Equal(t, "192.0.2.66", client, "whoever trusts everybody gets what everybody says")
}

func TestWhetherABrowserAsksOverTLS(t *testing.T) {
	const scheme = "X-Forwarded-Proto"
	for _, c := range []struct {
		peer   string
		said   []string
		secure bool
	}{
		{"10.0.0.5:4000", []string{scheme, "https"}, true},
		{"10.0.0.5:4000", []string{scheme, "HTTPS, https"}, true},
		{"10.0.0.5:4000", []string{scheme, "http"}, false},
		{"10.0.0.5:4000", []string{scheme, "https, http"}, false},
		{"10.0.0.5:4000", []string{scheme, "https", scheme, "http"}, false},
		{"10.0.0.5:4000", nil, false},
		{"10.0.0.6:4000", []string{scheme, "https"}, false},
	} {
		_, secure := seen(networks("10.0.0.5/32"), c.peer, c.said...)
		require.Equal(t, c.secure, secure, c)
	}
}

// front is a proxy with TLS and HTTP/2 in front of the API.
func front(t *testing.T, s Settings, rewrite func(*httputil.ProxyRequest)) *httptest.Server {
	gateway := httptest.NewServer(New(s))
	t.Cleanup(gateway.Close)
	to, err := url.Parse(gateway.URL)
	require.NoError(t, err)
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		rewrite(r)
	}})
	proxy.EnableHTTP2 = true
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	return proxy
}

// appends is what nginx does with proxy_add_x_forwarded_for, and most others without being told: what the client wrote
// stays, and the proxy's word comes behind it.
func appends(r *httputil.ProxyRequest) {
	r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
	r.SetXForwarded()
}

// overwrites is what other proxies do.
func overwrites(r *httputil.ProxyRequest) { r.SetXForwarded() }

// through sends a request through the proxy.
func through(t *testing.T, proxy *httptest.Server, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequest(method, proxy.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := proxy.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// Somebody guesses credentials through the proxy and calls himself another every time. It is one address that guesses, and
// another one that comes through the same proxy is answered.
func TestBehindAProxyNobodyChoosesHisAddress(t *testing.T) {
	for name, rewrite := range map[string]func(*httputil.ProxyRequest){"appends": appends, "overwrites": overwrites} {
		t.Run(name, func(t *testing.T) {
			s := settings(&stand{status: 200})
			s.Proxies, s.Limits = networks("127.0.0.0/8"), Limits{FailuresPerMinute: 3}
			client := "203.0.113.9"
			proxy := front(t, s, func(r *httputil.ProxyRequest) {
				r.In.RemoteAddr = client + ":4711" // who is at the other end of the proxy
				rewrite(r)
			})
			guess := func(says string) int {
				return through(t, proxy, "GET", prefix2+"/groups", "", "range-id", someRange, "token", "wrong", "X-Forwarded-For", says).StatusCode
			}
			for _, says := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3, 127.0.0.1"} {
				require.Equal(t, 401, guess(says))
			}
			require.Equal(t, 429, guess("192.0.2.4"))
			client = "203.0.113.10"
			require.Equal(t, 401, guess("203.0.113.9"), "it is not held up by what another has done")
		})
	}
}

// Staff sign in through the proxy: their browser keeps the cookies for TLS alone, their pages may ask, and another site's
// may not, whether or not their browser is so old that it only tells the origin.
func TestTheControlScreenBehindAProxy(t *testing.T) {
	s := settings(&stand{status: 200})
	s.Proxies = networks("127.0.0.1/32")
	proxy := front(t, s, appends)
	const signIn = `{"range_id":"` + someRange + `","name":"sam","pin":"1234"}`
	json := []string{"Content-Type", "application/json"}
	for name, page := range map[string][]string{
		"a browser": {"Sec-Fetch-Site", "same-origin", "Origin", proxy.URL}, "an old browser": {"Origin", proxy.URL},
	} {
		answer := through(t, proxy, "POST", "/control/sign-in", signIn, append(page, json...)...)
		require.Equal(t, 2, answer.ProtoMajor)
		require.Equal(t, 204, answer.StatusCode, name)
		require.Len(t, answer.Cookies(), 2, name)
		for _, cookie := range answer.Cookies() {
			require.True(t, cookie.Secure, "%s: %s", name, cookie.Name)
		}
	}
	for name, page := range map[string][]string{
		"a browser": {"Sec-Fetch-Site", "cross-site", "Origin", "https://elsewhere.example"}, "an old browser": {"Origin", "https://elsewhere.example"},
	} {
		answer := through(t, proxy, "POST", "/control/sign-in", signIn, append(page, json...)...)
		require.Equal(t, 403, answer.StatusCode, name)
	}
}
