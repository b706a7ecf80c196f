package reference

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
)

func newHandler() http.Handler {
	r := chi.NewRouter()
	Mount(r, "/swagger", `Range "A" & <co>`, Document{Name: "First", Path: "/first.json"},
		Document{Name: `Second "2"`, Path: "/second.json"})
	return r
}

func get(h http.Handler, path, encoding string) *httptest.ResponseRecorder {
	request := httptest.NewRequest("GET", path, nil)
	request.Header.Set("Accept-Encoding", encoding)
	response := httptest.NewRecorder()
	h.ServeHTTP(response, request)
	return response
}

// The page names the documents, and the gateway serves every file that it loads with the right type.
func TestThePageLoadsFilesOfTheGatewayOnly(t *testing.T) {
	h := newHandler()
	page := get(h, "/swagger/", "")
	require.Equal(t, 200, page.Code)
	require.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
	html := page.Body.String()
	require.Contains(t, html, "<title>Range &#34;A&#34; &amp; &lt;co&gt;</title>")
	require.Contains(t, html, `<li><a href="/first.json">First</a></li>`)
	require.NotContains(t, html, "//")

	loaded := 0
	for _, found := range regexp.MustCompile(`(?:src|href)="([a-z][^"]*)"`).FindAllStringSubmatch(html, -1) {
		response := get(h, "/swagger/"+found[1], "")
		require.Equal(t, 200, response.Code, found[1])
		want := map[string]string{
			"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
			"png": "image/png",
		}
		require.Equal(t, want[found[1][strings.LastIndex(found[1], ".")+1:]], response.Header().Get("Content-Type"))
		require.NotEmpty(t, response.Body.Bytes())
		require.Contains(t, response.Header().Get("Content-Security-Policy"), "default-src 'none'")
		loaded++
	}
	require.Equal(t, 5, loaded)
}

func TestThePathWithoutASlashRedirectsToThePage(t *testing.T) {
	response := get(newHandler(), "/swagger", "")
	require.Equal(t, http.StatusMovedPermanently, response.Code)
	require.Equal(t, "/swagger/", response.Header().Get("Location"))
}

// Clients that accept gzip get the compressed file; others get the same content uncompressed.
func TestAssetsAreCompressedForClientsThatAcceptIt(t *testing.T) {
	h := newHandler()
	compressed, plain := get(h, "/swagger/swagger-ui.css", "br, gzip"), get(h, "/swagger/swagger-ui.css", "")
	require.Equal(t, "gzip", compressed.Header().Get("Content-Encoding"))
	require.Empty(t, plain.Header().Get("Content-Encoding"))
	require.Equal(t, "Accept-Encoding", plain.Header().Get("Vary"))
	reader, err := gzip.NewReader(bytes.NewReader(compressed.Body.Bytes()))
	require.NoError(t, err)
	content, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Equal(t, plain.Body.String(), string(content))
}
