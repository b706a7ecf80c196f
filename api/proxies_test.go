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

// identify returns the client's address and whether it uses TLS, as the API identifies them in a request from
// that peer.
func identify(proxies Proxies, peer string, headers ...string) (client string, secure bool) {
	var log bytes.Buffer
	s := settings(&fakeRange{status: 200})
	s.Proxies, s.Log = proxies, zerolog.New(&log)
	request := httptest.NewRequest("GET", "/lane/"+theLane+"?key="+laneKey, nil)
	request.RemoteAddr = peer
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response := httptest.NewRecorder()
	New(s).ServeHTTP(response, request)
	var line struct{ From string }
	_ = json.Unmarshal(log.Bytes(), &line)
	host, _, _ := net.SplitHostPort(line.From)
	cookies := response.Result().Cookies()
	return host, len(cookies) == 1 && cookies[0].Secure
}

func networks(prefixes ...string) (p Proxies) {
	for _, prefix := range prefixes {
		p = append(p, netip.MustParsePrefix(prefix))
	}
	return p
}

// The header is read from the right, past trusted proxies: everything to the left of the first other address
// is unverified.
func TestTheClientOfARequest(t *testing.T) {
	const forwardedFor = "X-Forwarded-For"
	for name, c := range map[string]struct {
		peer   string
		lines  []string
		client string
	}{
		"through the proxy": {"10.0.0.5:4000", []string{forwardedFor, "203.0.113.9"}, "203.0.113.9"},
		"through two proxies": {
			"10.0.0.5:4000",
			[]string{forwardedFor, "203.0.113.9, 10.1.2.3"},
			"203.0.113.9",
		},
		"with words of the client's " +
			"own": {"10.0.0.5:4000", []string{forwardedFor, "192.0.2.66, 10.1.9.9, 203.0.113.9"}, "203.0.113.9"},
		"with words that name a trusted " +
			"proxy": {"10.0.0.5:4000", []string{forwardedFor, "192.0.2.66, 203.0.113.9, 10.1.2.3"}, "203.0.113.9"},
		"in several lines": {"10.0.0.5:4000", []string{
			forwardedFor, "192.0.2.66", forwardedFor,
			"203.0.113.9",
		}, "203.0.113.9"},
		"from a proxy that is not trusted": {"10.0.0.6:4000", []string{forwardedFor, "203.0.113.9"}, "10.0.0.6"},
		"from a client that asks directly": {"203.0.113.9:4000", []string{forwardedFor, "10.0.0.5"}, "203.0.113.9"},
		"from the proxy itself":            {"10.0.0.5:4000", nil, "10.0.0.5"},
		"from a proxy behind the proxy":    {"10.0.0.5:4000", []string{forwardedFor, "10.1.2.3"}, "10.1.2.3"},
		"with a port": {
			"10.0.0.5:4000",
			[]string{forwardedFor, "203.0.113.9:5000"},
			"203.0.113.9",
		},
		"over IPv6": {"10.0.0.5:4000", []string{forwardedFor, "2001:db8::9"}, "2001:db8::9"},
		"over IPv6 with a port": {
			"10.0.0.5:4000",
			[]string{forwardedFor, "[2001:db8::9]:5000"},
			"2001:db8::9",
		},
		"over IPv6 in brackets": {
			"10.0.0.5:4000",
			[]string{forwardedFor, "[2001:db8::9]"},
			"2001:db8::9",
		},
		"to a socket for both versions of IP": {
			"[::ffff:10.0.0.5]:4000",
			[]string{forwardedFor, "::ffff:203.0.113.9"},
			"203.0.113.9",
		},
		"from an address unknown to the " +
			"proxy": {"10.0.0.5:4000", []string{forwardedFor, "203.0.113.9, unknown"}, "10.0.0.5"},
		"with nonsense of the client's own": {
			"10.0.0.5:4000",
			[]string{forwardedFor, "<script>, 203.0.113.9"},
			"203.0.113.9",
		},
		"with an empty line":               {"10.0.0.5:4000", []string{forwardedFor, ""}, "10.0.0.5"},
		"with the header that is not read": {"10.0.0.5:4000", []string{"Forwarded", "for=192.0.2.66"}, "10.0.0.5"},
		"with another header that is not " +
			"read": {"10.0.0.5:4000", []string{"X-Real-IP", "192.0.2.66", forwardedFor, "203.0.113.9"}, "203.0.113.9"},
	} {
		client, _ := identify(networks("10.0.0.5/32", "10.1.0.0/16"), c.peer, c.lines...)
		require.Equal(t, c.client, client, name)
	}
	client, _ := identify(nil, "10.0.0.5:4000", forwardedFor, "203.0.113.9")
	require.Equal(t, "10.0.0.5", client, "no proxy is trusted")
	client, _ = identify(networks("0.0.0.0/0", "::/0"), "10.0.0.5:4000", forwardedFor, "192.0.2.66, 203.0.113.9")
	require.Equal(t, "192.0.2.66", client, "with every peer trusted, the leftmost address counts")
}

func TestTLSOfTheClient(t *testing.T) {
	const scheme = "X-Forwarded-Proto"
	for _, c := range []struct {
		peer    string
		headers []string
		secure  bool
	}{
		{"10.0.0.5:4000", []string{scheme, "https"}, true},
		{"10.0.0.5:4000", []string{scheme, "HTTPS, https"}, true},
		{"10.0.0.5:4000", []string{scheme, "http"}, false},
		{"10.0.0.5:4000", []string{scheme, "https, http"}, false},
		{"10.0.0.5:4000", []string{scheme, "https", scheme, "http"}, false},
		{"10.0.0.5:4000", nil, false},
		{"10.0.0.6:4000", []string{scheme, "https"}, false},
	} {
		_, secure := identify(networks("10.0.0.5/32"), c.peer, c.headers...)
		require.Equal(t, c.secure, secure, c)
	}
}

// newProxy returns a proxy with TLS and HTTP/2 in front of the API.
func newProxy(t *testing.T, s Settings, rewrite func(*httputil.ProxyRequest)) *httptest.Server {
	gateway := httptest.NewServer(New(s))
	t.Cleanup(gateway.Close)
	target, err := url.Parse(gateway.URL)
	require.NoError(t, err)
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		rewrite(r)
	}})
	proxy.EnableHTTP2 = true
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	return proxy
}

// appendHeader keeps the client's header and appends to it, as nginx does with proxy_add_x_forwarded_for and most other
// proxies do by default.
func appendHeader(r *httputil.ProxyRequest) {
	r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
	r.SetXForwarded()
}

// replaceHeader drops the client's header, as other proxies do.
func replaceHeader(r *httputil.ProxyRequest) { r.SetXForwarded() }

// reply is the response of a proxy, without its body.
type reply struct {
	status, protoMajor int
	cookies            []*http.Cookie
}

// sendThrough sends a request through the proxy.
func sendThrough(t *testing.T, proxy *httptest.Server, method, path, body string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequest(method, proxy.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := proxy.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(r)
	require.NoError(t, err)
	_ = response.Body.Close()
	return reply{response.StatusCode, response.ProtoMajor, response.Cookies()}
}

// A client that forges another address for every guess is limited as one; another client of the same proxy is not.
func TestBehindAProxyAClientCannotForgeItsAddress(t *testing.T) {
	for name, rewrite := range map[string]func(*httputil.ProxyRequest){
		"append":  appendHeader,
		"replace": replaceHeader,
	} {
		t.Run(name, func(t *testing.T) {
			s := settings(&fakeRange{status: 200})
			s.Proxies, s.Limits = networks("127.0.0.0/8"), Limits{FailuresPerMinute: 3}
			client := "203.0.113.9"
			proxy := newProxy(t, s, func(r *httputil.ProxyRequest) {
				r.In.RemoteAddr = client + ":4711" // the peer of the proxy
				rewrite(r)
			})
			guess := func(forged string) int {
				return sendThrough(t, proxy, "GET", prefix2+"/groups", "", "range-id", someRange, "token", "wrong",
					"X-Forwarded-For", forged).status
			}
			for _, forged := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3, 127.0.0.1"} {
				require.Equal(t, 401, guess(forged))
			}
			require.Equal(t, 429, guess("192.0.2.4"))
			client = "203.0.113.10"
			require.Equal(t, 401, guess("203.0.113.9"), "another client has its own limit")
		})
	}
}

// Staff sign in through the proxy: their cookies are for TLS only, and requests of other sites are refused,
// also those of old browsers, which only send the origin.
func TestTheControlScreenBehindAProxy(t *testing.T) {
	s := settings(&fakeRange{status: 200})
	s.Proxies = networks("127.0.0.1/32")
	proxy := newProxy(t, s, appendHeader)
	const signIn = `{"range_id":"` + someRange + `","name":"sam","pin":"1234"}`
	json := []string{"Content-Type", "application/json"}
	for name, page := range map[string][]string{
		"a browser": {"Sec-Fetch-Site", "same-origin", "Origin", proxy.URL}, "an old browser": {"Origin", proxy.URL},
	} {
		response := sendThrough(t, proxy, "POST", "/control/sign-in", signIn, append(page, json...)...)
		require.Equal(t, 2, response.protoMajor)
		require.Equal(t, 204, response.status, name)
		require.Len(t, response.cookies, 2, name)
		for _, cookie := range response.cookies {
			require.True(t, cookie.Secure, "%s: %s", name, cookie.Name)
			require.True(t, strings.HasPrefix(cookie.Name, "__Host-rangegate_"), cookie.Name)
			require.Equal(t, "/", cookie.Path, "a browser takes no other path with the prefix")
		}
	}
	response := sendThrough(t, proxy, "POST", "/control/sign-in", signIn, json...)
	session := response.cookies[0]
	history := func(cookie string) int {
		return sendThrough(t, proxy, "GET", "/control/api/records/nowhere", "", "Cookie", cookie).status
	}
	require.Equal(t, 404, history(session.Name+"="+session.Value))
	require.Equal(t, 401, history(strings.TrimPrefix(session.Name, "__Host-")+"="+session.Value),
		"another host could have set it")
	for name, page := range map[string][]string{
		"a browser":      {"Sec-Fetch-Site", "cross-site", "Origin", "https://elsewhere.example"},
		"an old browser": {"Origin", "https://elsewhere.example"},
	} {
		response := sendThrough(t, proxy, "POST", "/control/sign-in", signIn, append(page, json...)...)
		require.Equal(t, 403, response.status, name)
	}
}
