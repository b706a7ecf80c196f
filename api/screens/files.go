package screens

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"time"

	"github.com/go-chi/chi/v5"

	"rangegate/api/endpoint"
)

// Files are what a page is made of, by name. A browser keeps them and asks each time whether they are still the same:
// after an update of the gateway no screen runs on a mixture.
type Files map[string]file

type file struct {
	body []byte
	kind string
	tag  string
}

// kinds are the content types of files. The machine's own table, which mime.TypeByExtension asks, may know others.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Load reads the files at the top of an embedded file system, those that are no Go code.
func Load(embedded fs.FS) Files {
	entries, err := fs.ReadDir(embedded, ".")
	if err != nil {
		panic(err)
	}
	files := Files{}
	for _, entry := range entries {
		kind := kinds[path.Ext(entry.Name())]
		if kind == "" {
			continue
		}
		body, err := fs.ReadFile(embedded, entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		files[entry.Name()] = file{body, kind, `"` + hex.EncodeToString(sum[:16]) + `"`}
	}
	return files
}

// Handler answers the file that * in the route stands for.
func (f Files) Handler(fail Fail) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, chi.URLParam(r, "*"), fail) }
}

// Page answers one of the files, whatever the path.
func (f Files) Page(name string, fail Fail) http.HandlerFunc {
	if _, there := f[name]; !there {
		panic("screens: no page " + name)
	}
	return func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, name, fail) }
}

// Refusal answers one of the files as a page that says why there is no other.
func (f Files) Refusal(name string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", f[name].kind)
		w.WriteHeader(status)
		_, _ = w.Write(f[name].body)
	}
}

func (f Files) serve(w http.ResponseWriter, r *http.Request, name string, fail Fail) {
	known, there := f[name]
	if !there {
		fail(w, r, endpoint.Refusal("not_found"))
		return
	}
	w.Header().Set("Content-Type", known.kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", known.tag)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(known.body))
}
