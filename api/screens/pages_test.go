package screens

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
)

func refusing(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.(interface{ Code() string }).Code(), http.StatusTeapot)
}

func ask(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "http://range.example"+path, nil)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer
}

func site() http.Handler {
	files := Load(fstest.MapFS{
		"page.html": {Data: []byte("<!DOCTYPE html>")}, "main.js": {Data: []byte("//")}, "web.go": {Data: []byte("package web")},
	})
	r := chi.NewRouter()
	r.Use(Guard(refusing))
	r.Get("/", files.Page("page.html", refusing))
	r.Get("/assets/*", files.Handler(refusing))
	r.Post("/act", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return r
}

func TestEveryAnswerKeepsThePageToItself(t *testing.T) {
	for _, path := range []string{"/", "/assets/main.js", "/assets/nothing.js"} {
		h := ask(site(), "GET", path).Header()
		require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'", h.Get("Content-Security-Policy"))
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
	}
	require.Equal(t, "no-store", ask(site(), "POST", "/act").Header().Get("Cache-Control"))
}

func TestAnotherSitesPageCanDoNothing(t *testing.T) {
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.example"},
		{"Origin", "null"},
	} {
		answer := ask(site(), "POST", "/act", headers...)
		require.Equal(t, http.StatusTeapot, answer.Code, headers)
		require.Contains(t, answer.Body.String(), "cross_site")
	}
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://range.example"}} {
		require.Equal(t, http.StatusNoContent, ask(site(), "POST", "/act", headers...).Code, headers)
	}
	require.Equal(t, http.StatusOK, ask(site(), "GET", "/", "Sec-Fetch-Site", "cross-site").Code, "a link to the page works")
}

func TestFilesAreAskedForAgainAndSentOnce(t *testing.T) {
	page := ask(site(), "GET", "/")
	require.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
	script := ask(site(), "GET", "/assets/main.js")
	require.Equal(t, "text/javascript; charset=utf-8", script.Header().Get("Content-Type"))
	require.Equal(t, "no-cache", script.Header().Get("Cache-Control"))
	require.Equal(t, http.StatusNotModified, ask(site(), "GET", "/assets/main.js", "If-None-Match", script.Header().Get("ETag")).Code)
	require.NotEqual(t, page.Header().Get("ETag"), script.Header().Get("ETag"))
	for _, nothing := range []string{"/assets/", "/assets/web.go", "/assets/../page.html", "/assets/assets/main.js"} {
		require.NotEqual(t, http.StatusOK, ask(site(), "GET", nothing).Code, nothing)
	}
}

func TestPlacesAreTakenAndLeft(t *testing.T) {
	places := make(Places, 1)
	leave, in := places.Enter()
	require.True(t, in)
	_, in = places.Enter()
	require.False(t, in)
	leave()
	_, in = places.Enter()
	require.True(t, in)
}
