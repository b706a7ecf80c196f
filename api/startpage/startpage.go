// Package startpage is what the address of the API itself shows: a page in a browser, from which every
// range's control screen and the documents are reached by name, and the same as JSON. The page is in web/.
package startpage

import (
	"embed"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"rangegate/api/control"
	"rangegate/api/endpoint"
	"rangegate/api/screens"
)

//go:embed web/*.html web/*.css web/*.js
var web embed.FS

// Document is something to read at this address.
type Document struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// Settings is what the page is configured with.
type Settings struct {
	Staff     map[uuid.UUID]control.RangeStaff // as the control screen has it
	Documents []Document
}

type startView struct {
	Ranges []rangeView `json:"ranges"`
	// there are no others; else the page of the control screen asks for the name
	Complete  bool       `json:"complete"`
	Documents []Document `json:"documents"`
}

type rangeView struct {
	control.NamedRange
	Control string `json:"control_screen"`
}

// Mount puts the page on the router.
func Mount(r chi.Router, a *endpoint.API, s Settings) {
	files := screens.Load(web)
	page := files.Page("start.html", a.Fail)
	ranges, complete := control.RangesNamed(s.Staff, "")
	view := screens.Encode(startView{
		Ranges: endpoint.Views(ranges,
			func(r control.NamedRange) rangeView { return rangeView{r, control.PagePath(r.ID)} }), Complete: complete,
		Documents: s.Documents,
	})
	guard := screens.Guard(a.Fail)
	r.With(guard).Get("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		switch preferred(r.Header.Values("Accept"), "text/html", "application/json") {
		case "text/html":
			page(w, r)
		case "application/json":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(view)))
			_, _ = w.Write(view) // fails only if the client is gone
		default: // a program that has come to the wrong path
			a.Fail(w, r, endpoint.Refusal("not_found"))
		}
	})
	r.With(guard).Get("/start/assets/*", files.Handler(a.Fail))
}

// preferred returns that of the media types which the header Accept names with the highest weight, and of
// those with the same the one that it names first; empty if it names none of them. A wildcard names none.
func preferred(accept []string, types ...string) (best string) {
	weight := 0.0
	for _, entry := range strings.Split(strings.Join(accept, ","), ",") {
		named, parameters, err := mime.ParseMediaType(entry)
		if err != nil {
			continue
		}
		of := 1.0
		if q, given := parameters["q"]; given {
			if of, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		for _, t := range types {
			if t == named && of > weight {
				best, weight = t, of
			}
		}
	}
	return best
}
