package screens

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
)

func fail(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.(interface{ Code() string }).Code(), http.StatusTeapot)
}

func send(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "http://range.example"+path, nil)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response := httptest.NewRecorder()
	h.ServeHTTP(response, request)
	return response
}

func newSite() http.Handler {
	files := Load(fstest.MapFS{
		"web/page.html": {Data: []byte("<!DOCTYPE html>")}, "web/main.js": {Data: []byte("//")},
		"web/web.go": {Data: []byte("package web")},
	})
	r := chi.NewRouter()
	r.Use(Guard(fail))
	r.Get("/", files.Page("page.html", fail))
	r.Get("/assets/*", files.Handler(fail))
	r.Post("/act", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return r
}

func TestEveryResponseHasTheSecurityHeaders(t *testing.T) {
	for _, path := range []string{"/", "/assets/main.js", "/assets/nothing.js"} {
		h := send(newSite(), "GET", path).Header()
		require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "+
			"'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'", h.Get("Content-Security-Policy"))
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
	}
	require.Equal(t, "no-store", send(newSite(), "POST", "/act").Header().Get("Cache-Control"))
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.example"},
		{"Origin", "null"},
	} {
		response := send(newSite(), "POST", "/act", headers...)
		require.Equal(t, http.StatusTeapot, response.Code, headers)
		require.Contains(t, response.Body.String(), "cross_site")
	}
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://range.example"}} {
		require.Equal(t, http.StatusNoContent, send(newSite(), "POST", "/act", headers...).Code, headers)
	}
	require.Equal(t, http.StatusOK, send(newSite(), "GET", "/", "Sec-Fetch-Site", "cross-site").Code,
		"a link to the page works")
}

func TestFilesAreRevalidated(t *testing.T) {
	page := send(newSite(), "GET", "/")
	require.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
	script := send(newSite(), "GET", "/assets/main.js")
	require.Equal(t, "text/javascript; charset=utf-8", script.Header().Get("Content-Type"))
	require.Equal(t, "no-cache", script.Header().Get("Cache-Control"))
	require.Equal(t, http.StatusNotModified, send(newSite(), "GET", "/assets/main.js", "If-None-Match",
		script.Header().Get("ETag")).Code)
	require.NotEqual(t, page.Header().Get("ETag"), script.Header().Get("ETag"))
	for _, path := range []string{"/assets/", "/assets/web.go", "/assets/../page.html", "/assets/assets/main.js"} {
		require.NotEqual(t, http.StatusOK, send(newSite(), "GET", path).Code, path)
	}
}
