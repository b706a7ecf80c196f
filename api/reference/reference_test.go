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

func served() http.Handler {
	r := chi.NewRouter()
	Mount(r, "/swagger", `Range "A" & <co>`, Document{Name: "First", Path: "/first.json"}, Document{Name: `Second "2"`, Path: "/second.json"})
	return r
}

func get(h http.Handler, path, encoding string) *httptest.ResponseRecorder {
	request := httptest.NewRequest("GET", path, nil)
	request.Header.Set("Accept-Encoding", encoding)
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer
}

// The page names the documents, and everything it loads is served beside it, from here and in the right type.
func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	h := served()
	page := get(h, "/swagger/", "")
	require.Equal(t, 200, page.Code)
	require.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
	html := page.Body.String()
	require.Contains(t, html, "<title>Range &#34;A&#34; &amp; &lt;co&gt;</title>")
	require.Contains(t, html, `<li><a href="/first.json">First</a></li>`)
	require.NotContains(t, html, "//")

	loaded := 0
	for _, found := range regexp.MustCompile(`(?:src|href)="([a-z][^"]*)"`).FindAllStringSubmatch(html, -1) {
		answer := get(h, "/swagger/"+found[1], "")
		require.Equal(t, 200, answer.Code, found[1])
		want := map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "png": "image/png"}
		require.Equal(t, want[found[1][strings.LastIndex(found[1], ".")+1:]], answer.Header().Get("Content-Type"))
		require.NotEmpty(t, answer.Body.Bytes())
		require.Contains(t, answer.Header().Get("Content-Security-Policy"), "default-src 'none'")
		loaded++
	}
	require.Equal(t, 5, loaded)
}

func TestWithoutTheSlashItLeadsToThePage(t *testing.T) {
	answer := get(served(), "/swagger", "")
	require.Equal(t, http.StatusMovedPermanently, answer.Code)
	require.Equal(t, "/swagger/", answer.Header().Get("Location"))
}

// Whoever takes gzip gets the file as it is kept; the others get the same, plain.
func TestAssetsAreCompressedForWhoTakesIt(t *testing.T) {
	h := served()
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
