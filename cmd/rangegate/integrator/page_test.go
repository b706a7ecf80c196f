package integrator

import (
	"bytes"
	"image/jpeg"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/catalog"
)

// The demo products pass the checks of the gateway without a line in its log.
func TestTheGatewayAcceptsTheProducts(t *testing.T) {
	in, err := New(Settings{Now: time.Now})
	require.NoError(t, err)
	server := httptest.NewTLSServer(in)
	defer server.Close()
	log := &bytes.Buffer{}
	client := catalog.New(catalog.Settings{
		URL: server.URL, Timeout: time.Minute, Transport: server.Client().Transport, UserAgent: "rangegate/test",
		Log: zerolog.New(zerolog.SyncWriter(log)), Metrics: catalog.NewMetrics(prometheus.NewRegistry()),
	})
	all, err := client.All(t.Context(), "7d1c")
	require.NoError(t, err)
	require.Empty(t, log.String())
	for kind, list := range map[string][]catalog.Product{
		"time": all.Time, "targets": all.Targets, "ammo": all.Ammo, "rentals": all.Rentals,
	} {
		require.Len(t, list, len(onSale[kind]))
		for i, p := range list {
			require.Equal(t, onSale[kind][i].ID, p.ID, "in the same order")
			requirePicture(t, server, p.PictureURL)
		}
	}
	require.Equal(t, 0, (all.Time[0].MaxQty-all.Time[0].MinQty)%all.Time[0].IncrementBy)
	require.Empty(t, all.Refusal(map[string]int{"time": 120, "bullseye": 5, "9mm-box-50": 2, "ear-muffs": 1}))
}

// requirePicture checks the guidelines of SPEC.md part 2.
func requirePicture(t *testing.T, server *httptest.Server, address string) {
	require.True(t, strings.HasPrefix(address, server.URL+"/pictures/"), address)
	response, err := server.Client().Get(address)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "image/jpeg", response.Header.Get("Content-Type"))
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Less(t, len(body), 96<<10)
	picture, err := jpeg.Decode(bytes.NewReader(body))
	require.NoError(t, err)
	require.Equal(t, picture.Bounds().Dx(), picture.Bounds().Dy())
	require.GreaterOrEqual(t, picture.Bounds().Dx(), 512)
}

func TestEveryPictureIsOfAProduct(t *testing.T) {
	pictures, err := fs.Glob(files, "pictures/*")
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, list := range onSale {
		for _, p := range list {
			ids["pictures/"+p.ID+".jpg"] = true
		}
	}
	require.Len(t, pictures, len(ids))
	for _, picture := range pictures {
		require.True(t, ids[picture], picture)
	}
}

func TestAnUnknownProductTypeIsRefused(t *testing.T) {
	r := newFixture(t)
	for _, query := range []string{"", "?type=", "?type=beer", "?type=Time"} {
		response := r.get("/products" + query)
		require.Equal(t, http.StatusBadRequest, response.status)
		require.Equal(t, "application/json", response.header.Get("Content-Type"))
	}
	require.True(t, strings.HasPrefix(pictureURL(t, r.get("/products?type=ammo").body), r.server.URL+"/pictures/"),
		"the scheme of the request")
}

func pictureURL(t *testing.T, body []byte) string {
	address := regexp.MustCompile(`"picture_url":"([^"]+)"`).FindSubmatch(body)
	_, err := url.Parse(string(address[1]))
	require.NoError(t, err)
	return string(address[1])
}

var references = regexp.MustCompile(`(?:href|src)="([^"]+)"|from "\./([^"]+)"|import "\./([^"]+)"`)

// Every file that the page refers to is served here with the right type, under a policy that permits it.
func TestThePageIsSelfContained(t *testing.T) {
	r := newFixture(t)
	types := map[string]string{
		".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
	}
	visited := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if visited[name] {
			return
		}
		visited[name] = true
		response := r.get("/" + strings.TrimSuffix(name, "index.html"))
		require.Equal(t, http.StatusOK, response.status, name)
		require.Contains(t, response.header.Get("Content-Type"), types[path.Ext(name)], name)
		require.Contains(t, response.header.Get("Content-Security-Policy"),
			"default-src 'none'; script-src 'self'; style-src 'self';")
		require.NotContains(t, response.header.Get("Content-Security-Policy"), "unsafe")
		text := strings.Replace(string(response.body), `xmlns="http://www.w3.org/2000/svg"`, "", 1)
		require.NotRegexp(t, `https?://|<style|style="|<script>| on[a-z]+="|innerHTML|insertAdjacentHTML|outerHTML`,
			text, name)
		for _, match := range references.FindAllStringSubmatch(text, -1) {
			visit(strings.Join(match[1:], ""))
		}
	}
	visit("index.html")
	pages, err := fs.Glob(files, "page/*")
	require.NoError(t, err)
	require.Len(t, visited, len(pages), "every file of the page is used")
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	r := newFixture(t)
	for _, path := range []string{
		"/pictures/", "/pictures/none.jpg", "/pictures/../page/page.js", "/integrator.go",
		"/page/page.js", "/webhook",
	} {
		require.Equal(t, http.StatusNotFound, r.get(path).status, path)
	}
}
