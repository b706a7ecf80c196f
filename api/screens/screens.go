// Package screens is what the gateway's pages share: security headers, files, live streams and limits. web/
// is for browsers.
package screens

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"rangegate/api/endpoint"
)

// policy allows files of this gateway only, and nothing inline, so that a customer's name can never become a script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Guard sets the security headers on every response of a screen, and refuses requests that a page of another
// site makes in the browser of a signed-in user. Browsers cache nothing unless its handler sets another
// Cache-Control.
func Guard(fail endpoint.FailFunc) func(http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, endpoint.Refusal("cross_site"))
	}))
	return func(next http.Handler) http.Handler {
		next = crossOrigin.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h.Set("Content-Security-Policy", policy)
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Referrer-Policy", "no-referrer")
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
			h.Set("Cross-Origin-Opener-Policy", "same-origin")
			h.Set("Cache-Control", "no-store")
			next.ServeHTTP(w, r)
		})
	}
}

// shared holds the style sheet and the ES modules that all pages use: plain files without a build step.
//
//go:embed web/*.css web/*.js
var shared embed.FS

// SharedFiles returns the files that all pages use under /screens/.
func SharedFiles() Files { return Load(shared) }

// Files are the files of a page, by name. Browsers revalidate them, so that no screen runs on a mixture of versions.
type Files map[string]file

type file struct {
	body        []byte
	contentType string
	tag         string
}

// contentTypes are those of the files of pages. mime.TypeByExtension would depend on the machine's own table.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Load reads the files in the folder web of an embedded file system. It panics if there is no such folder.
func Load(embedded fs.FS) Files {
	entries, err := fs.ReadDir(embedded, "web")
	if err != nil {
		panic(err)
	}
	files := Files{}
	for _, entry := range entries {
		contentType := contentTypes[path.Ext(entry.Name())]
		if contentType == "" {
			continue
		}
		body, err := fs.ReadFile(embedded, path.Join("web", entry.Name()))
		if err != nil {
			panic(err)
		}
		files[entry.Name()] = newFile(body, contentType)
	}
	return files
}

func newFile(body []byte, contentType string) file {
	sum := sha256.Sum256(body)
	return file{body, contentType, `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// Handler serves the file that the * of the route names.
func (f Files) Handler(fail endpoint.FailFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, chi.URLParam(r, "*"), fail) }
}

// Page serves one of the files at every path. It panics if there is no such file.
func (f Files) Page(name string, fail endpoint.FailFunc) http.HandlerFunc {
	if _, ok := f[name]; !ok {
		panic("screens: no page " + name)
	}
	return func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, name, fail) }
}

// versionMark stands in a page for the version of its files.
const versionMark = "VERSION-OF-THE-FILES"

// Stamp writes the version of the files into one of them, and returns it. It differs from that of any release
// with other files, the shared ones included. It panics if the file has no place for it.
func (f Files) Stamp(name string) (version string) {
	all, sum := SharedFiles(), sha256.New()
	for name, file := range f {
		all["own/"+name] = file
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, _ = io.WriteString(sum, name+all[name].tag)
	}
	version = hex.EncodeToString(sum.Sum(nil)[:8])
	stamped := bytes.ReplaceAll(f[name].body, []byte(versionMark), []byte(version))
	if bytes.Equal(stamped, f[name].body) {
		panic("screens: no place for a version in " + name)
	}
	f[name] = newFile(stamped, f[name].contentType)
	return version
}

// Refusal serves one of the files with the status of a refusal.
func (f Files) Refusal(w http.ResponseWriter, name string, status int) {
	w.Header().Set("Content-Type", f[name].contentType)
	w.WriteHeader(status)
	_, _ = w.Write(f[name].body)
}

func (f Files) serve(w http.ResponseWriter, r *http.Request, name string, fail endpoint.FailFunc) {
	file, ok := f[name]
	if !ok {
		fail(w, r, endpoint.Refusal("not_found"))
		return
	}
	w.Header().Set("Content-Type", file.contentType)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", file.tag)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(file.body))
}
