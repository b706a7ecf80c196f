// Package reference serves Swagger UI from the binary, and describes the webhook and the products API of the
// integrator.
package reference

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for page.html and page.js
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
	Name string             `json:"name"`
	Path string             `json:"url"`
	Text func() *openapi3.T `json:"-"`
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

// Mount serves the page at prefix and its files below. The page shows the first document and offers the others.
func Mount(r chi.Router, prefix, title string, documents ...Document) {
	var html bytes.Buffer
	err := page.Execute(&html, map[string]any{
		"Title": title, "Documents": documents,
		"List": string(must(json.Marshal(documents))),
	})
	if err != nil {
		panic(fmt.Errorf("reference: %w", err))
	}
	r.Method(http.MethodGet, prefix, http.RedirectHandler(prefix+"/", http.StatusMovedPermanently))
	r.Method(http.MethodGet, prefix+"/", file("page.html", html.Bytes()))
	r.Method(http.MethodGet, prefix+"/page.js", file("page.js", pageJS))
	for _, name := range assets {
		r.Method(http.MethodGet, prefix+"/"+name, asset(name))
	}
}

// policy lets the page load files from this gateway only. Swagger UI needs inline styles, and images in its styles.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func file(name string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		write(w, name, content, "no-cache")
	}
}

// asset serves a file of Swagger UI. Most are embedded compressed, and sent so to clients that accept gzip.
func asset(name string) http.HandlerFunc {
	content, err := static.FS.ReadFile(name)
	if err == nil {
		return func(w http.ResponseWriter, _ *http.Request) { write(w, name, content, aDay) }
	}
	compressed := must(static.FS.ReadFile(name + ".gz"))
	uncompressed := sync.OnceValue(func() []byte {
		return must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(compressed)))))
	})
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			write(w, name, compressed, aDay)
			return
		}
		write(w, name, uncompressed(), aDay)
	}
}

const aDay = "public, max-age=86400"

func write(w http.ResponseWriter, name string, content []byte, cacheControl string) {
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Cache-Control", cacheControl)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(content) // fails only if the client is gone
}

// must returns the value of an embedded file, which cannot fail in a binary that was tested.
func must[V any](value V, err error) V {
	if err != nil {
		panic(fmt.Errorf("reference: %w", err))
	}
	return value
}
