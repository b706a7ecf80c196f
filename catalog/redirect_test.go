package catalog

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

var discardLog = log.New(io.Discard, "", 0)

// redirects answers with that many redirects on its own host, and then with products.
func redirects(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		done, _ := strconv.Atoi(r.URL.Query().Get("done"))
		if done < n {
			http.Redirect(w, r, fmt.Sprintf("/elsewhere?done=%d", done+1), http.StatusFound)
			return
		}
		if r.Header.Get("session-id") != "7d1c" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte("[" + aBox + "]"))
	}
}

func TestThreeRedirectsOnTheSameHostAreFollowed(t *testing.T) {
	products, err := newFixture(t, redirects(3)).client.Fetch(t.Context(), Ammo, "7d1c")
	require.NoError(t, err)
	require.Len(t, products, 1)
	require.Equal(t, "redirects more than 3 times", newFixture(t, redirects(4)).fails(t, "redirected"))
}

func TestARedirectToAnotherHostIsRefused(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the other host was asked")
	}))
	defer other.Close()
	r := newFixture(t, func(w http.ResponseWriter, request *http.Request) {
		http.Redirect(w, request, other.URL, http.StatusTemporaryRedirect)
	})
	require.Equal(t, "redirects to another host, which is not followed", r.fails(t, "redirected"),
		"another port is another host")
}

func TestARedirectToTLSOfTheSameNameIsFollowed(t *testing.T) {
	safe := httptest.NewTLSServer(answer("[" + aBox + "]"))
	defer safe.Close()
	r := newFixture(t, func(w http.ResponseWriter, request *http.Request) {
		http.Redirect(w, request, safe.URL, http.StatusMovedPermanently)
	})
	r.client.http.Transport = safe.Client().Transport
	products, err := r.client.Fetch(t.Context(), Ammo, "")
	require.NoError(t, err)
	require.Len(t, products, 1)
}

func TestWhatCountsAsTheSameHost(t *testing.T) {
	for _, c := range []struct {
		from, to string
		follows  bool
	}{
		{"http://a.example/x", "http://a.example/y?z", true},
		{"http://a.example", "http://A.EXAMPLE:80", true},
		{"https://a.example", "https://a.example:443", true},
		{"http://a.example", "https://a.example", true},
		{"http://a.example:8080", "https://a.example:8443", true},
		{"https://a.example", "http://a.example", false},
		{"http://a.example", "http://a.example:81", false},
		{"https://a.example", "https://a.example:8443", false},
		{"http://a.example", "http://b.example", false},
		{"http://a.example", "https://b.example", false},
		{"http://a.example", "http://a.example.b.example", false},
		{"http://a.example", "http://a.example@b.example", false},
		{"http://a.example", "ftp://a.example", false},
	} {
		err := checkRedirect(&http.Request{URL: parsed(t, c.to)}, []*http.Request{{URL: parsed(t, c.from)}})
		require.Equal(t, c.follows, err == nil, "%s to %s", c.from, c.to)
	}
	err := checkRedirect(&http.Request{URL: parsed(t, "http://a.example")}, []*http.Request{
		{URL: parsed(t, "http://a.example")}, {URL: parsed(t, "https://a.example")},
	})
	require.Error(t, err, "back from https")
}

func parsed(t *testing.T, address string) *url.URL {
	u, err := url.Parse(address)
	require.NoError(t, err)
	return u
}
