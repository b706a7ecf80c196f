package egress

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"code.dny.dev/ssrf"
	"github.com/stretchr/testify/require"
)

// newServer is a TLS server on loopback, which counts nothing and answers anything, and a transport of production that
// opens the private URL and trusts the server.
func newServer(t *testing.T, private func(server string) string) (server *httptest.Server, transport *Production) {
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "here")
	}))
	t.Cleanup(server.Close)
	transport = NewProduction(private(server.URL), 1)
	t.Cleanup(transport.CloseIdleConnections)
	for _, each := range []*http.Transport{transport.public, transport.private} {
		if each != nil {
			each.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		}
	}
	return server, transport
}

func send(t *testing.T, transport http.RoundTripper, address string) error {
	return sendBody(t, transport, address, nil)
}

func sendBody(t *testing.T, transport http.RoundTripper, address string, body io.Reader) error {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, body)
	require.NoError(t, err)
	response, err := transport.RoundTrip(request)
	if err == nil {
		require.NoError(t, response.Body.Close())
	}
	return err
}

func TestOnePrivateOriginIsOpenAndNothingBesideIt(t *testing.T) {
	server, transport := newServer(t, func(url string) string { return url + "/pos?signed=1" })
	other := httptest.NewTLSServer(http.NotFoundHandler()) // the same address, another port
	defer other.Close()
	require.NoError(t, send(t, transport, server.URL+"/pictures/1.jpg"))
	for _, address := range []string{
		other.URL, strings.Replace(server.URL, "127.0.0.1", "127.0.0.2", 1),
		"https://10.0.0.1/", "https://169.254.169.254/latest/meta-data", "https://[::1]/",
	} {
		require.ErrorIs(t, send(t, transport, address), ssrf.ErrProhibitedIP, address)
	}
}

func TestNoPrivateOriginIsOpenUnlessOneIsNamed(t *testing.T) {
	server, transport := newServer(t, func(string) string { return "" })
	require.ErrorIs(t, send(t, transport, server.URL), ssrf.ErrProhibitedIP)
	require.Equal(t, "the address is not allowed", Reason(send(t, transport, server.URL), ""))
	for _, none := range []string{"", "/products", "https://%zz"} {
		require.Nil(t, NewProduction(none, 1).private, none)
	}
}

// closing is a body that notes its end, as the contract of http.RoundTripper demands it of a refused request too.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestProductionRefusesPlainHTTP(t *testing.T) {
	server, transport := newServer(t, func(url string) string { return strings.Replace(url, "https:", "http:", 1) })
	plain := strings.Replace(server.URL, "https:", "http:", 1)
	err := send(t, transport, plain)
	require.ErrorIs(t, err, ErrNotHTTPS)
	require.Equal(t, "production wants https", Reason(err, ""))
	require.ErrorIs(t, send(t, transport, server.URL), ssrf.ErrProhibitedIP, "another scheme is another origin")

	body := &closing{Reader: strings.NewReader("x")}
	require.ErrorIs(t, sendBody(t, transport, plain, body), ErrNotHTTPS)
	require.True(t, body.closed)
}

// Each redirect is a request of its own.
func TestARedirectKeepsTheRuleOfProduction(t *testing.T) {
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the other server was asked")
	}))
	defer other.Close()
	var to string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to, http.StatusFound)
	}))
	defer server.Close()
	transport := NewProduction(server.URL, 1)
	defer transport.CloseIdleConnections()
	for _, each := range []*http.Transport{transport.public, transport.private} {
		each.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	}
	client := http.Client{Transport: transport}
	for _, to = range []string{other.URL, strings.Replace(other.URL, "https:", "http:", 1), "https://192.168.0.1/"} {
		response, err := client.Get(server.URL)
		require.Error(t, err, to)
		if response != nil {
			_ = response.Body.Close()
		}
	}
}

func TestSpellingsOfAnOrigin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://pos.example/products", "https://POS.example:443/pictures?x", true},
		{"https://pos.example", "https://sam:secret@pos.example", true},
		{"http://pos.example", "http://pos.example:80", true},
		{"https://[::1]:8443", "https://[::1]:8443/", true},
		{"https://pos.example", "http://pos.example", false},
		{"https://pos.example", "http://pos.example:443", false},
		{"https://pos.example", "https://pos.example:8443", false},
		{"https://pos.example", "https://pos.example.evil.example", false},
		{"https://pos.example", "https://pos.example@evil.example", false},
	} {
		a, err := url.Parse(c.a)
		require.NoError(t, err)
		b, err := url.Parse(c.b)
		require.NoError(t, err)
		require.Equal(t, c.same, origin(a) == origin(b), "%s, %s", c.a, c.b)
	}
}
