// Package reference serves the API reference page: Swagger UI, with every file of it in the binary.
package reference

import (
	"bytes"
	"compress/gzip"
	_ "embed" // page.html and page.js
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
	"github.com/swaggest/swgui/v5/static"
)

// Document is an OpenAPI document and where it is served.
type Document struct {
	Name string      `json:"name"`
	Path string      `json:"url"`
	Text *openapi3.T `json:"-"`
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.js
	pageJS []byte

	page = template.Must(template.New("page").Parse(pageHTML))
)

// assets are the files of Swagger UI that the page loads.
var assets = []string{"swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "favicon-32x32.png"}

// Mount serves the page at path, with a slash behind it and without, and what it loads below. It shows the first document,
// and offers the others.
func Mount(r chi.Router, at, title string, documents ...Document) {
	list, err := json.Marshal(documents)
	if err != nil {
		panic(fmt.Errorf("reference: %w", err))
	}
	var html bytes.Buffer
	if err := page.Execute(&html, map[string]any{"Title": title, "Documents": documents, "List": string(list)}); err != nil {
		panic(fmt.Errorf("reference: %w", err))
	}
	r.Method(http.MethodGet, at, http.RedirectHandler(at+"/", http.StatusMovedPermanently))
	r.Method(http.MethodGet, at+"/", file("page.html", html.Bytes()))
	r.Method(http.MethodGet, at+"/page.js", file("page.js", pageJS))
	for _, name := range assets {
		r.Method(http.MethodGet, at+"/"+name, asset(name))
	}
}

// policy lets the page load nothing from elsewhere. Swagger UI sets styles of its own, and has pictures in its styles.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func file(name string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		write(w, name, content, "no-cache")
	}
}

// asset serves a file of Swagger UI. Most are kept compressed, and go out so to whoever takes them.
func asset(name string) http.HandlerFunc {
	content, err := static.FS.ReadFile(name)
	if err == nil {
		return func(w http.ResponseWriter, _ *http.Request) { write(w, name, content, aDay) }
	}
	compressed, err := static.FS.ReadFile(name + ".gz")
	if err != nil {
		panic(fmt.Errorf("reference: %w", err))
	}
	unpacked := sync.OnceValue(func() []byte { return plain(compressed) })
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			write(w, name, compressed, aDay)
			return
		}
		write(w, name, unpacked(), aDay)
	}
}

const aDay = "public, max-age=86400"

func write(w http.ResponseWriter, name string, content []byte, keep string) {
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Cache-Control", keep)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(content) // fails only if the client is gone
}

// plain undoes the compression of a file that came with the binary.
func plain(compressed []byte) []byte {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic(fmt.Errorf("reference: %w", err))
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		panic(fmt.Errorf("reference: %w", err))
	}
	return content
}
